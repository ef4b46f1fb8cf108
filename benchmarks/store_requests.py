"""Requests that an object store is asked, counted by the server: audits with and without Spark, and polls of a sensor.

    PYTHONPATH=.stores python -m benchmarks.store_requests [TABLES]

A server that speaks S3's interface runs in this process. TABLES tables (default 20) of 20 commits are audited in one
job with a ``state_path``: for the first time, again with nothing new, and after ten new commits each. A sensor polls
one of them: for the first time, unchanged, and after one new commit. Spark asks by Hadoop's S3A, which is downloaded
first; sensors by s3fs, which ``make s3`` puts into ``.stores``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pyspark

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import DeltaSession, python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from benchmarks.protocol_logs import write_log
from tests.small_s3 import SmallS3

COMMITS, NEW = 20, 10


def main(tables: int) -> None:
    """Count everything once, and print it."""
    with tempfile.TemporaryDirectory() as folder, SmallS3().running() as server:
        write_log(Path(folder, "log"), COMMITS + NEW)
        files = sorted(Path(folder, "log", "_delta_log").iterdir())
        os.environ.update(server.environment)
        _audits("python", server, files, tables, "s3", python_session)
        _audits("spark", server, files, tables, "s3a", lambda: _spark(server, Path(folder)))
        if find_spec("s3fs"):
            _polls(server, files)


def _audits(
    name: str, server: SmallS3, files: list[Path], tables: int, scheme: str, open_session: Callable[[], DeltaSession]
) -> None:
    print(f"engine {name}, {tables} tables of {COMMITS} commits with a state_path: requests per table")
    for number in range(tables):
        _put(server, f"{name}/t{number}", files[:COMMITS])
    session = open_session()
    request = JobRequest(
        tuple(f"{scheme}://lake/{name}/t{number}" for number in range(tables)),
        AuditOptions(state_path=f"{scheme}://lake/{name}-state"),
    )
    for what, commits in (("first audit", COMMITS), ("nothing new", 0), (f"{NEW} new commits", NEW)):
        if commits == NEW:
            for number in range(tables):
                _put(server, f"{name}/t{number}", files[COMMITS:])
        server.asked.clear()
        for table in run(request, session).tables:
            assert (table.verdict, table.evidence and table.evidence["commits"]) == (Verdict.PASS, commits), table
        _print(what, server, tables)


def _polls(server: SmallS3, files: list[Path]) -> None:
    from airflow_delta_provider.watch.head_reader import HeadReader, ObjectStorageLog

    print("a sensor")
    _put(server, "polled", files[:COMMITS])
    reader = HeadReader(ObjectStorageLog("s3://lake/polled", None))
    for what, new in (("first poll", 0), ("nothing new", 0), ("one new commit", 1)):
        _put(server, "polled", files[COMMITS : COMMITS + new])
        server.asked.clear()
        head = reader.read()
        assert head is not None
        assert head.version == COMMITS - 1 + new
        _print(what, server, 1)


def _put(server: SmallS3, table: str, files: list[Path]) -> None:
    for file in files:
        server.put(f"{table}/_delta_log/{file.name}", file.read_bytes())


def _print(what: str, server: SmallS3, tables: int) -> None:
    methods: Counter[str] = Counter()
    for (method, _), times in server.asked.items():
        methods[method] += times
    said = ", ".join(f"{method} {times / tables:.1f}" for method, times in sorted(methods.items()))
    print(f"  {what:16} {sum(methods.values()) / tables:6.1f}  ({said})")


def _spark(server: SmallS3, folder: Path) -> DeltaSession:
    (hadoop,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    settings = {
        "spark.jars.packages": f"org.apache.hadoop:hadoop-aws:{hadoop.stem.rsplit('-', 1)[-1]}",
        "spark.hadoop.fs.s3a.endpoint": server.endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.checksum.generation": "false",
        "spark.hadoop.fs.s3a.access.key": "access",
        "spark.hadoop.fs.s3a.secret.key": "secret",
    }
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    os.environ["SPARK_CONF_DIR"] = str(folder)
    return SparkDeltaSession(own_session("benchmark", "local[2]"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]), *(20,)[len(sys.argv) - 1 :])
