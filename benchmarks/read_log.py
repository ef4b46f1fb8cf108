"""Reading a long log through Hadoop's FileSystem, by one process and by Spark's executors.

    python -m benchmarks.read_log [COMMITS]

A log of COMMITS commits of ten files each (default 10,000) is written here and read by a way that knows nothing of this
machine's files: Hadoop's ViewFs. In turns:

- every commit, in order, as the jobs read a log that lies elsewhere: by threads of the driver;
- the same by Spark's ``binaryFile``, with what makes it fast for many small files: ``spark.sql.files.openCostInBytes``
  4096 and ``spark.sql.sources.ignoreDataLocality``;
- the audit of the whole history there, and of the same files as files of this machine.

Prints medians, and ratios to the first.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import functions

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from benchmarks.audit_protocol import FILES, write_log

RUNS = 5
_SETTINGS = {"spark.sql.files.openCostInBytes": "4096", "spark.sql.sources.ignoreDataLocality": "true"}


def main(commits: int) -> None:
    """Measure everything in turns, and print it."""
    spark = own_session("benchmark", "local[2]")
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder, "t"), commits)
        java: Any = spark._jsc
        java.hadoopConfiguration().set("fs.viewfs.mounttable.benchmark.link./tables", f"file:{folder}")
        session = SparkDeltaSession(spark)
        here, there = f"file:{folder}/t", "viewfs://benchmark/tables/t"
        size = sum(path.stat().st_size for path in Path(folder, "t", "_delta_log").iterdir())
        contenders: dict[str, Callable[[], Any]] = {
            "threads of the driver": lambda: _check(_read(session, there), size),
            "Spark's binaryFile": lambda: _check(_collect(session, there), size),
            "audit there": lambda: _audit(session, there, commits),
            "audit here": lambda: _audit(session, here, commits),
        }
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(RUNS):
            for name, contender in contenders.items():
                started = time.monotonic()
                contender()
                seconds[name].append(time.monotonic() - started)
    ours = statistics.median(next(iter(seconds.values())))
    print(f"{commits} commits of {FILES} files, {size / 1e6:.0f} MB, {RUNS} runs each, medians")
    for name, measured in seconds.items():
        middle = statistics.median(measured)
        print(f"  {name:24} {middle:8.2f} s   this / first {middle / ours:6.2f}")


def _read(session: SparkDeltaSession, table: str) -> int:
    log = f"{table}/_delta_log"
    return sum(map(len, session.storage.read_ahead([f"{log}/{name}" for name in session.storage.list_names(log)])))


def _collect(session: SparkDeltaSession, table: str) -> int:
    files = session.spark.read.format("binaryFile").load(f"{table}/_delta_log")
    return sum(len(row["content"]) for row in files.select(functions.col("_metadata.file_name"), "content").collect())


def _audit(session: SparkDeltaSession, table: str, commits: int) -> None:
    (report,) = run(JobRequest((table,), AuditOptions()), session).tables
    assert (report.verdict, report.evidence and report.evidence["commits"]) == (Verdict.PASS, commits)


def _check(read: int, size: int) -> None:
    assert read == size, f"{read} of {size} bytes"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
