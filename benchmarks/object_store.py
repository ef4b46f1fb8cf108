"""Audits over an object store that takes its time, without Spark: many tables, one long history, and many footers.

    python -m benchmarks.object_store [TABLES [COMMITS]]

A server that speaks S3's interface runs in a process of its own and answers each request after 30 ms. On it:

- TABLES tables (default 1,000) of 20 commits are audited in one job with a ``state_path``: for the first time, again
  with nothing new, and after ten new commits each;
- one table of COMMITS commits (default 10,000) of ten files, without a checkpoint;
- one table of 1,000 commits of ten files, with its data files, at level ``footers``.

Prints seconds, the CPU time of this process, and requests.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.process import collect_seldom
from airflow_delta_provider.jobs.run.runner import run
from benchmarks.protocol_logs import ROWS, PlainLog, write_log
from tests.small_s3 import SmallS3

DELAY = 0.03
COMMITS, NEW = 20, 10
WITH_FILES = 1000
LAKE = "s3://lake"


class Server:
    """A server of one bucket, in a process of its own: its CPU time is not that of the clients."""

    def __init__(self, process: Any, pipe: Connection) -> None:
        self.process = process
        self._pipe = pipe

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store objects."""
        self.tell("put", objects)

    def load(self, directory: Path, prefix: str) -> None:
        """Store the files of a directory."""
        self.tell("load", (directory, prefix))

    def asked(self) -> Counter[str]:
        """Return the number of requests since the last call, by method."""
        counts: Counter[str] = self.tell("count", None)
        return counts

    def tell(self, what: str, value: object) -> Any:
        """Send a command, and return the answer.

        :raises SystemExit: if the process has ended
        """
        try:
            self._pipe.send((what, value))
            return self._pipe.recv()
        except (EOFError, OSError):
            raise SystemExit(self._ended()) from None

    def _ended(self) -> str:
        self.process.join(10)
        return f"The server's process ended with exit code {self.process.exitcode}; its own error is above."


@contextmanager
def served(delay: float = 0.0) -> Iterator[Server]:
    """Run a server, and set the environment so that clients use it."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there, delay), daemon=True)
    process.start()
    there.close()  # or the end of the process would not be noticed
    server = Server(process, here)
    os.environ.update(server.tell("environment", None))
    try:
        yield server
    finally:
        here.close()
        process.join()


def _serve(pipe: Connection, delay: float) -> None:
    server = SmallS3(delay=delay)
    with server.running():
        while True:
            try:
                what, value = pipe.recv()
            except EOFError:
                return
            pipe.send(_done(server, what, value))


def _done(server: SmallS3, what: str, value: Any) -> object:
    if what == "environment":
        return server.environment
    if what == "load":
        server.load(*value)
    for key, content in value.items() if what == "put" else ():
        server.put(key, content)
    if what != "count":
        return None
    counts: Counter[str] = Counter()
    for (method, _), times in server.asked.items():
        counts[method] += times
    server.asked.clear()
    return counts


class LogOfFiles(PlainLog):
    """Appends of files that all have the same content."""

    def __init__(self, commits: int) -> None:
        super().__init__(commits)
        self.content = _data_file()
        self.paths: list[str] = []

    def add(self, version: int, number: int, made: int) -> dict[str, Any]:  # noqa: ARG002  # all files are alike
        """Return an ``add`` action."""
        add = super().add(0, 0, made)
        self.paths.append(add["path"])
        return {**add, "size": len(self.content)}


def _data_file() -> bytes:
    """Return a file that fits the statistics of the first file of a log."""
    from datetime import date, timedelta

    import pyarrow as pa
    from pyarrow import parquet

    days = [date(2026, 1, 1) + timedelta(number % 31) for number in range(ROWS)]
    names = ["aaaa", *(f"n{number:03}" for number in range(ROWS - 2)), "zzzz"]
    amounts = [0.5 + number for number in range(ROWS)]
    table = pa.table({"id": pa.array(range(ROWS), pa.int64()), "day": days, "amount": amounts, "name": names})
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


def main(tables: int, commits: int) -> None:
    """Measure everything once, and print it."""
    collect_seldom()  # as every job does
    with tempfile.TemporaryDirectory() as folder, served(DELAY) as server:
        write_log(Path(folder, "short"), COMMITS + NEW)
        files = sorted(Path(folder, "short", "_delta_log").iterdir())
        _put(server, files[:COMMITS], tables)
        print(f"{1000 * DELAY:.0f} ms a request; {tables} tables of {COMMITS} commits, with a state_path")
        many = tuple(f"{LAKE}/many/t{number}" for number in range(tables))
        options = AuditOptions(state_path=f"{LAKE}/state")
        _measure("first audit", server, JobRequest(many, options), COMMITS)
        _measure("nothing new", server, JobRequest(many, options), 0)
        _put(server, files[COMMITS:], tables)
        _measure(f"{NEW} new commits", server, JobRequest(many, options), NEW)
        print(f"one table of {commits} commits")
        write_log(Path(folder, "long"), commits)
        server.load(Path(folder, "long"), "long")
        _measure("audit", server, JobRequest((f"{LAKE}/long",), AuditOptions()), commits)
        log = LogOfFiles(WITH_FILES)
        log.write(Path(folder, "files"))
        server.load(Path(folder, "files"), "files")
        server.put(dict.fromkeys((f"files/{path}" for path in log.paths), log.content))
        print(f"one table of {WITH_FILES} commits and {len(log.paths)} files")
        _measure("level footers", server, JobRequest((f"{LAKE}/files",), AuditOptions(level="footers")), WITH_FILES)


def _measure(what: str, server: Server, request: JobRequest, commits: int) -> None:
    server.asked()
    started, cpu = time.monotonic(), time.process_time()
    report = run(request, python_session())
    spent, cpu = time.monotonic() - started, time.process_time() - cpu
    for table in report.tables:
        assert (table.verdict, table.evidence and table.evidence["commits"]) == (Verdict.PASS, commits), table
    requests = server.asked().total()
    each = requests / len(report.tables)
    print(f"  {what:16} {spent:7.2f} s {cpu:7.2f} s of CPU {requests:7} requests, {each:.1f} a table")


def _put(server: Server, files: list[Path], tables: int) -> None:
    for file in files:
        server.put(dict.fromkeys((f"many/t{n}/_delta_log/{file.name}" for n in range(tables)), file.read_bytes()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]), *(1000, 10_000)[len(sys.argv) - 1 :])
