"""Rows of a Paimon table: our job at level ``data`` against a count of distinct row ids, inside one running session.

The table has 5 million rows in 50 files, of which an UPDATE rewrote five (a row in 16 changed), and compaction put
these into one. ``count(distinct)`` is over the same resolved ids, read in the same way. Ours judges the whole history,
every commit and every id; then once more with nothing new (``state_path``); then with one more UPDATE of two files.
Prints seconds, median of interleaved runs, and the ratios to the count.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from airflow_delta_provider.domain.paimon.table_history import ROW_ID, SEQUENCE_NUMBER
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.paimon.table import TableFiles
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.row_tracking.row_reader import FileRows, RowReader
from airflow_delta_provider.jobs.spark.session import own_session
from benchmarks.paimon_rows import RowsTable
from tests.unit.paimon_histories import history_of, layout_of

_DISTINCT = "count(distinct)"


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=50)
    arguments = parser.parse_args()
    session = SparkDeltaSession(own_session("benchmark", "local[2]"))
    with tempfile.TemporaryDirectory() as folder:
        print(f"writing a table of {arguments.rows:,} rows in {arguments.files} files", file=sys.stderr)
        table = RowsTable(Path(folder))
        for _ in range(5):
            table.insert(arguments.files // 5, arguments.rows // arguments.files)
        table.update(5, 16)
        table.compact(5)
        remembered = Path(folder) / "remembered"
        _check(session, table.root, remembered)
        shutil.copytree(remembered, Path(folder) / "older")
        variants: dict[str, Callable[[], None]] = {
            _DISTINCT: lambda: _count(session, table.root),
            "whole history": lambda: _check(session, table.root),
            "nothing new": lambda: _check(session, table.root, remembered),
        }
        seconds = _measured(variants, arguments.runs)
        table.update(2, 16)

        def one_more() -> None:
            shutil.rmtree(remembered)
            shutil.copytree(Path(folder) / "older", remembered)
            _check(session, table.root, remembered)

        seconds |= _measured({"one more commit": one_more}, arguments.runs)
        session.spark.stop()
    medians = {variant: statistics.median(found) for variant, found in seconds.items()}
    print("| | seconds | ratio |\n|---|---|---|")
    for variant, median in medians.items():
        print(f"| {variant} | {median:.2f} | {median / medians[_DISTINCT]:.2f} |")


def _measured(variants: dict[str, Callable[[], None]], runs: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {variant: [] for variant in variants}
    for number in range(runs + 1):  # the first warms the session
        for variant, measured in variants.items():
            started = time.monotonic()
            measured()
            if number:
                seconds[variant].append(time.monotonic() - started)
    return seconds


def _check(session: SparkDeltaSession, root: Path, state: Path | None = None) -> None:
    options = PaimonCheckRowTrackingOptions(level="data", state_path=str(state) if state else None)
    report = run(JobRequest((str(root),), options), session)
    if report.verdict is not Verdict.PASS:
        raise SystemExit(report.to_json())


def _count(session: SparkDeltaSession, root: Path) -> None:
    history = history_of(root)
    files = TableFiles(session.storage, session.storage.qualify(str(root)), layout_of(history))
    reader = RowReader(session, files, ROW_ID, SEQUENCE_NUMBER)
    rows = reader.rows([FileRows(files.row_file(file), 0) for file in history.latest.files])
    with session.reading_files():
        ((count, ids),) = rows.selectExpr("count(*)", "count(DISTINCT id)").collect()
    if count != ids:
        raise SystemExit(f"{count} rows have {ids} ids")


if __name__ == "__main__":
    main()
