"""Changing a table on disk, and mending the sizes that files above record: manifests by fastavro, rows by PyArrow."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import fastavro
import pyarrow
import pyarrow.parquet as parquet

from tests.tables.avro_files import avro_file

Records = list[dict[str, Any]]
#: Changes records in place, or returns others.
Change = Callable[[Records], Records | None]


class EditedTable:
    """A copy of a table, to be changed. Data files are called by the beginning of their names, without ``data-``.

    :param source: the table
    :param root: where the copy is to be
    """

    def __init__(self, source: Path, root: Path) -> None:
        shutil.copytree(source, root)
        self.root = root

    # Snapshots and schemas.

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

    def expire(self, before: int) -> None:
        """Delete the snapshots before one, as Paimon does after a while."""
        for snapshot_id in self.snapshot_ids():
            if snapshot_id < before:
                self._snapshot_path(snapshot_id).unlink()

    def roll_back(self, to: int, keep: Path | None = None) -> None:
        """Delete the snapshots after one, or move them to ``keep``, from which :meth:`bring_back` brings them."""
        for snapshot_id in self.snapshot_ids():
            if snapshot_id > to:
                path = self._snapshot_path(snapshot_id)
                if keep is None:
                    path.unlink()
                else:
                    keep.mkdir(exist_ok=True)
                    shutil.move(path, keep / path.name)
        self._hint()

    def bring_back(self, keep: Path) -> None:
        """Bring snapshots back."""
        for path in list(keep.iterdir()):
            shutil.move(path, self.root / "snapshot" / path.name)
        self._hint()

    def snapshot_ids(self) -> list[int]:
        """Return the ids of the snapshots, in order."""
        return sorted(int(path.name[9:]) for path in (self.root / "snapshot").glob("snapshot-*"))

    def body(self, snapshot_id: int) -> dict[str, Any]:
        """Return a snapshot as its file has it."""
        body: dict[str, Any] = json.loads(self._snapshot_path(snapshot_id).read_text())
        return body

    # Manifests.

    def entries(self, snapshot_id: int, change: Change) -> None:
        """Change what a commit added and deleted, and mend the sizes of metadata."""
        for record in self.listed(snapshot_id, "delta"):
            self.records(record["_FILE_NAME"], change)
        self.mend()

    def all_entries(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change each entry of each commit, and mend the sizes of metadata."""

        def changed(records: Records) -> None:
            for record in records:
                change(record)

        for snapshot_id in self.snapshot_ids():
            for record in self.listed(snapshot_id, "delta"):
                self.records(record["_FILE_NAME"], changed)
        self.mend()

    def file(self, prefix: str, **fields: Any) -> None:
        """Change what manifests say of a data file, as ``row_count=4`` for ``_ROW_COUNT``."""

        def change(record: dict[str, Any]) -> None:
            if record["_FILE"]["_FILE_NAME"].startswith(f"data-{prefix}"):
                record["_FILE"] |= {f"_{name.upper()}": value for name, value in fields.items()}

        self.all_entries(change)

    def records(self, name: str, change: Change) -> None:
        """Change the records of a manifest, of a list of them, or of an index manifest; sizes are not mended."""
        path = self._manifest(name)
        schema, records = _records(path)
        path.write_bytes(avro_file(schema, _changed(records, change)))

    def listed(self, snapshot_id: int, which: str) -> Records:
        """Return what a snapshot's manifest list has, ``base`` or ``delta``."""
        return _records(self._manifest(self.list_name(snapshot_id, which)))[1]

    def list_name(self, snapshot_id: int, which: str) -> str:
        """Return the name of a snapshot's manifest list."""
        return str(self.body(snapshot_id)[f"{which}ManifestList"])

    def relist(self, snapshot_id: int, which: str, change: Change, *, mend: bool = True) -> None:
        """Change which manifests a snapshot lists; without ``mend``, the sizes that it lists are left as they are."""
        name = self.list_name(snapshot_id, which)
        self.records(name, change)
        self.snapshot(snapshot_id, **{f"{which}ManifestListSize": self._size(name)})
        if mend:
            self.mend()

    def merge_base(self, snapshot_id: int, change: Change = lambda _: None) -> None:
        """Merge the manifests of a snapshot's base, and of those after it, into one, as Paimon does from time to time.

        :param change: what is changed of its entries
        """
        old = [record["_FILE_NAME"] for record in self.listed(snapshot_id, "base")]
        schema = _records(self._manifest(old[0]))[0]
        entries = list(self._net(old).values())
        self._manifest("manifest-merged").write_bytes(avro_file(schema, _changed(entries, change)))

        def relisted(records: Records) -> Records:
            rest = [record for record in records if record["_FILE_NAME"] not in old]
            return [{**records[0], "_FILE_NAME": "manifest-merged"}, *rest]

        for later in self.snapshot_ids():
            if later >= snapshot_id:
                self.records(self.list_name(later, "base"), relisted)
        self.mend()

    def manifest(self, snapshot_id: int) -> Path:
        """Return the only manifest of what a commit did."""
        [record] = self.listed(snapshot_id, "delta")
        return self._manifest(record["_FILE_NAME"])

    def index_manifest(self, snapshot_id: int) -> Path:
        """Return the index manifest of a snapshot."""
        return self._manifest(self.body(snapshot_id)["indexManifest"])

    # Commits.

    def live(self) -> Records:
        """Return the entries of the newest snapshot's files."""
        last = self.snapshot_ids()[-1]
        names = [record["_FILE_NAME"] for which in ("base", "delta") for record in self.listed(last, which)]
        return list(self._net(names).values())

    def copied(self, entry: dict[str, Any], *, suffix: str = ".parquet", **fields: Any) -> dict[str, Any]:
        """Copy a data file, and return an entry like the file's, with other fields."""
        old = next(self.root.rglob(entry["_FILE"]["_FILE_NAME"]))
        new = f"data-{uuid.uuid4()}-0{suffix}"
        shutil.copy(old, old.with_name(new))
        changes = {f"_{name.upper()}": value for name, value in fields.items()}
        return {**entry, "_FILE": {**entry["_FILE"], "_FILE_NAME": new, **changes}}

    def commit(self, kind: str, operation: str | None, *added: Any, deleted: Collection[Any] = (), **keys: Any) -> None:
        """Make one more commit, as Paimon does.

        :param added: entries
        :param deleted: entries
        :param keys: of the snapshot, where they are others than those of the one before
        """
        before = self.body(self.snapshot_ids()[-1])
        list_schema, base = _records(self._manifest(before["baseManifestList"]))
        base += _records(self._manifest(before["deltaManifestList"]))[1]
        number, new, delta = before["id"] + 1, str(uuid.uuid4()), []
        if added or deleted:
            entry_schema = _records(self._manifest(base[0]["_FILE_NAME"]))[0]
            entries = [*({**entry, "_KIND": 1} for entry in deleted), *({**entry, "_KIND": 0} for entry in added)]
            self._manifest(f"manifest-{new}-0").write_bytes(avro_file(entry_schema, entries, "zstandard"))
            counts = {"_NUM_ADDED_FILES": len(added), "_NUM_DELETED_FILES": len(deleted)}
            delta = [{**base[0], "_FILE_NAME": f"manifest-{new}-0", **counts}]
        for which, listed in (("0", base), ("1", delta)):
            self._manifest(f"manifest-list-{new}-{which}").write_bytes(avro_file(list_schema, listed, "zstandard"))
        rows = sum(_rows(entry) for entry in added) - sum(_rows(entry) for entry in deleted)
        body = {
            **before,
            "id": number,
            "uuid": new,
            "baseManifestList": f"manifest-list-{new}-0",
            "deltaManifestList": f"manifest-list-{new}-1",
            "commitKind": kind,
            "operation": operation,
            "totalRecordCount": before["totalRecordCount"] + rows,
            "deltaRecordCount": rows,
        }
        self._snapshot_path(number).write_text(json.dumps(body))
        self.snapshot(number, **keys)
        self._hint()
        self.mend()

    # Data files.

    def data_file(self, prefix: str) -> Path:
        """Return a data file."""
        [found] = self.root.rglob(f"data-{prefix}*")
        return found

    def rows(self, prefix: str, change: Callable[[Records], None]) -> None:
        """Change the rows of a data file in place, and mend all sizes; its columns stay, and take null."""
        path = self.data_file(prefix)
        schema = pyarrow.schema([field.with_nullable(True) for field in parquet.ParquetFile(path).schema_arrow])
        rows = parquet.ParquetFile(path).read().to_pylist()
        change(rows)
        parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), path)
        self.mend_data()

    def mend_data(self) -> None:
        """Record the sizes that files have, from data files up to snapshots."""
        sizes = {path.name: path.stat().st_size for path in self.root.rglob("data-*")}

        def change(record: dict[str, Any]) -> None:
            file = record["_FILE"]
            file["_FILE_SIZE"] = sizes.get(file["_FILE_NAME"], file["_FILE_SIZE"])

        self.all_entries(change)

    def mend(self) -> None:
        """Record the sizes that manifests and lists of them have, and the row ids in manifests."""

        def sizes(records: Records) -> Records:
            found = []
            for record in records:
                name = record["_FILE_NAME"]
                low, high = self._row_ids(name)
                found.append({**record, "_FILE_SIZE": self._size(name), "_MIN_ROW_ID": low, "_MAX_ROW_ID": high})
            return found

        for snapshot_id in self.snapshot_ids():
            for which in ("base", "delta"):
                name = self.list_name(snapshot_id, which)
                self.records(name, sizes)
                self.snapshot(snapshot_id, **{f"{which}ManifestListSize": self._size(name)})

    def _row_ids(self, name: str) -> tuple[int | None, int | None]:
        """Return the lowest and highest row id of a manifest, as Paimon records them."""
        path = self._manifest(name)
        try:
            files = [record["_FILE"] for record in _records(path)[1]]
        except (OSError, EOFError, ValueError):  # damaged by the test
            return None, None
        firsts = [file["_FIRST_ROW_ID"] for file in files]
        if None in firsts or not files:
            return None, None
        return min(firsts), max(file["_FIRST_ROW_ID"] + file["_ROW_COUNT"] - 1 for file in files)

    def _net(self, manifests: Collection[str]) -> dict[str, dict[str, Any]]:
        live: dict[str, dict[str, Any]] = {}
        for name in manifests:
            for record in _records(self._manifest(name))[1]:
                if record["_KIND"] == 0:
                    live[record["_FILE"]["_FILE_NAME"]] = record
                else:
                    del live[record["_FILE"]["_FILE_NAME"]]
        return live

    def _hint(self) -> None:
        (self.root / "snapshot" / "LATEST").write_text(str(self.snapshot_ids()[-1]))

    def _manifest(self, name: str) -> Path:
        return self.root / "manifest" / name

    def _snapshot_path(self, snapshot_id: int) -> Path:
        return self.root / "snapshot" / f"snapshot-{snapshot_id}"

    def _size(self, name: str) -> int:
        return self._manifest(name).stat().st_size

    def _change_json(self, name: str, changes: dict[str, Any]) -> None:
        path = self.root / name
        body = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({key: value for key, value in body.items() if value is not None}))


def _rows(entry: dict[str, Any]) -> int:
    return int(entry["_FILE"]["_ROW_COUNT"])


def _changed(records: Records, change: Change) -> Records:
    changed = change(records)
    return records if changed is None else changed


def _records(path: Path) -> tuple[Any, Records]:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        return reader.writer_schema, [dict(record) for record in reader]  # type: ignore[arg-type]  # records are maps here
