"""A Paimon table of many commits, as far as its metadata goes: re-encoded from a table that Paimon wrote."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import fastavro

from tests.tables.avro_files import avro_file
from tests.tables.paimon.archive import table_of, unpack

#: So many manifests Paimon merges into one (manifest.merge-min-count).
_MERGED = 30
_ROWS = 1000


def make_history(folder: Path, snapshots: int, files: int) -> tuple[Path, list[Path]]:
    """Write a table; return its directory and the manifests of what its commits did.

    :param files: that each commit adds; every fifth commit rewrites as many of those before
    """
    writer = _Writer(table_of(unpack(folder / "archive"), "worked/05_delete"), folder / "table")
    for snapshot_id in range(1, snapshots + 1):
        writer.commit(snapshot_id, files, rewrite=snapshot_id % 5 == 0)
    return writer.root, writer.deltas


class _Writer:
    def __init__(self, source: Path, root: Path) -> None:
        self.root = root
        self.deltas: list[Path] = []
        for directory in ("manifest", "snapshot", "schema"):
            (root / directory).mkdir(parents=True)
        (root / "schema/schema-0").write_bytes((source / "schema/schema-0").read_bytes())
        self._snapshot = json.loads((source / "snapshot/snapshot-2").read_text())
        name = self._snapshot["deltaManifestList"]
        self._list_schema, [self._listed] = _read(source / "manifest" / name)
        self._entry_schema, entries = _read(source / "manifest" / self._listed["_FILE_NAME"])
        self._entry = next(entry for entry in entries if entry["_KIND"] == 0)
        self._live: dict[str, Any] = {}
        self._base: list[Any] = []
        self._next = self._total = 0

    def commit(self, snapshot_id: int, files: int, *, rewrite: bool) -> None:
        if len(self._base) >= _MERGED:
            self._base = [self._manifest(list(self._live.values()))]
        old = list(self._live.values())[-files:] if rewrite else []
        entries = [{**entry, "_KIND": 1} for entry in old]
        entries += [self._added(snapshot_id, rewritten=bool(old)) for _ in range(files)]
        for entry in entries:
            name = entry["_FILE"]["_FILE_NAME"]
            if entry["_KIND"]:
                del self._live[name]
            else:
                self._live[name] = entry
        base = self._write("manifest-list", avro_file(self._list_schema, self._base, "zstandard"))
        added = self._manifest(entries)
        delta = self._write("manifest-list", avro_file(self._list_schema, [added], "zstandard"))
        self.deltas.append(self.root / "manifest" / added["_FILE_NAME"])
        self._base = [*self._base, added]
        self._total += 0 if old else files * _ROWS
        body = {
            **self._snapshot,
            "id": snapshot_id,
            "uuid": str(uuid.uuid4()),
            "baseManifestList": base.name,
            "baseManifestListSize": base.stat().st_size,
            "deltaManifestList": delta.name,
            "deltaManifestListSize": delta.stat().st_size,
            "commitKind": "OVERWRITE" if old else "APPEND",
            "operation": "UPDATE" if old else "WRITE",
            "totalRecordCount": self._total,
            "nextRowId": self._next,
        }
        (self.root / f"snapshot/snapshot-{snapshot_id}").write_text(json.dumps(body, indent=2))

    def _added(self, snapshot_id: int, *, rewritten: bool) -> dict[str, Any]:
        file = {
            **self._entry["_FILE"],
            "_FILE_NAME": f"data-{uuid.uuid4()}-0.parquet",
            "_ROW_COUNT": _ROWS,
            "_MIN_SEQUENCE_NUMBER": snapshot_id,
            "_MAX_SEQUENCE_NUMBER": snapshot_id,
        }
        if not rewritten:
            file |= {"_FIRST_ROW_ID": self._next, "_WRITE_COLS": None}
            self._next += _ROWS
        return {**self._entry, "_FILE": file}

    def _manifest(self, entries: list[Any]) -> dict[str, Any]:
        path = self._write("manifest", avro_file(self._entry_schema, entries, "zstandard"))
        return {**self._listed, "_FILE_NAME": path.name, "_FILE_SIZE": path.stat().st_size}

    def _write(self, kind: str, content: bytes) -> Path:
        path = self.root / "manifest" / f"{kind}-{uuid.uuid4()}-0"
        path.write_bytes(content)
        return path


def _read(path: Path) -> tuple[Any, list[Any]]:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        return reader.writer_schema, list(reader)
