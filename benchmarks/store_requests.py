"""Requests that an object store is asked, counted by the server: audits with and without Spark, and polls of a sensor.

    PYTHONPATH=.stores python -m benchmarks.store_requests [TABLES]

A server that speaks S3's interface runs in a process of its own. TABLES tables (default 20) of 20 commits are audited
in one job with a ``state_path``: for the first time, again with nothing new, and after ten new commits each. A sensor
and an event trigger poll one of them: for the first time, unchanged, and after one new commit each; also the CPU time
of this process for a poll, median of 100. Spark asks by Hadoop's S3A, which is downloaded first; sensors by s3fs, which
``make s3`` puts into ``.stores``.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyspark

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import DeltaSession, python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from benchmarks.object_store import Server, served
from benchmarks.protocol_logs import PlainLog

COMMITS, NEW, POLLS = 20, 10, 100
#: Time of all objects according to the server, in milliseconds.
SERVED = 1_793_527_200_000


def main(tables: int) -> None:
    """Count everything once, and print it."""
    with tempfile.TemporaryDirectory() as folder, served() as server:
        PlainLog(COMMITS + POLLS, SERVED).write(Path(folder, "log"))
        files = sorted(Path(folder, "log", "_delta_log").iterdir())
        if find_spec("s3fs"):
            _polls(server, files)
        _audits("python", server, files, tables, "s3", python_session)
        _audits("spark", server, files, tables, "s3a", lambda: _spark(Path(folder)))


def _audits(
    name: str, server: Server, files: list[Path], tables: int, scheme: str, open_session: Callable[[], DeltaSession]
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
                _put(server, f"{name}/t{number}", files[COMMITS : COMMITS + NEW])
        server.asked()
        for table in run(request, session).tables:
            assert (table.verdict, table.evidence and table.evidence["commits"]) == (Verdict.PASS, commits), table
        print(_line(what, server.asked(), tables))


def _polls(server: Server, files: list[Path]) -> None:
    os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-home-"))
    from airflow_delta_provider.watch.head_reader import HeadReader, ObjectStorageLog
    from airflow_delta_provider.watch.log_follower import LogFollower

    for name, reader in (("a sensor", HeadReader), ("an event trigger", LogFollower)):
        print(f"{name}: requests and CPU time per poll")
        table = name.replace(" ", "-")
        _put(server, table, files[:COMMITS])
        poll = reader(ObjectStorageLog(f"s3://lake/{table}", None)).read
        server.asked()
        spent = [_cpu(poll)]
        print(_line("first poll", server.asked(), 1, *spent))
        for what, new in (("nothing new", 0), ("one new commit", 1)):
            spent = []
            asked: Counter[str] = Counter()
            for number in range(POLLS):
                _put(server, table, files[COMMITS + number : COMMITS + number + new])
                server.asked()
                spent.append(_cpu(poll))
                asked += server.asked()
            print(_line(what, asked, POLLS, statistics.median(spent)))


def _cpu(poll: Callable[[], Any]) -> float:
    """Return the CPU time of a poll in seconds."""
    began = time.process_time()
    poll()
    return time.process_time() - began


def _put(server: Server, table: str, files: list[Path]) -> None:
    server.put({f"{table}/_delta_log/{file.name}": file.read_bytes() for file in files})


def _line(what: str, asked: Counter[str], number: int, cpu: float | None = None) -> str:
    """Return a line with the requests of one of a number of tables or polls."""
    said = ", ".join(f"{method} {times / number:.1f}" for method, times in sorted(asked.items()))
    spent = "" if cpu is None else f"{1000 * cpu:8.2f} ms"
    return f"  {what:16} {asked.total() / number:6.1f}{spent}  ({said})"


def _spark(folder: Path) -> DeltaSession:
    (hadoop,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    settings = {
        "spark.jars.packages": f"org.apache.hadoop:hadoop-aws:{hadoop.stem.rsplit('-', 1)[-1]}",
        "spark.hadoop.fs.s3a.endpoint": os.environ["AWS_ENDPOINT_URL"],
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
