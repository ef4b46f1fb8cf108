"""What sensors cost a triggerer that wait for features of a table with a long log.

    python -m benchmarks.watch_tables [COMMITS]

A log of COMMITS commits (default 20,000), each with its checksum, is written here. Triggers watch it in one event loop,
on local files and through a filesystem that answers every request after some time and lists 1,000 files a request, as
object storages do:

- the first poll, which lists the log;
- a poll of the unchanged table;
- 20 triggers that poll every 10 seconds, for half a minute: share of a core, and by how much the event loop was late.

Prints CPU seconds of the process, which other work on the machine disturbs less than time.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-home-"))
os.environ.setdefault("AIRFLOW__LOGGING__LOGGING_LEVEL", "WARNING")

from airflow.sdk.io import attach
from fsspec.implementations.local import LocalFileSystem

from airflow_delta_provider.triggers.feature import DeltaFeatureTrigger
from airflow_delta_provider.watch.head_reader import HeadReader, ObjectStorageLog

LATENCY = 0.03
PAGE = 1_000
SENSORS, INTERVAL, SECONDS = 20, 10.0, 30.0


class DistantFileSystem(LocalFileSystem):
    """Local files that are as far away as those of an object storage."""

    cachable = False
    protocol = "memory"  # the scheme it is attached to

    def ls(self, path: str, detail: bool = False, **kwargs: Any) -> Any:
        found = super().ls(path, detail=True, **kwargs)
        time.sleep(LATENCY * max(1, -(-len(found) // PAGE)))
        return found if detail else [entry["name"] for entry in found]

    def info(self, path: Any, **kwargs: Any) -> Any:
        if isinstance(path, str):  # else an entry of the listing
            time.sleep(LATENCY)
        return super().info(path, **kwargs)

    def cat_file(self, path: str, *args: Any, **kwargs: Any) -> Any:
        time.sleep(LATENCY)
        return super().cat_file(path, *args, **kwargs)


def main(commits: int) -> None:
    """Measure local files, then distant ones, and print it."""
    with tempfile.TemporaryDirectory() as folder:
        _write_log(Path(folder, "_delta_log"), commits)
        attach("memory", conn_id=None, fs=DistantFileSystem())
        print(f"A log of {commits:,} commits; CPU seconds")
        for name, table in (("local files", folder), (f"{LATENCY * 1000:g} ms a request", f"memory://{folder}")):
            print(f"{name}:")
            _looks(table)
            asyncio.run(_wait_together(table))


def _looks(table: str) -> None:
    ObjectStorageLog(table).stamp("")  # imports
    first = [_cpu(HeadReader(ObjectStorageLog(table)).read) for _ in range(5)]
    reader = HeadReader(ObjectStorageLog(table))
    reader.read()
    polls = [_cpu(reader.read) for _ in range(50)]
    print(f"  first poll {statistics.median(first):8.4f}   poll {statistics.median(polls):8.5f}")


async def _wait_together(table: str) -> None:
    late: list[float] = []
    clock = asyncio.create_task(_clock(late))
    began, used = time.monotonic(), time.process_time()
    deadline = time.time() + SECONDS
    wanted: dict[str, Any] = {"features": ["typeWidening"], "state": "enabled", "poke_interval": INTERVAL}
    triggers = [DeltaFeatureTrigger(table=table, deadline=deadline, **wanted) for _ in range(SENSORS)]
    await asyncio.gather(*map(_end, triggers))
    took, used = time.monotonic() - began, time.process_time() - used
    clock.cancel()
    print(f"  {SENSORS} sensors, a poll each {INTERVAL:g} s: {used / took:.1%} of a core, event loop late by ", end="")
    print(f"{max(late):.3f} s at most")


async def _end(trigger: DeltaFeatureTrigger) -> None:
    async for _ in trigger.run():
        pass


async def _clock(late: list[float]) -> None:
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.02)
        late.append(time.monotonic() - began - 0.02)


def _cpu(function: Callable[[], Any]) -> float:
    began = time.process_time()
    function()
    return time.process_time() - began


def _write_log(log: Path, commits: int) -> None:
    log.mkdir()
    schema = json.dumps({"type": "struct", "fields": []})
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    metadata = {"id": "a", "format": {"provider": "parquet", "options": {}}, "schemaString": schema}
    metadata |= {"partitionColumns": [], "configuration": {}}
    counts = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    checksum = json.dumps(counts | {"protocol": protocol, "metadata": metadata})
    first = "\n".join(map(json.dumps, [{"protocol": protocol}, {"metaData": metadata}]))
    later = json.dumps({"add": {"path": "f.parquet", "size": 1, "dataChange": True}})
    for version in range(commits):
        (log / f"{version:020d}.json").write_text(later if version else first)
        (log / f"{version:020d}.crc").write_text(checksum)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
