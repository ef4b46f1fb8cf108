"""Entry point of an application that only reports the jars that spark-submit resolved for it."""

from __future__ import annotations

from airflow_delta_provider.domain.report.marker import marker_lines
from airflow_delta_provider.jobs.spark.session.spark_session import submitted_conf


def main(submission: str) -> int:
    """Send the list of jars. No Spark context is started."""
    jars = submitted_conf().get("spark.jars", "") or ""
    for line in marker_lines("jars", submission, [jar for jar in jars.split(",") if jar]):
        print(line, flush=True)
    return 0
