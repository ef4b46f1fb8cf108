"""Planning migrations of many tables of which none needs a change, and looking for drift, without Spark.

Each table has twenty columns and twenty commits. Prints milliseconds a table, wall and CPU, from the start of the
process to its exit, reading the file of specs included: median of several runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_COLUMNS, _COMMITS = 20, 20


def make_table(path: Path, number: int) -> dict[str, Any]:
    """Write a table, and return its spec."""
    log = path / "_delta_log"
    log.mkdir(parents=True)
    fields = [
        {"name": f"c{n}", "type": "long", "nullable": True, "metadata": {"comment": f"column {n}"}}
        for n in range(_COLUMNS)
    ]
    metadata = {
        "id": f"table-{number}",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1,
    }
    first = ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata})
    (log / f"{0:020d}.json").write_text("\n".join(map(json.dumps, first)))
    for version in range(1, _COMMITS):
        add = {
            "path": f"{version}.parquet",
            "partitionValues": {},
            "size": 1,
            "modificationTime": 1,
            "dataChange": True,
        }
        (log / f"{version:020d}.json").write_text(json.dumps({"add": add}))
    columns = [{"name": f"c{n}", "type": "bigint", "comment": f"column {n}"} for n in range(_COLUMNS)]
    return {"table": str(path), "columns": columns}


def measure(kind: str, specs: Path) -> tuple[float, float]:
    """Return the seconds of one run: wall and CPU."""
    command = [sys.executable, "-m", "airflow_delta_provider", kind, "--spec", str(specs), "--no-config", "-q"]
    began, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, cpu


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        specs = Path(folder) / "specs.json"
        tables = [make_table(Path(folder) / f"t{n}", n) for n in range(given.tables)]
        specs.write_text(json.dumps({"tables": tables}))
        for kind in ("plan-migration", "check-drift"):
            runs = [measure(kind, specs) for _ in range(given.runs)]
            wall, cpu = (statistics.median(each) * 1000 / given.tables for each in zip(*runs))
            print(f"{kind}: {wall:.1f} ms a table, {cpu:.1f} ms of CPU ({given.tables} tables)")


if __name__ == "__main__":
    main()
