"""Changing the metadata of a table on disk, and mending the sizes that files above record of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro

from tests.tables.avro_files import avro_file

Records = list[dict[str, Any]]


class EditedTable:
    """A copy of a table, to be changed.

    :param source: the table
    :param root: where the copy is to be
    """

    def __init__(self, source: Path, root: Path) -> None:
        shutil.copytree(source, root)
        self.root = root

    def snapshot(self, snapshot_id: int, **changes: Any) -> None:
        """Change keys of a snapshot; None removes one."""
        self._change_json(f"snapshot/snapshot-{snapshot_id}", changes)

    def schema(self, schema_id: int, *, like: int | None = None, options: Any = None, **changes: Any) -> None:
        """Change a schema, or make one like another; ``options`` are changed, too, and None removes one."""
        path = self.root / "schema" / f"schema-{schema_id}"
        if like is not None:
            shutil.copy(path.with_name(f"schema-{like}"), path)
        body = json.loads(path.read_text())
        merged = {**body["options"], **(options or {})}
        changes["options"] = {key: value for key, value in merged.items() if value is not None}
        self._change_json(f"schema/schema-{schema_id}", {"id": schema_id, **changes})

    def entries(self, snapshot_id: int, change: Callable[[Records], Records | None]) -> None:
        """Change what a commit added and deleted, its manifests being one, and mend all sizes."""
        for record in self.listed(snapshot_id, "delta"):
            self._change_avro(record["_FILE_NAME"], change)
        self.mend()

    def listed(self, snapshot_id: int, which: str) -> Records:
        """Return what a snapshot's manifest list has, ``base`` or ``delta``."""
        return _records(self._manifest(self.list_name(snapshot_id, which)))[1]

    def list_name(self, snapshot_id: int, which: str) -> str:
        """Return the name of a snapshot's manifest list."""
        return str(self._body(snapshot_id)[f"{which}ManifestList"])

    def relist(self, snapshot_id: int, which: str, change: Callable[[Records], Records | None]) -> None:
        """Change which manifests a snapshot lists, and mend all sizes."""
        self._change_avro(self.list_name(snapshot_id, which), change)
        self.mend()

    def merge_base(self, snapshot_id: int, change: Callable[[Records], Records | None] = lambda _: None) -> None:
        """Merge the manifests of a snapshot's base, and of those after it, into one, as Paimon does from time to time.

        :param change: what is changed of its entries
        """
        old = [record["_FILE_NAME"] for record in self.listed(snapshot_id, "base")]
        live: dict[str, dict[str, Any]] = {}
        for name in old:
            schema, records = _records(self._manifest(name))
            for record in records:
                if record["_KIND"] == 0:
                    live[record["_FILE"]["_FILE_NAME"]] = record
                else:
                    del live[record["_FILE"]["_FILE_NAME"]]
        entries = list(live.values())
        self._manifest("manifest-merged").write_bytes(avro_file(schema, _changed(entries, change)))

        def relisted(records: Records) -> Records:
            rest = [record for record in records if record["_FILE_NAME"] not in old]
            return [{**records[0], "_FILE_NAME": "manifest-merged"}, *rest]

        for later in self.snapshot_ids():
            if later >= snapshot_id:
                self._change_avro(self.list_name(later, "base"), relisted)
        self.mend()

    def expire(self, before: int) -> None:
        """Delete the snapshots before one, as Paimon does after a while."""
        for snapshot_id in self.snapshot_ids():
            if snapshot_id < before:
                (self.root / "snapshot" / f"snapshot-{snapshot_id}").unlink()

    def roll_back(self, to: int) -> None:
        """Delete the snapshots after one."""
        for snapshot_id in self.snapshot_ids():
            if snapshot_id > to:
                (self.root / "snapshot" / f"snapshot-{snapshot_id}").unlink()
        (self.root / "snapshot" / "LATEST").write_text(str(to))

    def snapshot_ids(self) -> list[int]:
        """Return the ids of the snapshots, in order."""
        return sorted(int(path.name[9:]) for path in (self.root / "snapshot").glob("snapshot-*"))

    def mend(self) -> None:
        """Record the sizes that files have."""

        def sizes(records: Records) -> Records:
            return [{**record, "_FILE_SIZE": self._size(record["_FILE_NAME"])} for record in records]

        for snapshot_id in self.snapshot_ids():
            for which in ("base", "delta"):
                name = self.list_name(snapshot_id, which)
                self._change_avro(name, sizes)
                self.snapshot(snapshot_id, **{f"{which}ManifestListSize": self._size(name)})

    def manifest(self, snapshot_id: int) -> Path:
        """Return the only manifest of what a commit did."""
        [record] = self.listed(snapshot_id, "delta")
        return self._manifest(record["_FILE_NAME"])

    def _manifest(self, name: str) -> Path:
        return self.root / "manifest" / name

    def _size(self, name: str) -> int:
        return self._manifest(name).stat().st_size

    def _body(self, snapshot_id: int) -> dict[str, Any]:
        body: dict[str, Any] = json.loads((self.root / "snapshot" / f"snapshot-{snapshot_id}").read_text())
        return body

    def _change_json(self, name: str, changes: dict[str, Any]) -> None:
        path = self.root / name
        body = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({key: value for key, value in body.items() if value is not None}))

    def _change_avro(self, name: str, change: Callable[[Records], Records | None]) -> None:
        path = self._manifest(name)
        schema, records = _records(path)
        path.write_bytes(avro_file(schema, _changed(records, change)))


def _changed(records: Records, change: Callable[[Records], Records | None]) -> Records:
    changed = change(records)
    return records if changed is None else changed


def _records(path: Path) -> tuple[Any, Records]:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        return reader.writer_schema, [dict(record) for record in reader]  # type: ignore[arg-type]
