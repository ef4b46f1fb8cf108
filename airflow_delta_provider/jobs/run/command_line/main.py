"""``python -m airflow_delta_provider.jobs KIND --table URI … --report FILE``."""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from collections.abc import Sequence

from airflow_delta_provider.domain.engine.session_profile import PROVIDED
from airflow_delta_provider.domain.engine.spark_master import MasterError, SparkMaster
from airflow_delta_provider.domain.rendering.text import render
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.arguments import RequestError
from airflow_delta_provider.domain.request.beforehand import check_names, check_tables, features_to_come
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.table_name import TableNameError
from airflow_delta_provider.jobs.run.command_line.alter_columns import ALTER_COLUMNS
from airflow_delta_provider.jobs.run.command_line.audit import AUDIT
from airflow_delta_provider.jobs.run.command_line.check_row_tracking import CHECK_ROW_TRACKING
from airflow_delta_provider.jobs.run.command_line.column_mapping import COLUMN_MAPPING_USAGE, DISABLE_COLUMN_MAPPING
from airflow_delta_provider.jobs.run.command_line.create_table import CREATE_TABLE
from airflow_delta_provider.jobs.run.command_line.detail import DETAIL
from airflow_delta_provider.jobs.run.command_line.drop_feature import DROP_FEATURE
from airflow_delta_provider.jobs.run.command_line.enable_feature import ENABLE_FEATURE
from airflow_delta_provider.jobs.run.command_line.paimon_check_row_tracking import PAIMON_CHECK_ROW_TRACKING
from airflow_delta_provider.jobs.run.command_line.report_file import ReportFile
from airflow_delta_provider.jobs.run.command_line.widen_types import WIDEN_TYPES
from airflow_delta_provider.jobs.session.jvm_output import JvmOutput

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

#: Exit codes: a report was written; there is none, or all tables met a fault; the command line makes no sense.
REPORTED, ALL_FAULTS, NO_SENSE = 0, 1, 2

_PROGRAM = "python -m airflow_delta_provider.jobs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one job and write its report; return the exit code."""
    request, parsed = parse(arguments)

    def progress(line: str) -> None:
        print(line, file=sys.stderr)

    # Imported late: a command line that makes no sense is answered without starting Spark.
    from airflow_delta_provider.jobs.audit.own_receipt import confirm
    from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
    from airflow_delta_provider.jobs.run.runner import run
    from airflow_delta_provider.jobs.session.engine_errors import understand
    from airflow_delta_provider.jobs.session.spark_session import jvm_runs, own_session

    def why(failure: Exception) -> str:
        return str(failure) if isinstance(failure, RuntimeError) else understand(failure).message

    output = JvmOutput(shown=parsed.verbose)
    jars = parsed.delta_jars or (None if request.may_need_delta else PROVIDED)
    try:
        with output.taken():
            spark = own_session(f"airflow-delta-provider {request.kind}", parsed.master, jars)
        session = DeltaSession(spark)
    except Exception as failure:
        _say(f"there is no Spark session: {why(failure)}", *output.last_lines(errors_only=jvm_runs()))
        return ALL_FAULTS
    destination = ReportFile(parsed.report)
    try:
        destination.check(session.storage)
    except Exception as failure:
        _say(f"--report {parsed.report}: {why(failure)}")
        return NO_SENSE
    try:
        report = run(request, session, progress)
    except Exception as failure:
        _say(f"there is no Spark session with Delta: {why(failure)}")
        return ALL_FAULTS
    if not jvm_runs():
        _say("Spark's JVM ended while the job ran.", *output.last_lines(errors_only=False))
    unwritten = None
    try:
        destination.write(report, session.storage)
    except Exception as failure:
        unwritten = f"the report could not be written to {parsed.report}, only printed: {why(failure)}"
    print(render(report) if parsed.format == "text" else json.dumps(report.to_json(), indent=1), flush=True)
    if unwritten:
        _say(unwritten)
        return ALL_FAULTS
    confirm(session, request, report, progress)
    return ALL_FAULTS if all(t.verdict is Verdict.FAULT for t in report.tables) else REPORTED


def parse(arguments: Sequence[str] | None = None) -> tuple[JobRequest, argparse.Namespace]:
    """Return the request of a command line, and all of its arguments.

    :raises SystemExit: with 2 and a sentence on standard error, if it makes no sense
    """
    parser = _parser()
    parsed = parser.parse_args(arguments)
    try:
        options = COMMANDS[parsed.kind].options(parsed)
        request = JobRequest(tuple(parsed.table), options, dry_run=parsed.dry_run, receipt=uuid.uuid4().hex)
        check_names(request.options)
        check_tables(request.tables, patterns=request.options.takes_patterns, relative=True)
    except (RequestError, TableNameError) as error:
        parser.error(str(error))
    for name in features_to_come(request.options):
        _say(f"this package knows no table feature {name!r}; the engine may.")
    try:
        if parsed.master is not None:
            SparkMaster.parse(parsed.master)
    except MasterError as error:
        parser.error(f"--master: {error}")
    try:
        ReportFile(parsed.report)
    except RequestError as error:
        parser.error(f"--report {parsed.report}: {error}")
    return request, parsed


def _say(text: str, *lines: str) -> None:
    print(f"{_PROGRAM}: {text}", *lines, sep="\n", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_PROGRAM, description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for command in COMMANDS.values():
        kind = kinds.add_parser(command.kind, help=command.help)
        command.add_arguments(kind)
        if command.changes:
            kind.add_argument("--dry-run", action="store_true", help="plan and report, change nothing")
        kind.add_argument("--table", action="append", required=True, metavar="URI", help="path, URI or catalog name")
        kind.add_argument("--report", required=True, metavar="FILE", help="where to write the report: a path or URI")
        kind.add_argument("--format", choices=("text", "json"), default="text", help="what to print: default text")
        kind.add_argument("--master", help="Spark master; default the platform's, else local[*]")
        kind.add_argument("--verbose", action="store_true", help="show what Spark prints, on standard error")
        kind.add_argument("--delta-jars", help="packages, provided, or paths or Maven coordinates of jars")
        kind.set_defaults(dry_run=False)
    return parser
