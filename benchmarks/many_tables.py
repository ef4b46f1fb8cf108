"""Audits of many tables by the driver of engine Spark, and by its tasks on two cores.

    python -m benchmarks.many_tables [TABLES] [COMMITS] [RUNS]

TABLES tables (default 200) with row tracking and COMMITS commits (default 500) are written here. In one session, the
driver and the tasks audit them in turns. Prints the first run of each, which for tasks includes the start of their
Python processes, and medians of RUNS further runs (default 3): wall time, and CPU time of Python, of the JVM and of the
tasks.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from airflow_delta_provider.jobs.spark.table_tasks import TABLES_ON_DRIVER
from benchmarks.protocol_logs import RowTrackedLog


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all processes below it that have not ended, in seconds."""
    below, ticks = defaultdict(list), {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            values = process.joinpath("stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        below[int(values[1])].append(int(process.name))
        ticks[int(process.name)] = sum(map(int, values[11:15]))  # with children that have ended
    left, total = [os.getpid()], 0
    while left:
        process_id = left.pop()
        total += ticks.get(process_id, 0)
        left += below[process_id]
    return total / os.sysconf("SC_CLK_TCK")


def audit(spark: SparkSession, tables: list[str], limit: int) -> tuple[float, float]:
    """Audit tables; return wall time and CPU time in seconds.

    :param limit: number of tables up to which the driver audits all
    """
    spark.conf.set(TABLES_ON_DRIVER, str(limit))
    cpu, started = cpu_seconds(), time.perf_counter()
    lines: list[str] = []
    report = run(JobRequest(tuple(tables), AuditOptions()), SparkDeltaSession(spark), lines.append)
    taken = time.perf_counter() - started, cpu_seconds() - cpu
    in_tasks = any(f"audited {len(tables):,} of {len(tables):,}" in line for line in lines)
    if report.verdict is not Verdict.PASS or in_tasks != (limit < len(tables)):
        raise SystemExit(f"{report.verdict}: {lines}")
    return taken


def main(number: int = 200, commits: int = 500, runs: int = 3) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tables = [f"{folder}/{name:06d}" for name in range(number)]
        for table in tables:
            RowTrackedLog(commits).write(Path(table))
        spark = own_session("many tables", "local[2]")
        taken: dict[str, list[tuple[float, float]]] = {"driver": [], "tasks": []}
        for _ in range(runs + 1):
            taken["driver"].append(audit(spark, tables, number))
            taken["tasks"].append(audit(spark, tables, 0))
        spark.stop()
    for name, (first, *others) in taken.items():
        wall, cpu = (statistics.median(column) for column in zip(*others))
        print(f"{name}: {wall:.2f} s, CPU {cpu:.2f} s; first run {first[0]:.2f} s, CPU {first[1]:.2f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
