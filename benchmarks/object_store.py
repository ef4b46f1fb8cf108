"""Audits over an object store that takes its time, without Spark: many tables, and one long history.

    python -m benchmarks.object_store [TABLES [COMMITS]]

A server that speaks S3's interface runs in a process of its own and answers each request after 30 ms. On it:

- TABLES tables (default 1,000) of 20 commits are audited in one job with a ``state_path``: for the first time, again
  with nothing new, and after ten new commits each;
- one table of COMMITS commits (default 10,000) of ten files, without a checkpoint.

Prints seconds, the CPU time of this process, and requests.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.process import collect_seldom
from airflow_delta_provider.jobs.run.runner import run
from benchmarks.protocol_logs import write_log
from tests.small_s3 import SmallS3

DELAY = 0.03
COMMITS, NEW = 20, 10
LAKE = "s3://lake"


def main(tables: int, commits: int) -> None:
    """Measure everything once, and print it."""
    collect_seldom()  # as every job does
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder), tables, commits) as server:
        print(f"{1000 * DELAY:.0f} ms a request; {tables} tables of {COMMITS} commits, with a state_path")
        many = tuple(f"{LAKE}/many/t{number}" for number in range(tables))
        options = AuditOptions(state_path=f"{LAKE}/state")
        _measure("first audit", server, JobRequest(many, options), COMMITS)
        _measure("nothing new", server, JobRequest(many, options), 0)
        _asked(server, "grow")
        _measure(f"{NEW} new commits", server, JobRequest(many, options), NEW)
        print(f"one table of {commits} commits")
        _measure("audit", server, JobRequest((f"{LAKE}/long",), AuditOptions()), commits)


def _measure(what: str, server: Connection, request: JobRequest, commits: int) -> None:
    _asked(server, "count")
    started, cpu = time.monotonic(), time.process_time()
    report = run(request, python_session())
    spent, cpu = time.monotonic() - started, time.process_time() - cpu
    for table in report.tables:
        assert (table.verdict, table.evidence and table.evidence["commits"]) == (Verdict.PASS, commits), table
    requests = _asked(server, "count")
    each = requests / len(report.tables)
    print(f"  {what:16} {spent:7.2f} s {cpu:7.2f} s of CPU {requests:7} requests, {each:.1f} a table")


def _asked(server: Connection, what: str) -> int:
    server.send(what)
    answer: int = server.recv()
    return answer


@contextmanager
def _server(folder: Path, tables: int, commits: int) -> Iterator[Connection]:
    """Run the server, and set the environment so that it is used."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there, folder, tables, commits))
    process.start()
    try:
        os.environ.update(here.recv())
        yield here
    finally:
        here.send("end")
        process.join()


def _serve(pipe: Connection, folder: Path, tables: int, commits: int) -> None:
    server = SmallS3(delay=DELAY)
    write_log(folder / "short", COMMITS + NEW)
    write_log(folder / "long", commits)
    server.load(folder / "long", "long")
    files = sorted((folder / "short" / "_delta_log").iterdir())
    with server.running():
        _put(server, files[:COMMITS], tables)
        pipe.send(server.environment)
        for command in iter(pipe.recv, "end"):
            if command == "grow":
                _put(server, files[COMMITS:], tables)
            pipe.send(sum(server.asked.values()))
            server.asked.clear()


def _put(server: SmallS3, files: list[Path], tables: int) -> None:
    for file, number in itertools.product(files, range(tables)):
        server.put(f"many/t{number}/_delta_log/{file.name}", file.read_bytes())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]), *(1000, 10_000)[len(sys.argv) - 1 :])
