"""Cost of an audit by files, by commits and by tables, beside ``deltalake`` and Spark, as curves in the docs.

    python -m benchmarks.curves [files|commits|tables …]

Tables are written here: checkpoints of 1,000 to 1,000,000 files, logs of 100 to 10,000 merges with row tracking, and 10
to 10,000 tables of 20 commits. Measured in turns:

- each in a process of its own, from its start to its exit: the audit with engine Python, and a script that only opens
  the same tables with ``deltalake``
- in one running session of Spark on two cores: the audit with engine Spark, and ``DESCRIBE DETAIL`` of a table that the
  session has not opened yet. The CPU time is that of all its processes; the start of the session is not included

Medians of three runs go into ``benchmarks/curves.json``, from which ``docs/images/cost-by-*.svg`` are drawn. Series
that are not measured again are kept, such as Spark's with ``--without-spark``.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.protocol_logs import RowTrackedLog
from benchmarks.scale import RowTrackedMergeLog, write_checkpointed
from benchmarks.without_jvm import medians, run
from scripts.curves_picture import POINTS, pictures

RUNS = 3
_PACKAGES = "deltalake", "pyspark", "delta-spark"
TABLE_COMMITS = 20
_AUDIT = ["-m", "airflow_delta_provider", "audit", "-q", "--no-config", "--engine", "python"]
_OPEN = "import sys, deltalake\nfor table in sys.argv[1:]: deltalake.DeltaTable(table)"
OURS, DELTALAKE = "audit, engine Python, whole process", "deltalake, opening only, whole process"
OURS_SPARK, SPARK = "audit, engine Spark, in a running session", "Spark, DESCRIBE DETAIL, in a running session"

#: For each series, its points: the number, CPU time in seconds, and largest memory in MB or None.
_Series = dict[str, list[list[float | None]]]


@dataclass(frozen=True)
class Curve:
    """The cost over one number.

    :param across: name of that number
    :param write: writes the tables of a number into a folder
    :param spark: numbers that are also measured with Spark
    """

    title: str
    across: str
    numbers: Sequence[int]
    write: Callable[[Path, int], None]
    spark: Sequence[int]


def _write_checkpoint(folder: Path, number: int) -> None:
    write_checkpointed(folder / "t", number, "classic")


def _write_merges(folder: Path, number: int) -> None:
    RowTrackedMergeLog(number).write(folder / "t")


def _write_tables(folder: Path, number: int) -> None:
    first = folder / "t000000"
    RowTrackedLog(TABLE_COMMITS).write(first)
    for other in range(1, number):
        shutil.copytree(first, folder / f"t{other:06d}")


CURVES: Mapping[str, Curve] = {
    "files": Curve(
        "Audit of a table whose log begins with a checkpoint",
        "live files in the checkpoint",
        (1_000, 10_000, 100_000, 400_000, 1_000_000),
        _write_checkpoint,
        (1_000, 10_000, 100_000),
    ),
    "commits": Curve(
        "Audit of a history of merges with row tracking",
        "commits, without a checkpoint",
        (100, 1_000, 10_000, 30_000),
        _write_merges,
        (100, 1_000, 10_000),
    ),
    "tables": Curve(
        f"Audit of many tables of {TABLE_COMMITS} commits in one job",
        "tables",
        (10, 100, 1_000, 10_000),
        _write_tables,
        (10, 100),
    ),
}


def measure_processes(name: str, folder: Path) -> _Series:
    """Write the tables of a curve, and return the points of processes that end."""
    curve, series = CURVES[name], _Series()
    for number in curve.numbers:
        # In another process: the memory of this one would count as that of the processes that it starts.
        run(["-m", "benchmarks.curves", "--write", name, str(number), str(folder / str(number))])
        tables = _tables(folder / str(number))
        since = ["--since-version", "0"] if name == "files" else []  # the commits before were cleaned up
        contenders = {OURS: [*_AUDIT, *since, *tables], DELTALAKE: ["-c", _OPEN, *tables]}
        run(contenders[OURS])  # which compiles the package
        for label, (_, cpu, memory) in medians(contenders, RUNS).items():
            series.setdefault(label, []).append([number, round(cpu, 2), round(memory)])
            _show(name, label, series[label][-1])
        if number not in curve.spark:
            shutil.rmtree(folder / str(number))
    return series


def measure_session(name: str, folder: Path) -> _Series:
    """Return the points that need Spark, measured in another process."""
    command = [sys.executable, "-m", "benchmarks.curves", "--spark", name, str(folder)]
    series: _Series = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    for label, points in series.items():
        for point in points:
            _show(name, label, point)
    return series


def _show(name: str, label: str, point: Sequence[float | None]) -> None:
    number, cpu, memory = point
    print(f"{number:>9,.0f} {name:8} {label:46} {cpu:8.2f} s {memory or 0:6.0f} MB", flush=True)


def _tables(folder: Path) -> list[str]:
    return sorted(map(str, folder.iterdir()))


def run_spark(name: str, folder: Path) -> _Series:
    """Measure the points that need Spark, all in one session."""
    from airflow_delta_provider.domain.report.report import Verdict
    from airflow_delta_provider.domain.request.check_options import AuditOptions
    from airflow_delta_provider.domain.request.job_request import JobRequest
    from airflow_delta_provider.jobs.run.runner import run as run_job
    from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
    from airflow_delta_provider.jobs.spark.session import own_session
    from benchmarks.many_tables import cpu_seconds

    session = SparkDeltaSession(own_session("benchmark", "local[2]"))
    jvm: Any = session.spark._jvm
    options = AuditOptions(since_version=0) if name == "files" else AuditOptions()

    def audit(tables: Sequence[str]) -> None:
        report = run_job(JobRequest(tuple(tables), options), session)
        if report.verdict is not Verdict.PASS:
            raise SystemExit(report.to_json())

    def detail(tables: Sequence[str]) -> None:
        for table in tables:
            session.sql(f"DESCRIBE DETAIL delta.`{table}`")

    series: _Series = {OURS_SPARK: [], SPARK: []}
    numbers = sorted(int(path.name) for path in folder.iterdir())
    for number in (numbers[0], *numbers):  # the first one warms the session
        tables = _tables(folder / str(number))
        for label, work in ((OURS_SPARK, audit), (SPARK, detail)):
            taken = []
            for _ in range(RUNS):
                jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
                before = cpu_seconds()
                work(tables)
                taken.append(cpu_seconds() - before)
            series[label].append([number, round(statistics.median(taken), 2), None])
    session.spark.stop()
    return {label: points[1:] for label, points in series.items()}


def main(arguments: Sequence[str]) -> None:
    """Measure curves, write their points, and draw them."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    stages = [measure_processes] if "--without-spark" in arguments else [measure_processes, measure_session]
    for name in [name for name in arguments if name in CURVES] or CURVES:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "compiled"))
            tables = Path(folder, "tables")
            tables.mkdir()
            for stage in stages:
                _save(name, stage(name, tables))


def _save(name: str, series: _Series) -> None:
    """Write points, and draw all pictures."""
    known = json.loads(POINTS.read_text(encoding="utf-8")) if POINTS.exists() else {"curves": {}}
    curve, releases = CURVES[name], [f"{package} {version(package)}" for package in _PACKAGES]
    known["curves"][name] = {
        "title": curve.title,
        "across": curve.across,
        "measured": time.strftime("%Y-%m-%d"),
        "machine": ", ".join([f"{os.cpu_count()} cores", f"Python {platform.python_version()}", *releases]),
        "load": round(os.getloadavg()[1], 1),
        "series": known["curves"].get(name, {}).get("series", {}) | series,
    }
    POINTS.write_text(_short(json.dumps(known, indent=1)) + "\n", encoding="utf-8")
    for path, render in pictures().items():
        path.write_text(render(), encoding="utf-8")


def _short(text: str) -> str:
    """Return JSON with each list of numbers on one line."""
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        Path(sys.argv[4]).mkdir()
        CURVES[sys.argv[2]].write(Path(sys.argv[4]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--spark"]:
        print(json.dumps(run_spark(sys.argv[2], Path(sys.argv[3]))))
    else:
        main(sys.argv[1:])
