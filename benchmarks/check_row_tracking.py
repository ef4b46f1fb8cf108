"""Row ids proven unique: our job against two aggregates over the whole table, inside one running session.

The table has 20 million rows in 200 files: as inserted, after an UPDATE of 200 rows with deletion
vectors, after a MERGE that updates 200,000 rows and inserts 100,000, after OPTIMIZE. Against
``count(distinct _metadata.row_id)``, as one would write it, and against bitmaps by bucket, which is
the quickest SQL. Prints seconds of each, median of interleaved runs, and the ratios to the first.
Ours is run once unmeasured before each of its runs: what reads everything before it empties the
caches. Beside it our time through the command line, from its start to its end, with the peak memory
of its two processes.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.process import forgo_pandas
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from benchmarks.row_tracking_tables import make_tables

_DISTINCT = "count(distinct)"
_COUNTED = "SELECT count(*), count(DISTINCT _metadata.row_id) FROM delta.`{}`"
_BITMAPS = (
    "SELECT sum(rows), sum(bitmap_count(bits)) FROM (SELECT count(1) AS rows, "
    "bitmap_construct_agg(bitmap_bit_position(id)) AS bits FROM (SELECT _metadata.row_id AS id FROM delta.`{}`) "
    "GROUP BY bitmap_bucket_number(id))"
)


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--files", type=int, default=200)
    arguments = parser.parse_args()
    forgo_pandas()
    session = SparkDeltaSession(own_session("benchmark", "local[2]"))

    def ours(table: Path) -> None:
        report = run(JobRequest((str(table),), CheckRowTrackingOptions()), session)
        if report.verdict is not Verdict.PASS:
            raise SystemExit(report.to_json())

    def query(text: str) -> Callable[[Path], None]:
        def unique(table: Path) -> None:
            ((rows, ids),) = session.sql(text.format(table))
            if rows != ids:
                raise SystemExit(f"{rows} rows have {ids} ids")

        return unique

    variants = {"ours": ours, _DISTINCT: query(_COUNTED), "bitmaps by bucket": query(_BITMAPS)}
    with tempfile.TemporaryDirectory() as folder:
        print(f"writing tables of {arguments.rows:,} rows in {arguments.files} files", file=sys.stderr)
        tables = make_tables(session.spark, Path(folder), arguments.rows, arguments.files)
        seconds: dict[tuple[str, str], list[float]] = {}
        for prove in variants.values():  # warms the session
            prove(tables["MERGE"])
        for _ in range(arguments.runs):
            for state, table in tables.items():
                ours(table)
                for variant, prove in variants.items():
                    started = time.monotonic()
                    prove(table)
                    seconds.setdefault((state, variant), []).append(time.monotonic() - started)
        session.spark.stop()
        ended = {state: _end_to_end(table) for state, table in tables.items()}
    for state in tables:
        slowest = statistics.median(seconds[state, _DISTINCT])
        print(state)
        for variant in variants:
            median = statistics.median(seconds[state, variant])
            each = ", ".join(f"{value:.2f}" for value in seconds[state, variant])
            print(f"  {variant:24}{median:8.2f} s   1/{slowest / median:.0f}   ({each})")
        wall, memory = ended[state]
        print(f"  {'ours, command line':24}{wall:8.2f} s   peak memory {memory}")


def _end_to_end(table: Path) -> tuple[float, str]:
    """Return the seconds that our command takes, and the peak memory of each of its two processes."""
    report = str(table.with_suffix(".json"))
    job = [sys.executable, "-m", "airflow_delta_provider", "check-row-tracking", "--level", "data", "--exit-zero"]
    command = [*job, "--master", "local[2]", "--table", str(table), "--report", report]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peaks: dict[str, int] = {}
    while process.poll() is None:
        for name, peak in _peaks(process.pid):
            peaks[name] = max(peak, peaks.get(name, 0))
        time.sleep(0.02)
    wall = time.monotonic() - started
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return wall, ", ".join(f"{name} {peak / 1024:.0f} MiB" for name, peak in sorted(peaks.items()))


def _peaks(root: int) -> list[tuple[str, int]]:
    """Return name and peak resident memory, in KiB, of a process and those below it, as Linux tells them."""
    parents: dict[int, Any] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:  # it has ended
            continue
        known = dict(re.findall(r"^(Name|PPid|VmHWM):\s*(\S+)", text, re.MULTILINE))
        parents[int(status.parent.name)] = known
    found, wanted = [], {root}
    for number, known in sorted(parents.items()):
        if number == root or int(known["PPid"]) in wanted:
            wanted.add(number)
            if "VmHWM" in known and known["Name"].startswith(("java", "python")):
                found.append((known["Name"], int(known["VmHWM"])))
    return found


if __name__ == "__main__":
    main()
