"""Destinations and appearance of the result."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from airflow_delta_provider.command_line.invocation import Invocation
from airflow_delta_provider.command_line.terminal import Terminal, is_terminal, wants_colour
from airflow_delta_provider.command_line.usage_error import UsageError
from airflow_delta_provider.domain.rendering.formats import FORMATS
from airflow_delta_provider.domain.rendering.json_text import JsonTables
from airflow_delta_provider.domain.rendering.presentation import ANSI, PLAIN, Detail, Presentation
from airflow_delta_provider.domain.rendering.rule_link import RuleLinks
from airflow_delta_provider.domain.rendering.totals import totals
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.jobs.run.command_line.report_file import ReportFile
from airflow_delta_provider.jobs.tables.table_session import TableSession

_JSON = "json"
_WIDTH = 100
_NARROWEST, _WIDEST = 60, 160


class Output:
    """Standard output or the file of ``--output``, and also the file of ``--report``.

    :raises UsageError: if no file can be written there, or ``rules_page`` in the configuration is not an address
    """

    def __init__(self, invocation: Invocation, terminal: Terminal) -> None:
        self._invocation = invocation
        self._terminal = terminal
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

    def _text(self, report: JobReport) -> Iterable[str]:
        if self._json is not None and not self._whole:
            return self._json.text(report)
        return [FORMATS[self._invocation.parsed.format].render(report, self._presentation())]

    def _presentation(self) -> Presentation:
        to_terminal = self._file is None and is_terminal(sys.stdout)
        coloured = self._file is None and wants_colour(sys.stdout)
        columns = shutil.get_terminal_size((_WIDTH, 1)).columns if to_terminal else _WIDTH
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
