"""Entry point of an application that only tells which jars spark-submit resolved for it."""

from __future__ import annotations

from pyspark import SparkConf

from airflow_delta_provider.domain.report.marker import marker_lines


def main(submission: str) -> int:
    """Send the list of jars; no Spark context is started."""
    jars = SparkConf().get("spark.jars", "") or ""
    for line in marker_lines("jars", submission, [jar for jar in jars.split(",") if jar]):
        print(line, flush=True)
    return 0
