"""Destinations and appearance of the result.

``show``: a saved report in another format, so that one audit serves people, annotations and code scanning.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from airflow_delta_provider.command_line.arguments import ReportFile
from airflow_delta_provider.command_line.exit_code import ExitCode, UsageError
from airflow_delta_provider.command_line.invocation import (
    Invocation,
    ProjectFolder,
    find_config,
    folder_of,
    read_config,
)
from airflow_delta_provider.command_line.parser import show_parser
from airflow_delta_provider.command_line.terminal import Terminal, is_terminal, wants_colour
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.rendering.json_text import JsonTables
from airflow_delta_provider.domain.rendering.links import RuleLinks
from airflow_delta_provider.domain.rendering.presentation import ANSI, FORMATS, PLAIN, Detail, Presentation
from airflow_delta_provider.domain.rendering.report_document import totals
from airflow_delta_provider.domain.report.confirmation import ReportedFindings
from airflow_delta_provider.domain.report.report import DamagedReportError, JobReport, TableReport
from airflow_delta_provider.domain.request.config_file import ConfigError
from airflow_delta_provider.jobs.storage.storages import Storages
from airflow_delta_provider.jobs.tables.session import TableSession

_JSON, _TEXT = "json", "text"
_WIDTH = 100
_NARROWEST, _WIDEST = 60, 160


def _columns() -> int:
    """Return the width of the terminal."""
    import shutil  # late: it loads libraries of compression

    return shutil.get_terminal_size((_WIDTH, 1)).columns


class Output:
    """Standard output or the file of ``--output``, and also the file of ``--report``.

    :raises UsageError: if no file can be written there, or ``rules_page`` in the configuration is not an address
    """

    def __init__(self, invocation: Invocation, terminal: Terminal) -> None:
        self._invocation = invocation
        self._terminal = terminal
        #: True if the result is specs, so that a report for people is printed on standard error.
        self.is_aside = invocation.options.writes_specs and invocation.parsed.format == _TEXT
        self._file = _file("--output", invocation.parsed.output)
        self._report = _file("--report", invocation.parsed.report)
        self._whole = invocation.parsed.format != _JSON
        self._json = None if self._whole and self._report is None else JsonTables()
        try:
            self._rules = RuleLinks(invocation.config.rules_page)
        except ValueError as error:
            raise UsageError(f"{invocation.config.name}: rules_page: {error}") from None

    def check(self, session: TableSession) -> None:
        """Check that a URI can be written to, before anything is done.

        :raises UsageError: if it cannot
        """
        for flag, file in (("--output", self._file), ("--report", self._report)):
            if file is not None:
                try:
                    file.check(session.storage)
                except Exception as failure:
                    raise UsageError(f"{flag} {file.place}: {session.understand(failure).message}") from None

    def take(self, table: TableReport) -> TableReport:
        """Take the report of a table. Return the part that :meth:`write` needs."""
        if self._json is not None:
            self._json.add(table)
        return table if self._whole else table.brief()

    def write(self, report: JobReport, session: TableSession) -> bool:
        """Write the report.

        Return True if all files were written; a result that could not be written is printed.

        :param report: report of the tables that were taken
        """
        kept = self._keep(report, session)
        return self._show(report, session) and kept

    def _keep(self, report: JobReport, session: TableSession) -> bool:
        if self._report is None or self._json is None:
            return True
        try:
            self._report.write(self._json.text(report), session.storage)
        except Exception as failure:
            why = session.understand(failure).message
            self._terminal.error(f"the report could not be written to {self._report.place}: {why}")
            return False
        return True

    def _show(self, report: JobReport, session: TableSession) -> bool:
        if self.is_aside:
            self._show_problems(report)
            return True
        if self._file is None:
            return self._terminal.result(self._text(report))
        try:
            self._file.write(self._text(report), session.storage)
        except Exception as failure:
            why = session.understand(failure).message
            self._terminal.error(f"the result could not be written to {self._file.place}, only printed: {why}")
            self._terminal.result(self._text(report))
            return False
        self._terminal.note(f"{' · '.join(totals(report))} · {self._file.place}")
        return True

    def _show_problems(self, report: JobReport) -> None:
        """Print the tables with findings on standard error."""
        problems = tuple(replace(table, spec=None) for table in report.tables if table.findings or table.spec is None)
        if problems:
            self._terminal.problem("".join(self._text(replace(report, tables=problems))))

    def _text(self, report: JobReport) -> Iterable[str]:
        if self._json is not None and not self._whole:
            return self._json.text(report)
        return [FORMATS[self._invocation.parsed.format].render(report, self._presentation())]

    def _presentation(self) -> Presentation:
        to_terminal = self._file is None and is_terminal(sys.stdout)
        coloured = self._file is None and wants_colour(sys.stdout)
        columns = _columns() if to_terminal else _WIDTH
        parsed = self._invocation.parsed
        return Presentation(
            style=ANSI if coloured else PLAIN,
            width=min(max(columns, _NARROWEST), _WIDEST),
            detail=Detail.LITTLE if parsed.quiet else Detail.MUCH if parsed.verbose else Detail.NORMAL,
            rules=self._rules,
            undetermined_fails=self._invocation.strict,
            new_only=parsed.baseline is not None,
            sources=self._invocation.project.sources(),
        )


def _file(flag: str, place: str | None) -> ReportFile | None:
    """Return the file that a flag names.

    :raises UsageError: if no file can be written there
    """
    try:
        return None if place is None else ReportFile(place)
    except RequestError as error:
        raise UsageError(f"{flag} {place}: {error}") from None


#: Keys of a table's report that are compared; every report has them.
_COMPARED = ("table", "verdict", "findings")


class Baseline:
    """The open findings of a report, by table.

    :param report: report of an earlier run of the same kind
    :param project: start of relative table names
    """

    def __init__(self, report: JobReport, project: ProjectFolder) -> None:
        self._project = project
        self._tables: Mapping[Hashable, ReportedFindings] = {
            project.place(table.table): ReportedFindings.of(finding for finding in table.findings if finding.is_open)
            for table in report.tables
        }

    @classmethod
    def read(cls, content: bytes, kind: str, place: str, project: ProjectFolder) -> Baseline:
        """Read a report.

        :param place: name of the file, for messages
        :raises UsageError: if it is not a report of this kind, or this version cannot read it
        """
        try:
            wire = json.loads(content, object_hook=_compared_part)
            if not isinstance(wire, dict) or "schema_version" not in wire:
                raise DamagedReportError("it has no schema version")
            report = JobReport.from_json(wire)
        except (DamagedReportError, UnicodeDecodeError, json.JSONDecodeError):
            raise UsageError(
                f"--baseline {place} is not a JSON report. Write one with --format json --output FILE."
            ) from None
        except ValueError as error:
            raise UsageError(f"--baseline {place} cannot be used. {error}") from None
        if report.kind != kind:
            raise UsageError(f"--baseline {place} is a report of {report.kind}, not of {kind}. Write one with {kind}.")
        return cls(report, project)

    def compared(self, table: TableReport) -> TableReport:
        """Return a table's report with the status of each finding: new, known or changed since the baseline."""
        known = self._tables.get(self._project.place(table.table), ReportedFindings())
        comparison = known.compare(table.findings, whole=False)
        return replace(table, findings=tuple(comparison.with_status(table.findings)))


def _compared_part(wire: dict[str, Any]) -> dict[str, Any]:
    """Return only the compared keys of a table's report, which is a small part; leave other objects as they are."""
    return {key: wire[key] for key in _COMPARED} if wire.keys() >= set(_COMPARED) else wire


_STANDARD_INPUT = "-"


def run_show(words: Sequence[str], terminal: Terminal) -> int:
    """Show a report and return the exit code, which does not depend on its findings.

    :raises UsageError: if it is not a report, or the result cannot be written
    """
    parsed = show_parser().parse_args(words)
    report = _report(parsed.report)
    try:
        config = find_config(Path.cwd())
        page = None if config is None else read_config(config).rules_page
        rules = RuleLinks(page)
    except (ConfigError, ValueError) as error:
        raise UsageError(str(error)) from None
    project = ProjectFolder(os.getcwd() if config is None else folder_of(config).as_posix())
    presentation = Presentation(
        style=ANSI if parsed.output is None and wants_colour(sys.stdout) else PLAIN,
        width=_columns() if is_terminal(sys.stdout) else _WIDTH,
        rules=rules,
        new_only=any(finding.status is not None for table in report.tables for finding in table.findings),
        sources=project.sources(),
    )
    text = FORMATS[parsed.format].render(report, presentation)
    if parsed.output is None:
        return ExitCode.OK if terminal.result([text]) else ExitCode.FAULT
    try:
        ReportFile(parsed.output).write([text], Storages(folder=project.path))
    except RequestError as error:
        raise UsageError(f"--output {parsed.output}: {error}") from None
    return ExitCode.OK


def _report(place: str) -> JobReport:
    """Return the report in a file.

    :raises UsageError: if there is none
    """
    try:
        content = sys.stdin.buffer.read() if place == _STANDARD_INPUT else Path(place).read_bytes()
        wire = json.loads(content)
        if not isinstance(wire, dict) or "schema_version" not in wire:
            raise DamagedReportError("it has no schema version")
        return JobReport.from_json(wire)
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror or error}.") from None
    except (DamagedReportError, UnicodeDecodeError, json.JSONDecodeError):
        raise UsageError(f"{place} is not a JSON report. --report FILE of any command on tables writes one.") from None
    except ValueError as error:
        raise UsageError(f"{place} cannot be used. {error}") from None
