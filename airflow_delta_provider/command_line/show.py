"""``show``: a saved report in another format, so that one audit serves people, annotations and code scanning."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from airflow_delta_provider.command_line.arguments import ReportFile
from airflow_delta_provider.command_line.exit_code import ExitCode, UsageError
from airflow_delta_provider.command_line.invocation import ProjectFolder, find_config, folder_of, read_config
from airflow_delta_provider.command_line.parser import show_parser
from airflow_delta_provider.command_line.terminal import Terminal, is_terminal, wants_colour
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.rendering.links import RuleLinks
from airflow_delta_provider.domain.rendering.presentation import ANSI, FORMATS, PLAIN, Presentation
from airflow_delta_provider.domain.report.report import DamagedReportError, JobReport
from airflow_delta_provider.domain.request.config_file import ConfigError
from airflow_delta_provider.jobs.storage.storages import Storages

_WIDTH = 100
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
        width=shutil.get_terminal_size((_WIDTH, 1)).columns if is_terminal(sys.stdout) else _WIDTH,
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
