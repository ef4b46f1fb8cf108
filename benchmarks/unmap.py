"""Column mapping taken away: our job against the engine's own statement, inside one running session.

The table has 2 GB in 200 files, and was mapped by name after half of them were written; nothing was renamed or
dropped. Ours proves from the history that the mapping can go, commits the metadata, and compares schema, files and
the nulls of every column by the footers of all files; it is told with the proof by footers, too, of a table whose
log was cleaned up. The statement, ``SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')``, writes every file
anew. Every run has a copy of the table of its own, whose files are hard links. Prints seconds of each, median of
interleaved runs, the ratios, and the bytes of data files that were written.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import DisableColumnMappingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.process import forgo_pandas
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session

_STATEMENT = "SET TBLPROPERTIES"
#: Bytes of a row: four random numbers of eight, and what compresses well.
_ROW = 33


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    arguments = parser.parse_args()
    forgo_pandas()
    session = SparkDeltaSession(own_session("benchmark", "local[2]"))

    def ours(table: Path) -> None:
        report = run(JobRequest((str(table),), DisableColumnMappingOptions(strategy="metadata-only")), session)
        if report.verdict is not Verdict.PASS or not report.changed:
            raise SystemExit(report.to_json())

    def statement(table: Path) -> None:
        session.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')")

    with tempfile.TemporaryDirectory() as folder:
        rows = int(arguments.gigabytes * 1e9 / _ROW)
        print(f"writing {rows:,} rows in {arguments.files} files", file=sys.stderr)
        whole = _make(session, Path(folder) / "whole", rows, arguments.files)
        variants: dict[str, tuple[Path, Callable[[Path], None]]] = {
            "ours, by the history": (whole, ours),
            "ours, by the footers": (_cleaned_up(session, whole), ours),
            _STATEMENT: (whole, statement),
        }
        small = _make(session, Path(folder) / "small", 1000, 4)
        for _, remove in variants.values():  # warms the session
            remove(_copy(small))
        seconds: dict[str, list[float]] = {name: [] for name in variants}
        written: dict[str, int] = {}
        for _ in range(arguments.runs):
            for name, (source, remove) in variants.items():
                table = _copy(source)
                before = _data_bytes(table)
                started = time.monotonic()
                remove(table)
                seconds[name].append(time.monotonic() - started)
                written[name] = _data_bytes(table) - before
                shutil.rmtree(table)
        size = _data_bytes(whole)
        session.spark.stop()
    print(f"{size / 1e9:.2f} GB in {arguments.files} files")
    slowest = statistics.median(seconds[_STATEMENT])
    for name in variants:
        median = statistics.median(seconds[name])
        each = ", ".join(f"{value:.2f}" for value in seconds[name])
        told = f"{name:24}{median:8.2f} s   1/{slowest / median:.0f}   {written[name] / 1e9:.2f} GB written"
        print(f"{told}   ({each})")


def _make(session: SparkDeltaSession, path: Path, rows: int, files: int) -> Path:
    table = f"delta.`{path}`"
    session.sql(f"CREATE TABLE {table} (id BIGINT, a DOUBLE, b DOUBLE, s STRUCT<x: DOUBLE, y: DOUBLE>) USING delta")
    for half in range(2):
        if half:
            session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
        numbers = session.spark.range(half * rows // 2, (half + 1) * rows // 2, 1, files // 2)
        columns = ("id", "rand() AS a", "rand() AS b", "named_struct('x', rand(), 'y', rand()) AS s")
        numbers.selectExpr(*columns).write.format("delta").mode("append").save(str(path))
    return path


def _cleaned_up(session: SparkDeltaSession, whole: Path) -> Path:
    """Return a copy whose log begins with a checkpoint of its newest version."""
    table = _copy(whole)
    jvm: Any = session.spark._jvm
    none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session.spark._jsparkSession, str(table))
    log.checkpoint(log.update(False, none, none), none)
    for commit in sorted(table.joinpath("_delta_log").glob("[0-9]*.json"))[:-1]:
        commit.unlink()
    return table


def _copy(source: Path) -> Path:
    target = Path(tempfile.mkdtemp(dir=source.parent)) / "t"
    return Path(shutil.copytree(source, target, copy_function=_link))


def _link(source: str, target: str) -> None:
    if "_delta_log" in source:
        shutil.copy2(source, target)
    else:
        os.link(source, target)


def _data_bytes(table: Path) -> int:
    files = (file for file in table.rglob("*.parquet") if "_delta_log" not in file.parts)
    return sum(file.stat().st_size for file in files)


if __name__ == "__main__":
    main()
