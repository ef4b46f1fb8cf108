"""The audit of long histories and of many tables, inside a running session, against what else opens such tables.

    python -m benchmarks.audit_protocol [COMMITS]

Logs are written here: COMMITS commits of ten files each (default 10,000), no checkpoint, of a plain table, of one with
row tracking, and of one with mapped columns and deletion vectors. On each, in turns:

- the audit of the whole history, by all rules of the log;
- ``DESCRIBE HISTORY``, which tells who committed what and judges nothing, of a table that the session has not
  opened yet, as the audit has not, and of one that it has;
- opening the table with ``deltalake``, where that is installed.

Then an audit that remembers, of ten new commits; and an audit of many tables of twenty commits in one job. Prints
medians, and ratios to the audit's own time.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.process import collect_seldom
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from benchmarks.protocol_logs import FILES, LOGS, write_log

RUNS = 5
NEW = 10
TABLES, TABLE_COMMITS = 1000, 20


def main(commits: int) -> None:
    """Measure everything once, and print it."""
    collect_seldom()  # as every job does
    session = SparkDeltaSession(own_session("benchmark", "local[2]"))
    with tempfile.TemporaryDirectory() as folder:
        print(f"{commits} commits of {FILES} files, {RUNS} runs each, medians")
        for number, kind in enumerate(LOGS):
            table = Path(folder, f"t{number}", "long")
            write_log(table, commits, kind)
            ours = _contest(session, table, commits, kind)
            _incremental(session, table, commits, ours)
        _many(session, Path(folder, "many"))


def _contest(session: SparkDeltaSession, table: Path, commits: int, kind: str) -> float:
    """Print what an audit takes, and what others do; return the audit's median in seconds."""
    print(kind)
    contenders: dict[str, Callable[[], Any]] = {"audit": lambda: _audit(session, table, commits)}
    contenders["DESCRIBE HISTORY"] = lambda: _describe(session, table)
    contenders["the same, opened before"] = lambda: session.sql(f"DESCRIBE HISTORY delta.`{table}`")
    if _has_deltalake():
        contenders["deltalake, opening"] = lambda: _open_with_deltalake(table)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(RUNS):
        for name, contender in contenders.items():
            seconds[name].append(_timed(contender))
    ours = statistics.median(seconds["audit"])
    for name, measured in seconds.items():
        middle = statistics.median(measured)
        print(f"  {name:24} {middle:8.2f} s   audit / this {ours / middle:6.2f}")
    return ours


def _incremental(session: SparkDeltaSession, table: Path, commits: int, whole: float) -> None:
    memory = table.with_name("memory")
    log = table / "_delta_log"
    newest = [path for path in log.iterdir() if int(path.name[:20]) >= commits - NEW]
    kept = {path.name: path.read_text() for path in newest}
    measured = []
    for _ in range(RUNS):
        for name in kept:
            log.joinpath(name).unlink()
        _audit(session, table, commits - NEW, state_path=str(memory))
        for name, text in kept.items():
            log.joinpath(name).write_text(text)
        measured.append(_timed(lambda: _audit(session, table, NEW, state_path=str(memory))))
        shutil.rmtree(memory)
    middle = statistics.median(measured)
    print(f"  {NEW} new commits            {middle:8.3f} s   this / audit {middle / whole:8.4f}")


def _many(session: SparkDeltaSession, folder: Path) -> None:
    first = folder / "t0"
    write_log(first, TABLE_COMMITS)
    for number in range(1, TABLES):
        shutil.copytree(first, folder / f"t{number}")
    started = time.monotonic()
    report = run(JobRequest((f"{folder}/*",), AuditOptions()), session)
    spent = time.monotonic() - started
    assert (len(report.tables), report.verdict) == (TABLES, Verdict.PASS)
    print(f"{TABLES} tables of {TABLE_COMMITS} commits in one job: {1000 * spent / TABLES:.1f} ms a table")


def _audit(session: SparkDeltaSession, table: Path, commits: int, **known: Any) -> None:
    (report,) = run(JobRequest((str(table),), AuditOptions(**known)), session).tables
    assert (report.verdict, report.evidence and report.evidence["commits"]) == (Verdict.PASS, commits)


def _describe(session: SparkDeltaSession, table: Path) -> None:
    jvm: Any = session.spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    session.sql(f"DESCRIBE HISTORY delta.`{table}`")


def _has_deltalake() -> bool:
    try:
        import deltalake  # noqa: F401 - whether it is there
    except ImportError:
        return False
    return True


def _open_with_deltalake(table: Path) -> None:
    import deltalake

    deltalake.DeltaTable(str(table))


def _timed(function: Callable[[], Any]) -> float:
    started = time.monotonic()
    function()
    return time.monotonic() - started


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
