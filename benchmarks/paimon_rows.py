"""A Paimon table of many rows: data files by PyArrow, metadata re-encoded from a table that Paimon wrote."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import fastavro
import pyarrow
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from tests.tables.avro_files import avro_file
from tests.tables.paimon.archive import table_of, unpack

_CARRIED = ["id", "data", "_ROW_ID", "_SEQUENCE_NUMBER"]


class RowsTable:
    """A table that is written commit by commit.

    :param folder: where the table and what it is re-encoded from are put
    """

    def __init__(self, folder: Path) -> None:
        source = table_of(unpack(folder / "archive"), "worked/05_delete")
        self.root = folder / "table"
        for directory in ("manifest", "snapshot", "schema", "bucket-0"):
            (self.root / directory).mkdir(parents=True)
        (self.root / "schema/schema-0").write_bytes((source / "schema/schema-0").read_bytes())
        self._snapshot = json.loads((source / "snapshot/snapshot-2").read_text())
        name = self._snapshot["deltaManifestList"]
        self._list_schema, [self._listed] = _read(source / "manifest" / name)
        self._entry_schema, entries = _read(source / "manifest" / self._listed["_FILE_NAME"])
        self._entry = next(entry for entry in entries if entry["_KIND"] == 0)
        self._live: list[tuple[dict[str, Any], pyarrow.Table]] = []
        self._base: list[Any] = []
        self._next = self._number = 0

    def insert(self, files: int, rows: int) -> None:
        """Append files of so many rows each."""
        self._number += 1
        added = []
        for _ in range(files):
            ids = pyarrow.array(range(self._next, self._next + rows), pyarrow.int64())
            values = pyarrow.table({"id": compute.cast(ids, pyarrow.int32()), "data": _texts(ids)})
            carried = values.append_column("_ROW_ID", ids).append_column(
                "_SEQUENCE_NUMBER", pyarrow.repeat(pyarrow.scalar(self._number, pyarrow.int64()), rows)
            )
            entry = self._added(values, _FIRST_ROW_ID=self._next, _WRITE_COLS=None)
            added.append((entry, carried))
            self._next += rows
        self._commit("APPEND", "WRITE", [], added)

    def update(self, files: int, every: int) -> None:
        """Rewrite the oldest files, every so-manyth row changed; the ids go along."""
        self._number += 1
        taken, added = self._live[:files], []
        for _, rows in taken:
            changed = compute.equal(compute.bit_wise_and(rows["_ROW_ID"], every - 1), 0)
            data = compute.if_else(changed, f"changed by {self._number}", rows["data"])
            own = compute.if_else(changed, pyarrow.scalar(None, pyarrow.int64()), rows["_SEQUENCE_NUMBER"])
            written = rows.set_column(1, "data", data).set_column(3, "_SEQUENCE_NUMBER", own)
            resolved = compute.fill_null(own, self._number)
            added.append((self._added(written, rows), written.set_column(3, "_SEQUENCE_NUMBER", resolved)))
        self._commit("OVERWRITE", "UPDATE", taken, added)

    def compact(self, files: int) -> None:
        """Put the oldest files into one."""
        self._number += 1
        taken = self._live[:files]
        rows = pyarrow.concat_tables([rows for _, rows in taken])
        self._commit("COMPACT", None, taken, [(self._added(rows, rows, source=1), rows)])

    def _added(
        self, rows: pyarrow.Table, carried: pyarrow.Table | None = None, source: int = 0, **fields: Any
    ) -> dict[str, Any]:
        name = f"data-{uuid.uuid4()}-0.parquet"
        path = self.root / "bucket-0" / name
        parquet.write_table(rows, path, compression="zstd")
        low = self._number if carried is None else compute.min(carried["_SEQUENCE_NUMBER"]).as_py()
        file = {
            **self._entry["_FILE"],
            "_FILE_NAME": name,
            "_FILE_SIZE": path.stat().st_size,
            "_ROW_COUNT": rows.num_rows,
            "_MIN_SEQUENCE_NUMBER": low,
            "_MAX_SEQUENCE_NUMBER": self._number,
            "_FILE_SOURCE": source,
            "_FIRST_ROW_ID": None,
            "_WRITE_COLS": _CARRIED,
            **fields,
        }
        if source:
            file["_MAX_SEQUENCE_NUMBER"] = compute.max(rows["_SEQUENCE_NUMBER"]).as_py()
        return {**self._entry, "_FILE": file}

    def _commit(
        self,
        kind: str,
        operation: str | None,
        taken: list[tuple[dict[str, Any], pyarrow.Table]],
        added: list[tuple[dict[str, Any], pyarrow.Table]],
    ) -> None:
        base = self._write("manifest-list", avro_file(self._list_schema, self._base, "zstandard"))
        entries = [*({**entry, "_KIND": 1} for entry, _ in taken), *(entry for entry, _ in added)]
        path = self._write("manifest", avro_file(self._entry_schema, entries, "zstandard"))
        listed = {**self._listed, "_FILE_NAME": path.name, "_FILE_SIZE": path.stat().st_size}
        delta = self._write("manifest-list", avro_file(self._list_schema, [listed], "zstandard"))
        self._base.append(listed)
        gone = {entry["_FILE"]["_FILE_NAME"] for entry, _ in taken}
        self._live = [*(one for one in self._live if one[0]["_FILE"]["_FILE_NAME"] not in gone), *added]
        body = {
            **self._snapshot,
            "id": self._number,
            "uuid": str(uuid.uuid4()),
            "baseManifestList": base.name,
            "baseManifestListSize": base.stat().st_size,
            "deltaManifestList": delta.name,
            "deltaManifestListSize": delta.stat().st_size,
            "commitKind": kind,
            "operation": operation,
            "totalRecordCount": sum(rows.num_rows for _, rows in self._live),
            "nextRowId": self._next,
        }
        text = json.dumps({key: value for key, value in body.items() if value is not None})
        (self.root / f"snapshot/snapshot-{self._number}").write_text(text)

    def _write(self, kind: str, content: bytes) -> Path:
        path = self.root / "manifest" / f"{kind}-{uuid.uuid4()}-0"
        path.write_bytes(content)
        return path


def _texts(ids: pyarrow.Array) -> pyarrow.Array:
    return compute.binary_join_element_wise("a value of some length", compute.cast(ids, pyarrow.string()), " ")


def _read(path: Path) -> tuple[Any, list[Any]]:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        return reader.writer_schema, list(reader)
