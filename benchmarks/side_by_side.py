"""Variants of a change, timed on equal tables inside one running session: a median of interleaved runs of each."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session

#: Makes the table at a path, or changes it.
Change = Callable[[SparkDeltaSession, Path], None]

_PARTITIONS = ("spark.databricks.delta.snapshotPartitions", "spark.sql.shuffle.partitions")


def job(options: Options) -> Change:
    """Return our job, which has to pass and to change the table."""
    return partial(_run_job, options)


def _run_job(options: Options, session: SparkDeltaSession, table: Path) -> None:
    report = run(JobRequest((str(table),), options), session)
    if report.verdict is not Verdict.PASS or not all(each.changed for each in report.tables):
        raise SystemExit(report.to_json())


def script(changes: Iterable[str], *, by_default: bool) -> Change:
    """Return ALTER TABLE statements.

    :param changes: what follows the name of the table in each
    :param by_default: whether they run with Spark's and Delta's default numbers of partitions, as in a session with the
        documented configuration, or with the few that our local profile sets
    """
    return partial(_run_script, tuple(changes), by_default)


def _run_script(changes: Iterable[str], by_default: bool, session: SparkDeltaSession, table: Path) -> None:
    kept = {key: session.spark.conf.get(key) for key in _PARTITIONS if by_default}
    for key in kept:
        session.spark.conf.unset(key)
    for change in changes:
        session.sql(f"ALTER TABLE delta.`{table}` {change}")
    for key, value in kept.items():
        session.spark.conf.set(key, value)


def compare(about: str | None, make_table: Change, variants: Mapping[str, Change]) -> None:
    """Time each variant, and print its seconds and their ratio to the slowest.

    :param about: what ``--help`` says
    :param make_table: writes the table that each run of each variant changes
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    session = SparkDeltaSession(own_session("benchmark", "local[2]"))
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs + 1):
            for index, (name, change) in enumerate(variants.items()):
                table = Path(folder) / f"{index}-{number}"
                make_table(session, table)
                started = time.monotonic()
                change(session, table)
                if number:  # the first of each warms the session
                    seconds[name].append(time.monotonic() - started)
    session.spark.stop()
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    slowest = max(medians.values())
    for name, median in medians.items():
        each = ", ".join(f"{value:.2f}" for value in seconds[name])
        print(f"{name:24}{median:8.2f} s   1/{slowest / median:.1f}   ({each})")
