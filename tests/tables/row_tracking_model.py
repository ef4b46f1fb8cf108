"""A writer of Delta tables with row tracking in a few lines, without Spark: what is in a table is known for sure.

It commits to memory what Delta would commit, may then be damaged, and is written to a directory at last.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.tables import log
from tests.tables.log import Action
from tests.tables.row_tracking_vector import inline

ID, COMMIT_VERSION = "_row-id-col-model", "_row-commit-version-col-model"
_FEATURES = ["appendOnly", "deletionVectors", "domainMetadata", "invariants", "rowTracking"]
_PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": _FEATURES,
}
_METADATA = {
    "id": "model",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": "",
    "partitionColumns": [],
    "configuration": {
        "delta.enableRowTracking": "true",
        "delta.enableDeletionVectors": "true",
        "delta.rowTracking.materializedRowIdColumnName": ID,
        "delta.rowTracking.materializedRowCommitVersionColumnName": COMMIT_VERSION,
    },
    "createdTime": 1,
}


@dataclass
class DataFile:
    """A data file.

    :param ids: materialized ids by position; None where the file has no such column
    :param rows: how many there are
    :param deleted: positions that the newest deletion vector deletes
    """

    name: str
    base: int
    version: int
    rows: int
    ids: list[int | None] | None = None
    deleted: frozenset[int] = frozenset()

    def id_at(self, position: int) -> int:
        own = self.ids[position] if self.ids is not None else None
        return self.base + position if own is None else own

    def live(self) -> list[int]:
        """Return the positions of the rows that are not deleted."""
        return [position for position in range(self.rows) if position not in self.deleted]


@dataclass
class Model:
    """A table. Which rows an operation is about, a function of their ids says."""

    files: dict[str, DataFile] = field(default_factory=dict)
    mark: int = -1
    commits: list[list[Action]] = field(
        default_factory=lambda: [[{"protocol": _PROTOCOL}, {"metaData": {**_METADATA}}]]
    )
    _versions: list[dict[str, tuple[DataFile, frozenset[int]]]] = field(default_factory=lambda: [{}])
    _written: dict[str, DataFile] = field(default_factory=dict)

    @property
    def version(self) -> int:
        return len(self.commits)

    def insert(self, sizes: list[int]) -> None:
        self._commit("WRITE", {}, [self._file(rows) for rows in sizes])

    def update(self, concerned: Callable[[int], bool], *, vectors: bool, inserted: int = 0) -> None:
        """Write the rows concerned anew, and with them some that are inserted."""
        moved: list[int] = []
        kept: dict[str, frozenset[int]] = {}
        for file in list(self.files.values()):
            hit = [position for position in file.live() if concerned(file.id_at(position))]
            if not hit:
                continue
            taken = hit if vectors else file.live()
            moved += [file.id_at(position) for position in taken]
            kept[file.name] = file.deleted | frozenset(taken)
        new = [self._file(len(moved) + inserted, [*moved, *[None] * inserted])] if moved or inserted else []
        self._commit("MERGE" if inserted else "UPDATE", kept, new)

    def delete(self, concerned: Callable[[int], bool], *, vectors: bool) -> None:
        kept: dict[str, frozenset[int]] = {}
        moved: list[int] = []
        for file in list(self.files.values()):
            hit = [position for position in file.live() if concerned(file.id_at(position))]
            if hit and vectors:
                kept[file.name] = file.deleted | frozenset(hit)
            elif hit:
                kept[file.name] = file.deleted | frozenset(file.live())
                moved += [file.id_at(position) for position in file.live() if position not in hit]
        self._commit("DELETE", kept, [self._file(len(moved), list(moved))] if moved else [])

    def optimize(self, concerned: Callable[[int], bool]) -> None:
        """Write the files concerned, by their bases, into one."""
        files = [file for file in self.files.values() if concerned(file.base)]
        moved: list[int | None] = [file.id_at(position) for file in files for position in file.live()]
        gone = {file.name: frozenset(range(file.rows)) for file in files}
        self._commit("OPTIMIZE", gone, [self._file(len(moved), moved)] if moved else [])

    def restore(self, version: int) -> None:
        wanted = self._versions[version % len(self._versions)]
        actions = [self._remove(file) for file in self.files.values()]
        self.files = {}
        for file, deleted in wanted.values():
            file.deleted = deleted
            self.files[file.name] = file
            actions.append(self._add(file))
        self._append("RESTORE", actions)

    def settle(self) -> None:
        """Commit nothing, so that the newest commit breaks no rule."""
        self._append("VACUUM END", [])

    # -- what is true of it -----------------------------------------------------------------------

    def row_ids(self) -> list[int]:
        """Return the stable id of every live row."""
        return [file.id_at(position) for file in self.files.values() for position in file.live()]

    def codes(self) -> set[str]:
        """Return the rules that row ids break, by looking at each of them."""
        ranges = [range(file.base, file.base + file.rows) for file in self.files.values()]
        fresh = Counter(row_id for one in ranges for row_id in one)
        stable = Counter(self.row_ids())
        above = any(row_id > self.mark for row_id in fresh)  # of which others above the mark are the consequence
        found = {
            "RT07": above,
            "RT08": any(count > 1 for count in fresh.values()),
            "RT19": any(count > 1 for count in stable.values()),
            "RT21": any(row_id < 0 or (row_id > self.mark and not above) for row_id in stable),
        }
        return {code for code, broken in found.items() if broken}

    # -- damage -----------------------------------------------------------------------------------

    def set_base(self, file: DataFile, base: int) -> None:
        file.base = base
        for body in self._bodies():
            if body.get("path") == file.name:
                body["baseRowId"] = base

    def set_mark(self, mark: int) -> None:
        self.mark = mark
        *_, last = (body for body in self._bodies() if body.get("domain"))
        last["configuration"] = json.dumps({"rowIdHighWaterMark": mark})

    def set_deleted(self, file: DataFile, deleted: frozenset[int]) -> None:
        """Let the newest deletion vector of a live file delete others."""
        file.deleted = deleted
        *_, last = (a["add"] for actions in self.commits for a in actions if a.get("add", {}).get("path") == file.name)
        last.pop("deletionVector", None)
        if deleted:
            last["deletionVector"] = inline(deleted)

    # -- on disk ----------------------------------------------------------------------------------

    def write(self, path: Path, *, columns: int = 1, **options: Any) -> None:
        """Write log and data files.

        :param columns: of the table, all of type long
        :param options: of ``pyarrow.parquet.write_table``
        """
        (path / "_delta_log").mkdir(parents=True)
        names = [f"c{number}" for number in range(columns)]
        for file in self._written.values():
            values = pa.array(range(file.rows), pa.int64())
            data = dict.fromkeys(names, values)
            if file.ids is not None:
                data[ID] = pa.array(file.ids, pa.int64())
            pq.write_table(pa.table(data), path / file.name, **options)
        for body in self._bodies():
            if "path" in body:
                body["size"] = (path / body["path"]).stat().st_size
            if "schemaString" in body:
                body["schemaString"] = json.dumps({"type": "struct", "fields": [_column(name) for name in names]})
        for version, actions in enumerate(self.commits):
            log.log_file(path, version).write_text("".join(json.dumps(action) + "\n" for action in actions))

    def _file(self, rows: int, ids: list[int | None] | None = None) -> DataFile:
        file = DataFile(f"part-{len(self._written):05d}.parquet", self.mark + 1, self.version, rows, ids)
        self.mark += rows
        self._written[file.name] = file
        return file

    def _commit(self, operation: str, kept: dict[str, frozenset[int]], new: list[DataFile]) -> None:
        """Commit files whose deleted rows are others now, and new ones; a file without rows goes."""
        actions = []
        for name, deleted in kept.items():
            file = self.files[name]
            actions.append(self._remove(file))
            file.deleted = deleted
            if len(deleted) < file.rows:
                actions.append(self._add(file))
            else:
                del self.files[name]
        for file in new:
            self.files[file.name] = file
            actions.append(self._add(file))
        if new:
            domain = {"domain": "delta.rowTracking", "configuration": json.dumps({"rowIdHighWaterMark": self.mark})}
            actions.append({"domainMetadata": {**domain, "removed": False}})
        self._append(operation, actions)

    def _append(self, operation: str, actions: list[Action]) -> None:
        info = {"timestamp": 1, "operation": operation, "tags": {"delta.rowTracking.preserved": "true"}}
        self.commits.append([{"commitInfo": info}, *actions])
        self._versions.append({name: (file, file.deleted) for name, file in self.files.items()})

    def _add(self, file: DataFile) -> Action:
        more = {"modificationTime": 1, "stats": json.dumps({"numRecords": file.rows, "tightBounds": False})}
        return {"add": {**self._fields(file), **more}}

    def _remove(self, file: DataFile) -> Action:
        return {"remove": {**self._fields(file), "deletionTimestamp": 1, "extendedFileMetadata": True}}

    def _fields(self, file: DataFile) -> Action:
        vector = {"deletionVector": inline(file.deleted)} if file.deleted else {}
        return {
            "path": file.name,
            "partitionValues": {},
            "dataChange": True,
            "baseRowId": file.base,
            "defaultRowCommitVersion": file.version,
            **vector,
        }

    def _bodies(self) -> Iterator[Action]:
        return (body for actions in self.commits for action in actions for body in action.values())


def _column(name: str) -> Action:
    return {"name": name, "type": "long", "nullable": True, "metadata": {}}
