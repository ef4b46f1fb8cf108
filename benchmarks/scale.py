"""Audits of large tables, beside ``deltalake``, which only opens them: merges, and checkpoints of many files.

    python -m benchmarks.scale [FILES]

Tables are written here: 10,000 merges without and with row tracking, and checkpoints of FILES files (default 200,000),
in one file, in several parts, and with sidecar files, each followed by three commits. In turns, each in a process of
its own: the audit by all rules of the log, with the engine Python, and a script that opens the same table with
``deltalake``.

Prints medians of CPU time and of the largest resident memory, and their ratios. Then the HTML page of a report about
10,000 violated tables: its size, and where Chromium is installed the time until it is complete.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.rendering.page import render
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run as read_log
from benchmarks.protocol_logs import PlainLog, RowTrackedLog
from benchmarks.without_jvm import OPEN, Spent, medians, run
from tests.browser.chromium import PROGRAM, Chromium

RUNS = 3
TABLES = 10_000
MERGES = 10_000
#: Files in a row group of a checkpoint, and parts or sidecar files of one.
_GROUP, _PARTS = 50_000, 4
_MADE = 1_760_000_000_000
_AUDIT = ["-m", "airflow_delta_provider", "audit", "-q", "--no-config", "--engine", "python"]
_V2 = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["v2Checkpoint"],
    "writerFeatures": ["v2Checkpoint"],
}


class MergeLog(PlainLog):
    """Merges: after the first commit, each replaces two files by two others."""

    def actions(self, version: int, made: int) -> list[dict[str, Any]]:
        """Return a commit's actions."""
        info, *others = super().actions(version, made)
        if version:
            info["commitInfo"] |= {"operation": "MERGE", "operationParameters": {"predicate": '["(id = id)"]'}}
            info["commitInfo"] |= {"isBlindAppend": False, "operationMetrics": {"numTargetRowsUpdated": "10"}}
            info["commitInfo"] |= {"tags": {"delta.rowTracking.preserved": "true"}} if self.configuration else {}
        return [info, *others]

    def changes(self, version: int, made: int) -> list[dict[str, Any]]:
        """Return new files, and removes of the oldest ones."""
        changes = super().changes(version, made)
        others = [action for action in changes if "add" not in action]
        adds = [action["add"] for action in changes if "add" in action]
        if version == 0:
            self._live = adds
            return changes
        adds = adds[:2]
        old, self._live = self._live[:2], [*self._live[2:], *adds]
        return [*others, *({"add": add} for add in adds), *({"remove": self._removed(add, made)} for add in old)]

    @staticmethod
    def _removed(add: dict[str, Any], made: int) -> dict[str, Any]:
        kept = ("path", "partitionValues", "size", "stats", "baseRowId", "defaultRowCommitVersion")
        fields = {key: add[key] for key in kept if key in add}
        return {**fields, "deletionTimestamp": made, "dataChange": True, "extendedFileMetadata": True}


class RowTrackedMergeLog(MergeLog, RowTrackedLog):
    """The same with row tracking: the new files carry materialized row ids."""


def write_checkpointed(table: Path, files: int, form: str, made: PlainLog | None = None) -> None:
    """Write a table whose log begins at a checkpoint.

    :param files: number of live files
    :param form: ``classic``, ``multi-part`` or ``V2``
    :param made: makes the actions
    """
    log = table / "_delta_log"
    log.mkdir(parents=True)
    made = made or PlainLog(files)
    if form == "V2":
        made.protocol = _V2  # type: ignore[misc]  # of this log alone
    commits = [made.actions(version, _MADE + 1000 * version) for version in range(4)]
    for version, actions in enumerate(commits):
        text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
        if version:
            (log / f"{version:020d}.json").write_text(text)
    head = [action for action in commits[0] if "protocol" in action or "metaData" in action]
    adds = ({"add": {**made.add(0, number, _MADE), "dataChange": False}} for number in range(files))
    name = f"{0:020d}.checkpoint"
    if form == "classic":
        _write(log / f"{name}.parquet", head, adds)
        return
    parts = [islice(adds, files // _PARTS) for _ in range(_PARTS)]
    if form == "multi-part":
        for number, part in enumerate(parts, start=1):
            _write(log / f"{name}.{number:010d}.{_PARTS:010d}.parquet", head if number == 1 else [], part)
        return
    (log / "_sidecars").mkdir()
    sidecars = []
    for part in parts:
        path = log / "_sidecars" / f"{made.uuid()}.parquet"
        _write(path, [], part)
        body = {"path": path.name, "sizeInBytes": path.stat().st_size, "modificationTime": _MADE}
        sidecars.append({"sidecar": body})
    text = "".join(json.dumps(a) + "\n" for a in [{"checkpointMetadata": {"version": 0}}, *head, *sidecars])
    (log / f"{name}.{made.uuid()}.json").write_text(text)


def _write(path: Path, head: list[dict[str, Any]], adds: Iterator[dict[str, Any]]) -> None:
    """Write a Parquet file of a checkpoint, as Delta Spark does."""
    import pyarrow as pa
    from pyarrow import parquet

    texts = pa.map_(pa.string(), pa.string())
    whole = {name: pa.int64() for name in ("size", "modificationTime", "baseRowId", "defaultRowCommitVersion")}
    add = {
        "path": pa.string(),
        "partitionValues": texts,
        **whole,
        "dataChange": pa.bool_(),
        "tags": texts,
        "stats": pa.string(),
    }
    metadata = {
        **dict.fromkeys(("id", "name", "description", "schemaString"), pa.string()),
        "format": pa.struct({"provider": pa.string(), "options": texts}.items()),
        "partitionColumns": pa.list_(pa.string()),
        "configuration": texts,
        "createdTime": pa.int64(),
    }
    protocol = {"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}
    protocol |= dict.fromkeys(("readerFeatures", "writerFeatures"), pa.list_(pa.string()))
    types = {"add": add, **({"metaData": metadata, "protocol": protocol} if head else {})}
    schema = pa.schema([(kind, pa.struct(fields.items())) for kind, fields in types.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        rows = [*head, *islice(adds, _GROUP)]
        while rows:
            writer.write_table(pa.Table.from_pylist([_pairs(row) for row in rows], schema))
            rows = list(islice(adds, _GROUP))


def _pairs(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its maps as PyArrow takes them."""
    (kind, body), *_ = row.items()
    body = {
        key: list(value.items()) if isinstance(value, dict) and key != "format" else value
        for key, value in body.items()
    }
    if kind == "metaData":
        body["format"] = {**body["format"], "options": list(body["format"]["options"].items())}
    return {kind: body}


FORMS = ("classic", "multi-part", "V2")


def tables(files: int) -> dict[str, Callable[[Path], None]]:
    """Return the tables by name, with functions that write them."""
    return {
        f"{MERGES} merges": MergeLog(MERGES).write,
        f"{MERGES} merges, row tracking": RowTrackedMergeLog(MERGES).write,
        **{f"{files} files, {form}": partial(write_checkpointed, files=files, form=form) for form in FORMS},
    }


def main(files: int) -> None:
    """Measure everything, and print it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "compiled"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        print(f"{'':34} {'audit':>18} {'deltalake':>18} {'CPU':>8} {'memory':>8}   medians of {RUNS} processes")
        for number, name in enumerate(tables(files)):
            table = Path(folder, f"t{number}")
            # In another process: the memory of this one would count as that of the processes that it starts.
            run(["-m", "benchmarks.scale", str(files), name, str(table)])
            ours, theirs = contest(table)
            print(
                f"{name:34} {ours.cpu:6.2f} s {ours.memory:6.0f} MB {theirs.cpu:6.2f} s {theirs.memory:6.0f} MB "
                f"{ours.cpu / theirs.cpu:8.2f} {ours.memory / theirs.memory:8.2f}",
                flush=True,
            )
        _page(Path(folder))


def _page(folder: Path) -> None:
    """Render a report about many violated tables, and open it."""
    log = RowTrackedLog(2)
    log.write(folder / "violated")
    path = folder / "violated" / "_delta_log" / f"{1:020d}.json"
    path.write_text(path.read_text().replace('"baseRowId"', '"noRowId"'))
    report = read_log(JobRequest((str(folder / "violated"),), AuditOptions()), python_session())
    (table,) = report.tables
    tables = tuple(replace(table, table=f"/lake/schema_{n // 100}/table_{n}") for n in range(TABLES))
    started = time.monotonic()
    page = render(replace(report, tables=tables))
    print(f"page of {TABLES} tables: {len(page) / 1e6:.0f} MB, rendered in {time.monotonic() - started:.1f} s", end="")
    (folder / "page.html").write_text(page, encoding="utf-8")
    if PROGRAM is None:
        print()
        return
    spent = []
    with Chromium(folder / "profile") as browser:
        for _ in range(RUNS):
            browser.go(f"file://{folder}/page.html")
            spent.append(browser.value("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000)
            elements = browser.value("document.querySelectorAll('*').length")
            browser.go("about:blank")
    print(f", {elements} elements, complete in Chromium after {statistics.median(spent):.2f} s")


def contest(table: Path) -> tuple[Spent, Spent]:
    """Return the medians of the audit, and of opening the table with ``deltalake``."""
    log = table / "_delta_log"
    since = [] if (log / f"{0:020d}.json").exists() else ["--since-version", "0"]  # the rest was cleaned up
    contenders = {"audit": [*_AUDIT, *since, str(table)], "deltalake": ["-c", OPEN, str(table)]}
    run(contenders["audit"])  # which compiles the package
    middles = medians(contenders, RUNS)
    return middles["audit"], middles["deltalake"]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        tables(int(sys.argv[1]))[sys.argv[2]](Path(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
