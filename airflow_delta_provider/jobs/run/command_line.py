"""The command line of jobs: ``python -m airflow_delta_provider.jobs``."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Sequence

from airflow_delta_provider.domain.engine.spark_library import PROVIDED, MasterError, SparkMaster
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.rendering.json_text import JsonTables
from airflow_delta_provider.domain.rendering.text import render
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS, load
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.table_name import TableNameError, check_tables
from airflow_delta_provider.domain.text import printed, visible_lines
from airflow_delta_provider.jobs.process import has_pyspark
from airflow_delta_provider.jobs.run.arguments import (
    ReportFile,
    SpecFile,
    add_allowed_locations,
    add_options,
    flags_of,
    read_options,
)
from airflow_delta_provider.jobs.spark.jvm_output import JvmOutput

#: Exit codes: report written; no report, or every table in FAULT; invalid command line.
REPORTED, FAULT, INVALID = 0, 1, 2

_PROGRAM = "python -m airflow_delta_provider.jobs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one job, write its report and return the exit code."""
    request, parsed = parse(arguments)

    def progress(line: str) -> None:
        print(*printed(visible_lines(line)), sep="\n", file=sys.stderr)

    if not has_pyspark():
        _say("PySpark is not installed. Install pyspark and delta-spark, or run it by spark-submit.")
        return FAULT
    # Imported late, so that an invalid command line is rejected without starting Spark.
    from airflow_delta_provider.jobs.run.own_receipt import confirm
    from airflow_delta_provider.jobs.run.runner import run
    from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
    from airflow_delta_provider.jobs.spark.engine_errors import understand
    from airflow_delta_provider.jobs.spark.session import jvm_runs, own_session

    def why(failure: Exception) -> str:
        return str(failure) if isinstance(failure, RuntimeError) else understand(failure).message

    output = JvmOutput(shown=parsed.verbose)
    jars = parsed.delta_jars or (None if request.may_need_delta else PROVIDED)
    try:
        with output.taken():
            spark = own_session(f"airflow-delta-provider {request.kind}", parsed.master, jars)
        session = SparkDeltaSession(spark)
    except Exception as failure:
        _say(f"there is no Spark session: {why(failure)}", *output.last_lines(errors_only=jvm_runs()))
        return FAULT
    destination = ReportFile(parsed.report)
    try:
        destination.check(session.storage)
    except Exception as failure:
        _say(f"--report {parsed.report}: {why(failure)}")
        return INVALID
    try:
        spec_file = SpecFile.of(request.options)
        if spec_file is not None:
            spec_file.check(session.storage)
    except Exception as failure:
        names = {"out": "--out", "force": "--force"}
        _say(failure.naming(names) if isinstance(failure, RequestError) else f"--out: {why(failure)}")
        return INVALID
    tables = JsonTables()

    def take(table: TableReport) -> TableReport:
        tables.add(table)
        return table if parsed.format == "text" else table.brief()

    try:
        report = run(request, session, progress, take)
    except Exception as failure:
        _say(why(failure))
        return FAULT
    if not jvm_runs():
        _say("Spark's JVM ended while the job ran.", *output.last_lines(errors_only=False))
    unwritten = None
    try:
        destination.write(tables.text(report), session.storage)
    except Exception as failure:
        unwritten = f"the report could not be written to {parsed.report}, only printed: {why(failure)}"
    sys.stdout.writelines([render(report), "\n"] if parsed.format == "text" else tables.text(report))
    sys.stdout.flush()
    if unwritten:
        _say(unwritten)
        return FAULT
    try:
        if spec_file is not None:
            spec_file.write(report, session.storage)
    except Exception as failure:
        _say(f"the specs could not be written: {why(failure)}")
        return FAULT
    confirm(session, request, report, progress)
    return FAULT if all(t.verdict is Verdict.FAULT for t in report.tables) else REPORTED


def parse(arguments: Sequence[str] | None = None) -> tuple[JobRequest, argparse.Namespace]:
    """Return the request of a command line, and all parsed arguments.

    :raises SystemExit: exit code 2 and a message on standard error, if the command line is invalid
    """
    parsed = parser().parse_args(arguments)
    options: type[Options] = parsed.options
    try:
        read = read_options(parsed, options)
        tables = tuple(parsed.table or read.declared_tables)
        request = JobRequest(
            tables,
            read,
            dry_run=parsed.dry_run,
            receipt=uuid.uuid4().hex,
            allowed_locations=tuple(parsed.allowed_locations),
        )
        request.options.check_names()
        check_tables(request.tables, patterns=options.takes_patterns, relative=True)
    except RequestError as error:
        parsed.error(error.naming({**flags_of(options), "table": "--table", "tables": "--table"}))
    except TableNameError as error:
        parsed.error(str(error))
    for name in request.options.features_to_come():
        _say(f"this package does not know a table feature {name!r}; the engine may.")
    try:
        if parsed.master is not None:
            SparkMaster.parse(parsed.master)
    except MasterError as error:
        parsed.error(f"--master: {error}")
    try:
        ReportFile(parsed.report)
    except RequestError as error:
        parsed.error(f"--report {parsed.report}: {error}")
    return request, parsed


def _say(text: str, *lines: str) -> None:
    shown = (line for said in (f"{_PROGRAM}: {text}", *lines) for line in visible_lines(said))
    print(*printed(shown), sep="\n", file=sys.stderr)


def _default_tables(options: type[Options]) -> str:
    flags = " or ".join(f"--{name}" for name in ("spec", "plan") if name in options.declared())
    return f"; default: the tables that {flags} names" if options.names_tables else ""


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(
        prog=_PROGRAM,
        description=__doc__,
        epilog="Exit codes: 0 report written; 1 no report, or every table in FAULT; 2 invalid command line.",
    )
    commands = whole.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    for kind in KINDS.values():
        options: type[Options] = load(kind.options)
        pattern = " TABLE may be a pattern, such as /lake/sales/* or sales.*." if options.takes_patterns else ""
        command = commands.add_parser(
            kind.name, help=f"{kind.summary[:1].lower()}{kind.summary[1:]}", description=f"{kind.summary}.{pattern}"
        )
        command.add_argument(
            "--table",
            action="append",
            required=not options.names_tables,
            default=[],
            metavar="TABLE",
            help=f"path, URI or catalog name; may be repeated{_default_tables(options)}",
        )
        command.add_argument("--report", required=True, metavar="FILE", help="path or URI to write the report to")
        add_options(command, options)
        if options.changes:
            command.add_argument("--dry-run", action="store_true", help="plan and report, change nothing")
        command.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
        add_allowed_locations(command)
        command.add_argument("--master", help="Spark master (default: spark-defaults, else local[*])")
        command.add_argument("--verbose", action="store_true", help="show Spark's output on standard error")
        command.add_argument("--delta-jars", help="packages, provided, or paths or Maven coordinates of jars")
        command.set_defaults(dry_run=False, options=options, error=command.error)
    return whole
