"""Calls from Python, without Airflow: each returns the typed report that the command line would show.

``audit("lake/orders")`` needs no package besides this one. Object stores need ``obstore``; with a SparkSession, tables
may also be named by its catalog, and rows are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.rendering.presentation import FORMATS, Presentation
from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity, TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import DetailOptions, Options
from airflow_delta_provider.jobs.delta.session import DeltaSession, python_session
from airflow_delta_provider.jobs.process import Progress, silent
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.storages import Storages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "Finding",
    "JobReport",
    "RequestError",
    "Severity",
    "TableReport",
    "Verdict",
    "audit",
    "detail",
    "plan",
    "render",
]


def audit(
    *tables: str,
    level: str = "log",
    fail_on: str = "error",
    rules: Sequence[str] = (),
    since_version: int | None = None,
    version: int | None = None,
    timestamp: str | None = None,
    waivers: Sequence[Mapping[str, Any]] = (),
    ownership: Sequence[Mapping[str, Any]] = (),
    state_path: str | None = None,
    findings_table: str | None = None,
    seconds_per_table: float | None = None,
    storage: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
    progress: Progress = silent,
) -> JobReport:
    """Check the full history of tables against the Delta protocol.

    :param tables: paths, URIs or patterns (``lake/*``, ``s3://lake/**``); with ``spark``, also names of its catalog
    :param level: ``log``, ``footers`` or ``data``, which needs ``spark``
    :param fail_on: lowest severity that makes a table VIOLATED: ``error`` or ``warning``
    :param rules: codes of the rules to apply; empty for all
    :param since_version: check only the commits after this version
    :param version: check the history up to this version
    :param timestamp: check the history up to this time, ISO 8601
    :param waivers: accepted findings, as mappings
    :param ownership: entries with table, owner and severities, as mappings
    :param state_path: directory for incremental state
    :param findings_table: Delta table to append the findings to
    :param seconds_per_table: time limit per table
    :param storage: options of object stores, such as ``region`` and ``endpoint``; never a secret
    :param spark: session that reads the tables; None to read them in this process
    :param progress: receives lines for people
    :raises RequestError: if an argument is invalid
    """
    options = AuditOptions(
        level=level,
        fail_on=fail_on,
        rules=tuple(rules),
        since_version=since_version,
        version=version,
        timestamp=timestamp,
        waivers=tuple(waivers),
        ownership=tuple(ownership),
        state_path=state_path,
        findings_table=findings_table,
        seconds_per_table=seconds_per_table,
    )
    return _run(options, tables, storage, spark, progress)


def detail(
    *tables: str,
    storage: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
    progress: Progress = silent,
) -> JobReport:
    """Describe tables: schema, protocol, features, sizes. The description is ``detail`` of each table's report.

    :param tables: see :func:`audit`
    :param storage: see :func:`audit`
    :param spark: see :func:`audit`
    :param progress: see :func:`audit`
    :raises RequestError: if an argument is invalid
    """
    return _run(DetailOptions(), tables, storage, spark, progress)


def plan(
    *tables: str,
    spec: str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    policy: Mapping[str, Any] | None = None,
    fleet: Mapping[str, Any] | None = None,
    storage: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
    progress: Progress = silent,
) -> JobReport:
    """Plan the changes that bring tables to their declared state. Nothing is changed.

    :param tables: see :func:`audit`; empty for the tables that the specs name
    :param spec: declared state: a YAML or JSON file, or the same as mappings
    :param policy: content of a policy file
    :param fleet: content of a fleet file
    :param storage: see :func:`audit`
    :param spark: see :func:`audit`
    :param progress: see :func:`audit`
    :raises RequestError: if an argument is invalid
    :raises OSError: if the file cannot be read
    """
    from airflow_delta_provider.domain.request.migration_options import PlanMigrationOptions, Specs

    if isinstance(spec, (str, Path)):
        spec = Specs().of_files([(str(spec), Path(spec).read_text(encoding="utf-8"))])
    options = PlanMigrationOptions(spec=spec, policy=policy, fleet=fleet)  # type: ignore[arg-type]  # checked there
    return _run(options, tables or options.declared_tables, storage, spark, progress)


def render(report: JobReport, format: str = "text") -> str:
    """Return a report in a format of the command line: ``text``, ``json``, ``markdown``, ``html``, ``sarif``, …

    :raises ValueError: if there is no such format
    """
    if format not in FORMATS:
        raise ValueError(f"There is no format {format!r}. Use {', '.join(FORMATS)}.")
    return FORMATS[format].render(report, Presentation())


def _run(
    options: Options,
    tables: Iterable[str],
    storage: Mapping[str, str] | None,
    spark: SparkSession | None,
    progress: Progress,
) -> JobReport:
    if spark is None and options.needs_rows:
        raise RequestError(
            "{kind} reads rows with these arguments, which needs Spark. Pass spark=, a SparkSession with Delta Lake.",
            kind=options.kind,
        )
    return run(JobRequest(tuple(tables), options), _session(storage, spark), progress)


def _session(storage: Mapping[str, str] | None, spark: SparkSession | None) -> DeltaSession:
    if spark is None:
        return python_session(Storages(storage))
    from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession  # late: it imports PySpark

    return SparkDeltaSession(spark)
