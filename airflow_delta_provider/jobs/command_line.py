"""``python -m airflow_delta_provider.jobs KIND --table URI … --report FILE``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.text import render
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.audit import FAIL_ON
from airflow_delta_provider.domain.request.check_row_tracking import LEVELS
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import (
    AuditOptions,
    CheckRowTrackingOptions,
    EnableFeatureOptions,
    Options,
    RequestError,
    WidenTypesOptions,
)

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
    from airflow_delta_provider.jobs.spark_session import own_session

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
        request = JobRequest(tuple(parsed.table), _options(parsed), dry_run=parsed.dry_run)
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

    enable = kinds.add_parser(EnableFeatureOptions.kind, help="enable table features")
    enable.add_argument("--feature", action="append", required=True, metavar="NAME", help="may be repeated")
    enable.add_argument(
        "--property",
        action="append",
        default=[],
        type=_property,
        metavar="NAME=VALUE",
        help="also set this table property",
    )
    enable.add_argument(
        "--allow-special", action="store_true", help="allow previews and features that few engines know"
    )

    widen = kinds.add_parser(WidenTypesOptions.kind, help="widen the types of columns")
    widen.add_argument(
        "--column", action="append", required=True, type=_column, metavar="PATH=TYPE", help="may be repeated"
    )
    widen.add_argument("--enable-type-widening", action="store_true", help="set delta.enableTypeWidening first")
    widen.add_argument("--verify", choices=("data", "log"), default="data", help="compare the data, or the log only")

    for change in (enable, widen):
        change.add_argument("--allow-protocol-upgrade", action="store_true", help="allow to lock older engines out")
        change.add_argument("--dry-run", action="store_true", help="plan and report, change nothing")

    check = kinds.add_parser(CheckRowTrackingOptions.kind, help="check that row ids are unique and stable")
    check.add_argument(
        "--level", choices=LEVELS, default="data", help="rules of the log, also Parquet footers, also row ids (default)"
    )
    check.add_argument("--compare-to", type=int, metavar="VERSION", help="also check that ids are stable since then")
    check.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="COLUMN",
        help="also check that a key keeps its id; may be repeated; with --compare-to",
    )
    check.set_defaults(dry_run=False)

    audit = kinds.add_parser(AuditOptions.kind, help="judge the whole history by every rule of the protocol")
    audit.add_argument(
        "--level", choices=LEVELS, default="log", help="rules of the log (default), also footers, also row ids"
    )
    audit.add_argument("--since-version", type=int, metavar="VERSION", help="judge the commits after this one only")
    audit.add_argument("--version", type=int, help="judge up to this version; default the newest")
    audit.add_argument("--timestamp", metavar="TIME", help="or up to the newest version that is not later, ISO 8601")
    audit.add_argument("--rule", action="append", default=[], metavar="CODE", help="apply this rule; may be repeated")
    audit.add_argument("--fail-on", choices=FAIL_ON, default="error", help="what makes a table VIOLATED")
    audit.add_argument("--waivers", metavar="FILE", type=_waivers, default=(), help="accepted findings, YAML or JSON")
    audit.add_argument("--state-path", metavar="DIRECTORY", help="where audits remember what they have seen")
    audit.set_defaults(dry_run=False)

    for kind in (enable, widen, check, audit):
        kind.add_argument("--table", action="append", required=True, metavar="URI", help="path, URI or catalog name")
        kind.add_argument("--report", required=True, metavar="FILE", help="where to write the report, JSON")
        kind.add_argument("--format", choices=("text", "json"), default="text", help="what to print: default text")
        kind.add_argument("--master", help="Spark master; default local[*]")
        kind.add_argument("--delta-jars", help="packages, provided, or jars separated by commas")
    return parser


def _options(parsed: argparse.Namespace) -> Options:
    if parsed.kind == EnableFeatureOptions.kind:
        properties = _once("--property", parsed.property)
        return EnableFeatureOptions(
            tuple(parsed.feature), properties, parsed.allow_protocol_upgrade, parsed.allow_special
        )
    if parsed.kind == CheckRowTrackingOptions.kind:
        return CheckRowTrackingOptions(parsed.level, parsed.compare_to, tuple(parsed.key))
    if parsed.kind == AuditOptions.kind:
        return AuditOptions(
            parsed.level,
            parsed.since_version,
            parsed.version,
            parsed.timestamp,
            tuple(parsed.rule),
            parsed.fail_on,
            parsed.waivers,
            parsed.state_path,
        )
    columns = _once("--column", parsed.column)
    return WidenTypesOptions(columns, parsed.enable_type_widening, parsed.allow_protocol_upgrade, parsed.verify)


def _once(option: str, pairs: list[tuple[str, str]]) -> dict[str, str]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise RequestError(f"{option} names {name!r} more than once. Name it once.")
    return dict(pairs)


def _waivers(path: str) -> tuple[Any, ...]:
    """Read a file of waivers; YAML where PyYAML is installed, JSON anywhere."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        try:
            entries = json.loads(text)
        except ValueError:
            import yaml  # type: ignore[import-untyped]

            entries = yaml.safe_load(text) or []
    except ImportError:
        raise argparse.ArgumentTypeError(f"{path} is not JSON; for YAML install PyYAML") from None
    except Exception as error:
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {error}") from None
    return tuple(entries) if isinstance(entries, list) else (entries,)


def _property(text: str) -> tuple[str, str]:
    """Split at the first ``=``: a value may hold more."""
    name, _, value = text.partition("=")
    if not (name and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _column(text: str) -> tuple[str, str]:
    """Split at the last ``=``: a column's name may hold more."""
    path, _, data_type = text.rpartition("=")
    if not (path and data_type):
        raise argparse.ArgumentTypeError(f"{text!r} is not PATH=TYPE")
    return path, data_type
