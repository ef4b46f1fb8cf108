"""Audits of logs without a JVM, from the start of a process to its exit, beside ``deltalake``, which only opens tables.

    python -m benchmarks.without_jvm [COMMITS]

Logs are written here: COMMITS commits of ten files each (default 10,000), no checkpoint, of a plain table, of one with
row tracking, of one with mapped columns and deletion vectors, and of one with checksum files; one of 100 commits; and
1,000 tables of 20 commits. Python finds the package compiled, as an installed one is.
In turns, each in a process of its own: the audit by all rules of the log, the same by the command line, and, where
``deltalake`` is installed, a script that does no more than open the same table with it.

Prints medians of wall time, of CPU time, and the largest resident memory.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from benchmarks.protocol_logs import FILES, LOGS, write_log

RUNS = 5
FEW = 100
TABLES, TABLE_COMMITS = 1000, 20
_AUDIT = """
import sys
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.process import collect_seldom
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run

collect_seldom()
report = run(JobRequest((sys.argv[1],), AuditOptions()), python_session())
assert report.verdict is Verdict.PASS
"""
OPEN = "import sys, deltalake; deltalake.DeltaTable(sys.argv[1])"
#: By contender, the arguments of Python, but for the table.
_CONTENDERS = {
    "audit": ["-c", _AUDIT],
    "delta-provider audit": ["-m", "airflow_delta_provider", "audit", "-q"],
    "deltalake, opening": ["-c", OPEN],
}
_OURS = ("audit", "delta-provider audit")


class Spent(NamedTuple):
    """What a process took: seconds of wall and CPU time, MB of memory."""

    wall: float
    cpu: float
    memory: float


def main(commits: int) -> None:
    """Measure everything, and print it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "compiled"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        print(f"{'':34} {'wall':>8} {'CPU':>8} {'memory':>8}   medians of {RUNS} processes")
        few = Path(folder, "few")
        write_log(few, FEW)
        _contest(f"{FEW} commits", few)
        for kind in LOGS:
            table = Path(folder, kind.replace(", ", "-"))
            write_log(table, commits, kind)
            _contest(f"{commits} commits of {FILES} files, {kind}", table)
            shutil.rmtree(table)
        _many(Path(folder, "many"))


def _contest(name: str, table: Path) -> None:
    print(name)
    contenders = {
        each: [*script, str(table)] for each, script in _CONTENDERS.items() if each in _OURS or find_spec("deltalake")
    }
    for script in contenders.values():  # which compiles the package
        run(script)
    middles = medians(contenders, RUNS)
    for each, middle in middles.items():
        ratio = "" if each in _OURS else f"   audit / this {middles['audit'].wall / middle.wall:.2f}"
        print(f"  {each:32} {middle.wall:6.2f} s {middle.cpu:6.2f} s {middle.memory:5.0f} MB{ratio}")


def _many(folder: Path) -> None:
    first = folder / "t0"
    write_log(first, TABLE_COMMITS)
    for number in range(1, TABLES):
        shutil.copytree(first, folder / f"t{number}")
    middle = medians({"audit": [*_CONTENDERS["audit"], f"{folder}/*"]}, RUNS)["audit"]
    print(f"{TABLES} tables of {TABLE_COMMITS} commits in one process: {1000 * middle.wall / TABLES:.1f} ms a table")


def medians(scripts: Mapping[str, Sequence[str]], runs: int) -> dict[str, Spent]:
    """Run scripts of Python in turns, and return the medians of each."""
    turns = [[run(script) for script in scripts.values()] for _ in range(runs)]
    middles = (Spent(*map(statistics.median, zip(*spent, strict=True))) for spent in zip(*turns, strict=True))
    return dict(zip(scripts, middles, strict=True))


def run(arguments: Sequence[str]) -> Spent:
    """Run Python in a process of its own.

    :raises RuntimeError: if it fails
    """
    started = time.monotonic()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the process ended with {process.returncode}")
    return Spent(time.monotonic() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
