"""Entry points of applications that load everything that jobs use, or report the jars that spark-submit resolved."""

from __future__ import annotations

import sys

from airflow_delta_provider.domain.delta.features.log import ROW_TRACKING
from airflow_delta_provider.domain.rendering.text import render_log
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.report.transport import marker_lines
from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    EnableFeatureOptions,
    WidenTypesOptions,
)
from airflow_delta_provider.domain.request.check_options import AuditOptions, CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import DetailOptions, Options
from airflow_delta_provider.jobs.process import forgo_pandas
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import submitted_conf, submitted_session

_JOBS: tuple[Options, ...] = (
    WidenTypesOptions(columns={"quantity": "bigint"}, enable_type_widening=True, allow_protocol_upgrade=True),
    EnableFeatureOptions(features=(ROW_TRACKING.name,), allow_protocol_upgrade=True),
    AlterColumnsOptions(add={"note": "string"}),
    CheckRowTrackingOptions(level="data"),
    AuditOptions(level="data"),
    DetailOptions(),
)


def main(table: str) -> int:
    """Create a table and run the jobs on it.

    :param table: path of the table
    :return: exit code: 0 if all jobs passed
    """
    forgo_pandas()
    spark = submitted_session("airflow-delta-provider warm-up")
    spark.sql(f"CREATE TABLE delta.`{table}` USING delta AS SELECT CAST(id AS int) AS quantity FROM range(100)")
    session = SparkDeltaSession(spark)
    reports = [run(JobRequest((table,), options), session) for options in _JOBS]
    spark.stop()
    failed = [report for report in reports if report.verdict is not Verdict.PASS]
    print(*map(render_log, failed), sep="\n", file=sys.stderr)
    return 1 if failed else 0


def report_jars(submission: str) -> int:
    """Send the list of jars. No Spark context is started."""
    jars = submitted_conf().get("spark.jars", "") or ""
    for line in marker_lines("jars", submission, [jar for jar in jars.split(",") if jar]):
        print(line, flush=True)
    return 0
