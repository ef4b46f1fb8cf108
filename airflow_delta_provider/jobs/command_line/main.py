"""``python -m airflow_delta_provider.jobs KIND --table URI … --report FILE``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.text import render
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.arguments import RequestError
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.command_line.alter_columns import ALTER_COLUMNS
from airflow_delta_provider.jobs.command_line.audit import AUDIT
from airflow_delta_provider.jobs.command_line.check_row_tracking import CHECK_ROW_TRACKING
from airflow_delta_provider.jobs.command_line.column_mapping import COLUMN_MAPPING_USAGE, DISABLE_COLUMN_MAPPING
from airflow_delta_provider.jobs.command_line.create_table import CREATE_TABLE
from airflow_delta_provider.jobs.command_line.detail import DETAIL
from airflow_delta_provider.jobs.command_line.drop_feature import DROP_FEATURE
from airflow_delta_provider.jobs.command_line.enable_feature import ENABLE_FEATURE
from airflow_delta_provider.jobs.command_line.paimon_check_row_tracking import PAIMON_CHECK_ROW_TRACKING
from airflow_delta_provider.jobs.command_line.widen_types import WIDEN_TYPES

#: Kinds by name.
COMMANDS = {
    command.kind: command
    for command in (
        ENABLE_FEATURE,
        WIDEN_TYPES,
        ALTER_COLUMNS,
        CREATE_TABLE,
        CHECK_ROW_TRACKING,
        AUDIT,
        DETAIL,
        COLUMN_MAPPING_USAGE,
        DISABLE_COLUMN_MAPPING,
        DROP_FEATURE,
        PAIMON_CHECK_ROW_TRACKING,
    )
}

#: Exit codes: a report was written; all tables met a fault. argparse ends with 2 where the command line makes no sense.
REPORTED, ALL_FAULTS = 0, 1

_PROGRAM = "python -m airflow_delta_provider.jobs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one job and write its report; return the exit code."""
    request, parsed = parse(arguments)

    # Imported late: a command line that makes no sense is answered without starting Spark.
    from airflow_delta_provider.jobs.delta_session import DeltaSession
    from airflow_delta_provider.jobs.engine_errors import understand
    from airflow_delta_provider.jobs.runner import run
    from airflow_delta_provider.jobs.session.spark_session import own_session

    try:
        spark = own_session(f"airflow-delta-provider {request.kind}", parsed.master, parsed.delta_jars)
        report = run(request, DeltaSession(spark), progress=lambda line: print(line, file=sys.stderr))
    except Exception as failure:
        message = str(failure) if isinstance(failure, RuntimeError) else understand(failure).message
        print(f"{_PROGRAM}: there is no Spark session with Delta: {message}", file=sys.stderr)
        return ALL_FAULTS
    _write(Path(parsed.report), report)
    print(render(report) if parsed.format == "text" else json.dumps(report.to_json(), indent=1))
    return ALL_FAULTS if all(t.verdict is Verdict.FAULT for t in report.tables) else REPORTED


def parse(arguments: Sequence[str] | None = None) -> tuple[JobRequest, argparse.Namespace]:
    """Return the request of a command line, and all of its arguments.

    :raises SystemExit: with 2 and a sentence on standard error, if it makes no sense
    """
    parser = _parser()
    parsed = parser.parse_args(arguments)
    try:
        request = JobRequest(tuple(parsed.table), COMMANDS[parsed.kind].options(parsed), dry_run=parsed.dry_run)
    except RequestError as error:
        parser.error(str(error))
    folder = Path(parsed.report).parent
    if not folder.is_dir():
        parser.error(f"--report {parsed.report}: there is no directory {folder}")
    return request, parsed


def _write(destination: Path, report: JobReport) -> None:
    """Write the report whole or not at all."""
    partial = destination.with_name(f".{destination.name}.{os.getpid()}")
    partial.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    partial.replace(destination)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_PROGRAM, description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for command in COMMANDS.values():
        kind = kinds.add_parser(command.kind, help=command.help)
        command.add_arguments(kind)
        if command.changes:
            kind.add_argument("--dry-run", action="store_true", help="plan and report, change nothing")
        kind.add_argument("--table", action="append", required=True, metavar="URI", help="path, URI or catalog name")
        kind.add_argument("--report", required=True, metavar="FILE", help="where to write the report, JSON")
        kind.add_argument("--format", choices=("text", "json"), default="text", help="what to print: default text")
        kind.add_argument("--master", help="Spark master; default the platform's, else local[*]")
        kind.add_argument("--delta-jars", help="packages, provided, or jars separated by commas")
        kind.set_defaults(dry_run=False)
    return parser
