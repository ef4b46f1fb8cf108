"""The audit at level footers, which compares statistics of files, against PyArrow's reading of the same footers.

    python -m benchmarks.file_statistics [FILES COLUMNS]

Tables are written here (default: 4,000 files of 10 columns, then 1,000 of 50), ten files per commit, with integers,
doubles and strings. Each file is a copy of one of eight, so that bounds differ. In turns: the audit of the log alone,
the audit at level footers, and ``pyarrow.parquet.read_metadata`` of every file. Prints medians of CPU seconds.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.process import collect_seldom
from airflow_delta_provider.jobs.run.runner import run

RUNS = 7
#: Bytes whose allocation makes the C library merge what was freed, so that nobody pays for the one before.
_LARGE = 1 << 16
SIZES = ((4000, 10), (1000, 50))
ROWS, KINDS, FILES_PER_COMMIT = 20, 8, 10
TYPES = ("long", "double", "string", "integer")
ARROW = {"long": pa.int64(), "double": pa.float64(), "string": pa.string(), "integer": pa.int32()}


def main(files: int, columns: int) -> None:
    """Measure one size, and print it."""
    with tempfile.TemporaryDirectory() as folder:
        names = write_table(Path(folder), files, columns)
        contenders: dict[str, Callable[[], Any]] = {
            "audit, level log": lambda: _audit(folder, "log"),
            "audit, level footers": lambda: _audit(folder, "footers"),
            "PyArrow, read_metadata": lambda: [pq.read_metadata(name) for name in names],
        }
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(RUNS):
            for name, contender in contenders.items():
                begun = time.process_time()
                contender()
                bytearray(_LARGE)
                seconds[name].append(time.process_time() - begun)
        print(f"{files} files of {columns} columns, {RUNS} runs each, medians of CPU time")
        theirs = statistics.median(seconds["PyArrow, read_metadata"])
        for name, measured in seconds.items():
            middle = statistics.median(measured)
            print(f"  {name:24} {middle:8.2f} s   this / PyArrow {middle / theirs:6.2f}")


def _audit(path: str, level: str) -> None:
    (report,) = run(JobRequest((path,), AuditOptions(level=level)), python_session()).tables
    assert report.verdict is Verdict.PASS, report.findings


def write_table(folder: Path, files: int, columns: int) -> list[Path]:
    """Write a table, and return the names of its files."""
    contents = [_file(folder / "new", columns, kind) for kind in range(KINDS)]
    types = {f"column_{n}": TYPES[n % len(TYPES)] for n in range(columns)}
    fields = [{"name": name, "type": of, "nullable": True, "metadata": {}} for name, of in types.items()]
    metadata = {
        "id": "00000000-0000-0000-0000-000000000001",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1_790_000_000_000,
    }
    (folder / "_delta_log").mkdir()
    names = [folder / f"part-{n:05}.parquet" for n in range(files)]
    for version in range(files // FILES_PER_COMMIT):
        info = {"operation": "WRITE", "operationParameters": {"mode": "Append", "partitionBy": "[]"}}
        actions: list[dict[str, Any]] = [{"commitInfo": {"timestamp": 1_790_000_000_000 + version, **info}}]
        if not version:
            actions += [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
        for number in range(version * FILES_PER_COMMIT, (version + 1) * FILES_PER_COMMIT):
            content, stats = contents[number % KINDS]
            names[number].write_bytes(content)
            add = {"path": names[number].name, "partitionValues": {}, "size": len(content), "dataChange": True}
            actions.append({"add": {**add, "modificationTime": 1_790_000_000_000, "stats": stats}})
        lines = "".join(f"{json.dumps(action)}\n" for action in actions)
        (folder / "_delta_log" / f"{version:020}.json").write_text(lines)
    return names


def _file(path: Path, columns: int, kind: int) -> tuple[bytes, str]:
    """Return the content of a file, and its statistics as Delta Spark writes them."""
    values: dict[str, list[Any]] = {}
    for number in range(columns):
        of = TYPES[number % len(TYPES)]
        numbers = [kind * 1000 + number + row for row in range(ROWS)]
        if of == "string":
            values[f"column_{number}"] = sorted("v" * (1 + n % 7) + str(n) for n in numbers)
        else:
            values[f"column_{number}"] = [n / 8 for n in numbers] if of == "double" else list(numbers)
    types = [(name, ARROW[TYPES[n % len(TYPES)]]) for n, name in enumerate(values)]
    pq.write_table(pa.table(values, schema=pa.schema(types)), path)
    content = path.read_bytes()
    path.unlink()
    stats = {
        "numRecords": ROWS,
        "minValues": {name: column[0] for name, column in values.items()},
        "maxValues": {name: column[-1] for name, column in values.items()},
        "nullCount": dict.fromkeys(values, 0),
    }
    return content, json.dumps(stats)


if __name__ == "__main__":
    collect_seldom()  # as every job does
    for size in [(int(sys.argv[1]), int(sys.argv[2]))] if len(sys.argv) > 2 else SIZES:
        main(*size)
