"""What it costs a triggerer to watch tables for events, against a task that pokes through spark-submit.

    python -m benchmarks.watch_many_tables [COMMITS [TABLES [SECONDS]]]

Two things, on local disk, without Spark:

- a poll of one unchanged table of COMMITS commits (default 100,000), as an event trigger and as a sensor make it:
  in the thread that reads, and with all that a triggerer does around it;
- TABLES tables (default 1,000), each watched by an event trigger of its own that polls every 60 seconds, through the
  manager of shared streams that a triggerer runs, for SECONDS (default 120): share of a core, CPU time per minute,
  memory that the triggers add, and by how much the event loop was late.

Prints CPU seconds of the process, which other work on the machine disturbs less than time. For comparison: a poke by
SparkSubmitOperator starts a driver each time, 15 to 50 CPU seconds for two SQL commands (Spark 4.2, same machine as
docs/benchmarks.md).
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-home-"))
os.environ.setdefault("AIRFLOW__LOGGING__LOGGING_LEVEL", "WARNING")

from airflow.triggers.shared_stream import SharedStreamManager

from airflow_delta_provider.triggers.table_event import DeltaTableEventTrigger
from airflow_delta_provider.triggers.table_poll import ticks
from airflow_delta_provider.watch.head_reader import HeadReader, ObjectStorageLog
from airflow_delta_provider.watch.log_follower import LogFollower

INTERVAL = 60.0
POLLS = 500


def main(commits: int, tables: int, seconds: float) -> None:
    """Measure both, and print it."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "long")
        _write_table(table, commits)
        print(f"A poll of an unchanged table of {commits:,} commits, CPU milliseconds:")
        for name, reader in (("event trigger", LogFollower), ("sensor", HeadReader)):
            read = reader(ObjectStorageLog(str(table))).read
            read()
            print(f"  {name + ', reading alone':34} {1000 * _median(read):7.3f}")
        print(f"  {'event trigger, with its thread':34} {1000 * asyncio.run(_polls(str(table))):7.3f}")
        watched = [Path(folder, f"table-{number}") for number in range(tables)]
        for one in watched:
            _write_table(one, 3)
        asyncio.run(_watch(watched, seconds))


def _median(function: Any) -> float:
    taken = []
    for _ in range(POLLS):
        began = time.process_time()
        function()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


async def _polls(table: str) -> float:
    """Return what a poll takes of all that the process does meanwhile."""
    polls = ticks(table, None, 0.0)
    await anext(polls)
    began = time.process_time()
    for _ in range(POLLS):
        await anext(polls)
    return (time.process_time() - began) / POLLS


async def _watch(tables: list[Path], seconds: float) -> None:
    manager, memory = SharedStreamManager(), _memory()
    triggers = [DeltaTableEventTrigger(str(table), "schema", poke_interval=INTERVAL) for table in tables]
    running = [asyncio.create_task(_run(manager, number, trigger)) for number, trigger in enumerate(triggers)]
    await asyncio.sleep(INTERVAL + 5)  # the first polls, which list the logs
    late: list[float] = []
    clock = asyncio.create_task(_clock(late))
    began, used = time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    took, used = time.monotonic() - began, time.process_time() - used
    print(f"{len(tables):,} tables, a poll each {INTERVAL:g} s: {used / took:.1%} of a core, ", end="")
    print(f"{60 * used / took:.2f} s of CPU a minute, {_memory():.0f} MB, {memory:.0f} MB of it without them, ", end="")
    print(f"event loop late by {max(late):.3f} s at most")
    for task in (clock, *running):
        task.cancel()
    await asyncio.gather(clock, *running, return_exceptions=True)
    await manager.stop_all()


def _memory() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def _run(manager: SharedStreamManager, number: int, trigger: DeltaTableEventTrigger) -> None:
    stream = manager.subscribe(trigger_id=number, trigger=trigger, key=trigger.shared_stream_key())
    async for event in trigger.filter_shared_stream(stream):
        raise AssertionError(event)


async def _clock(late: list[float]) -> None:
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.1)
        late.append(time.monotonic() - began - 0.1)


def _write_table(table: Path, commits: int) -> None:
    log = table / "_delta_log"
    log.mkdir(parents=True)
    schema = json.dumps({"type": "struct", "fields": []})
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    metadata = {"id": table.name, "format": {"provider": "parquet", "options": {}}, "schemaString": schema}
    metadata |= {"partitionColumns": [], "configuration": {}}
    info = {"timestamp": 1_700_000_000_000, "operation": "WRITE"}
    later = "\n".join(map(json.dumps, [{"commitInfo": info}, {"add": {"path": "f", "size": 1, "dataChange": True}}]))
    first = "\n".join(map(json.dumps, [{"commitInfo": info}, {"protocol": protocol}, {"metaData": metadata}]))
    checksum = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    for version in range(commits):
        (log / f"{version:020d}.json").write_text(later if version else first)
    newest = json.dumps(checksum | {"protocol": protocol, "metadata": metadata})
    (log / f"{commits - 1:020d}.crc").write_text(newest)


if __name__ == "__main__":
    given = [float(text) for text in sys.argv[1:]]
    main(*(int(number) for number in (given + [100_000, 1_000, 120][len(given) :])))
