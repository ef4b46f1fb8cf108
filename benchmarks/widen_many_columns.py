"""Ten columns widened: our job against ten ALTER TABLE statements, inside one running session.

Ours also checks beforehand and reads the log again, and in the first row compares the data of the
ten columns, which ``verify="log"`` leaves out. The statements run twice: with Spark's and Delta's
default numbers of partitions, as in a session with the documented configuration, and with the few
that our local profile sets. Prints seconds of each, median of interleaved runs, and the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.spark_session import own_session
from benchmarks.wide_table import COLUMNS, make_table

_PARTITIONS = ("spark.databricks.delta.snapshotPartitions", "spark.sql.shuffle.partitions")

BY_DEFAULT = "ten ALTER, defaults"


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    session = SparkDeltaSession(own_session("benchmark", "local[2]"))

    def ours(table: Path, verify: str = "data") -> None:
        options = WidenTypesOptions(columns=dict.fromkeys(COLUMNS, "bigint"), verify=verify)
        report = run(JobRequest((str(table),), options), session)
        if report.verdict is not Verdict.PASS:
            raise SystemExit(report.to_json())

    def statements(table: Path) -> None:
        for column in COLUMNS:
            session.sql(f"ALTER TABLE delta.`{table}` ALTER COLUMN {column} TYPE bigint")

    def statements_by_default(table: Path) -> None:
        kept = {key: session.spark.conf.get(key) for key in _PARTITIONS}
        for key in kept:
            session.spark.conf.unset(key)
        statements(table)
        for key, value in kept.items():
            session.spark.conf.set(key, value)

    variants: dict[str, Callable[[Path], None]] = {
        "ours": ours,
        'ours, verify="log"': lambda table: ours(table, "log"),
        BY_DEFAULT: statements_by_default,
        "ten ALTER, our profile": statements,
    }
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs + 1):
            for variant, (name, widen) in enumerate(variants.items()):
                table = Path(folder) / f"{variant}-{number}"
                make_table(session.spark, table)
                started = time.monotonic()
                widen(table)
                if number:  # the first of each warms the session
                    seconds[name].append(time.monotonic() - started)
    session.spark.stop()
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    slowest = medians[BY_DEFAULT]
    for name, median in medians.items():
        each = ", ".join(f"{value:.2f}" for value in seconds[name])
        print(f"{name:24}{median:8.2f} s   1/{slowest / median:.0f}   ({each})")


if __name__ == "__main__":
    main()
