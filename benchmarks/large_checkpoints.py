"""Audits of tables with millions of files: by Spark's tasks with a small driver, and by the engine Python.

    python -m benchmarks.large_checkpoints [FILES] [RUNS]

A table is written here: a checkpoint of FILES files (default 1,000,000) with statistics and row ids, as four Parquet
files, three commits, and a checkpoint of the last of them. In turns, each in a process of its own: the audit with
engine Spark on two cores with a driver of 1 GB, and the audit with engine Python, which is left out above 2,000,000
files. Prints medians of time, of CPU time, and of the largest resident memory: of Python, and of the JVM.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from benchmarks.protocol_logs import RowTrackedLog

_MOST_PYTHON = 2_000_000
_PARTS, _GROUP, _COMMITS, _ROWS = 4, 50_000, 3, 1000
_MADE = 1_760_000_000_000
_AUDIT = ["-m", "airflow_delta_provider", "audit", "-q", "--no-config", "--since-version", "0"]
ENGINES: dict[str, Sequence[str]] = {
    "spark": ("--engine", "spark", "--master", "local[2]", "--conf", "spark.driver.memory=1g"),
    "python": ("--engine", "python"),
}


class Taken(NamedTuple):
    """The resources that an audit took.

    :param wall: seconds
    :param cpu: seconds of both processes
    :param python: largest resident memory of Python in MB
    :param jvm: the same of the JVM; 0 without one
    """

    wall: float
    cpu: float
    python: float
    jvm: float


def write(table: Path, files: int, *, overlap: bool = False) -> None:
    """Write a table whose log begins at a checkpoint and has another one.

    :param overlap: True if each file shares half of its row ids with the next one
    """
    log = table / "_delta_log"
    log.mkdir(parents=True)
    made = RowTrackedLog(files)
    first = made.actions(0, _MADE)
    head = [action for action in first if "protocol" in action or "metaData" in action]
    mark = {"domain": "delta.rowTracking", "removed": False}
    commits: list[list[dict[str, Any]]] = []
    for version in range(1, _COMMITS + 1):
        base = (files + version - 1) * _ROWS
        add = {**made.add(version, 0, _MADE), "baseRowId": base, "defaultRowCommitVersion": version}
        add["stats"] = json.dumps({"numRecords": _ROWS})
        info = next(action for action in made.actions(version, _MADE + version) if "commitInfo" in action)
        domain = {**mark, "configuration": json.dumps({"rowIdHighWaterMark": base + _ROWS - 1})}
        commits.append([info, {"add": add}, {"domainMetadata": domain}])
        text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in commits[-1])
        (log / f"{version:020d}.json").write_text(text)
    begun = {"domainMetadata": {**mark, "configuration": json.dumps({"rowIdHighWaterMark": files * _ROWS - 1})}}
    _write(log, 0, [*head, begun], [], files, _ROWS // 2 if overlap else _ROWS)
    last = next(action for action in commits[-1] if "domainMetadata" in action)
    adds = [a for actions in commits for a in actions if "add" in a]
    _write(log, _COMMITS, [*head, last], adds, files, _ROWS // 2 if overlap else _ROWS)


def _write(
    log: Path, version: int, head: list[dict[str, Any]], adds: list[dict[str, Any]], files: int, step: int
) -> None:
    """Write a checkpoint of several files.

    :param adds: actions besides those of the first version
    :param step: row ids from the first of a file to the first of the next one
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    texts = pa.map_(pa.string(), pa.string())
    add_type = pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", texts),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("stats", pa.string()),
            ("baseRowId", pa.int64()),
            ("defaultRowCommitVersion", pa.int64()),
        ]
    )
    strings = pa.list_(pa.string())
    head_types: dict[str, list[tuple[str, Any]]] = {
        "protocol": [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", strings),
            ("writerFeatures", strings),
        ],
        "metaData": [
            *((name, pa.string()) for name in ("id", "name", "description", "schemaString")),
            ("format", pa.struct([("provider", pa.string()), ("options", texts)])),
            ("partitionColumns", strings),
            ("configuration", texts),
            ("createdTime", pa.int64()),
        ],
        "domainMetadata": [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())],
    }
    others = pa.Table.from_pylist(
        [_pairs(action) for action in head],
        pa.schema([(kind, pa.struct(fields)) for kind, fields in head_types.items()]),
    )
    for part in range(_PARTS):
        numbers = range(part, files, _PARTS)
        name = log / f"{version:020d}.checkpoint.{part + 1:010d}.{_PARTS:010d}.parquet"
        tables = [others] if part == 0 else []
        schema = pa.schema([*(others.schema if part == 0 else ()), pa.field("add", add_type)])
        if part == 0 and adds:
            rows = [_pairs({"add": {**a["add"], "dataChange": False}})["add"] for a in adds]
            tables.append(pa.table({"add": pa.array(rows, add_type)}))
        with parquet.ParquetWriter(name, schema) as writer:
            for table in tables:
                columns = {
                    f.name: table[f.name] if f.name in table.column_names else pa.nulls(len(table), f.type)
                    for f in schema
                }
                writer.write_table(pa.table(columns, schema=schema))
            for start in range(0, len(numbers), _GROUP):
                some = pa.array(numbers[start : start + _GROUP], pa.int64())
                count, text = len(some), some.cast(pa.string())
                names = pc.binary_join_element_wise("part-", text, "-c000.snappy.parquet", "")
                stats = pc.binary_join_element_wise(
                    '{"numRecords":1000,"minValues":{"id":', text, '},"nullCount":{"id":0}}', ""
                )
                empty = pa.MapArray.from_arrays(
                    pa.array([0] * (count + 1), pa.int32()), pa.array([], pa.string()), pa.array([], pa.string())
                )
                fields = [
                    names,
                    empty,
                    pc.add(pc.multiply(some, 7), 100_000),
                    pa.array([_MADE] * count, pa.int64()),
                    pa.array([False] * count),
                    stats,
                    pc.multiply(some, step),
                    pa.array([0] * count, pa.int64()),
                ]
                column = pa.StructArray.from_arrays(fields, fields=list(add_type))
                nulls = {field.name: pa.nulls(count, field.type) for field in schema if field.name != "add"}
                writer.write_table(pa.table({**nulls, "add": column}, schema=schema))


def _pairs(body: Any) -> Any:
    """Return a value with its maps as PyArrow takes them."""
    if not isinstance(body, dict):
        return body
    maps = ("partitionValues", "configuration", "options")
    return {
        key: list(value.items()) if key in maps and isinstance(value, dict) else _pairs(value)
        for key, value in body.items()
        if key != "tags"
    }


def audit(table: Path, engine: str) -> Taken:
    """Audit a table in a process of its own.

    :raises RuntimeError: if it finds anything that it should not
    """
    started, done = time.monotonic(), Event()
    process = subprocess.Popen(
        [sys.executable, *_AUDIT, *ENGINES[engine], str(table)], stdout=subprocess.PIPE, text=True
    )
    seen: dict[int, tuple[bool, float, float]] = {}

    def watch() -> None:
        while not done.wait(0.2):
            for pid in (process.pid, *_children(process.pid)):
                if (used := _used(pid)) is not None:
                    is_jvm, cpu, memory = used
                    _, _, most = seen.get(pid, used)
                    seen[pid] = is_jvm, cpu, max(memory, most)  # a process that ends has no memory any more

    watcher = Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    done.set()
    watcher.join()
    if process.returncode:
        raise RuntimeError(output)
    return Taken(
        time.monotonic() - started,
        sum(cpu for _, cpu, _ in seen.values()),
        max(memory for is_jvm, _, memory in seen.values() if not is_jvm),
        max((memory for is_jvm, _, memory in seen.values() if is_jvm), default=0),
    )


def _children(pid: int) -> list[int]:
    try:
        found = [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [*found, *(below for child in found for below in _children(child))]


def _used(pid: int) -> tuple[bool, float, float] | None:
    """Return whether a process is a JVM, its CPU time in seconds, and its largest resident memory in MB."""
    try:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    memory = status.get("VmHWM", "0").split()[0]
    return status["Name"].strip() == "java", (int(fields[11]) + int(fields[12])) / 100, int(memory) / 1024


def main(files: int, runs: int) -> None:
    """Measure everything, and print it."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "t")
        subprocess.run(
            [sys.executable, "-m", "benchmarks.large_checkpoints", "--write", str(table), str(files)], check=True
        )
        size = sum(path.stat().st_size for path in (table / "_delta_log").iterdir())
        print(f"{files} files, a log of {size / 1e6:.0f} MB; medians of {runs} processes")
        for engine in ENGINES:
            if engine == "python" and files > _MOST_PYTHON:
                continue
            taken = [audit(table, engine) for _ in range(runs)]
            middle = Taken(*map(statistics.median, zip(*taken, strict=True)))
            print(
                f"{engine:8} {middle.wall:6.1f} s, CPU {middle.cpu:6.1f} s, Python {middle.python:6.0f} MB, "
                f"JVM {middle.jvm:6.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
