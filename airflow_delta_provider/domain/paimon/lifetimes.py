"""From which snapshot to which files are live, and rows that moved from one to another."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.row_successors import row_successors
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import TableHistory


@dataclass
class Lifetimes:
    """The lives of the files of a history."""

    history: TableHistory
    _removed_by: dict[FileKey, Snapshot] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for step in self.history.steps:
            self._removed_by |= {file.key: step.snapshot for file in step.removed}
            for file in step.added:
                self._removed_by.pop(file.key, None)

    def added_by(self, files: Collection[DataFile]) -> list[Snapshot]:
        """Return the snapshots that added files, in order, as far as the history shows."""
        known = self.history.added_by
        return sorted((known[file.key] for file in files if file.key in known), key=lambda snapshot: snapshot.id)

    def gone_since(self, files: Collection[DataFile]) -> int | None:
        """Return the snapshot since which none of some files is live; None while one is."""
        gone = [self._removed_by.get(file.key) for file in files]
        return max((snapshot.id for snapshot in gone if snapshot), default=None) if all(gone) else None

    def rows_gone_since(self, files: Collection[DataFile], snapshot: Snapshot) -> int | None:
        """Return the snapshot since which no live file can have rows of files of ``snapshot``; None while one can."""
        here = frozenset(file.key for file in files)
        for step in self.history.steps:
            if step.snapshot.id > snapshot.id:
                here = row_successors(here, step.added, {file.key: file for file in step.removed})
                if not here:
                    return step.snapshot.id
        return None

    def last_deletion(self, snapshot: Snapshot) -> int | None:
        """Return the last snapshot after one whose commit took rows out of files; None where none did."""
        last: int | None = None
        before = self.history.start.index_files
        for step in self.history.steps:
            if step.snapshot.id > snapshot.id and (step.removed or step.index_files != before):
                last = step.snapshot.id
            before = step.index_files
        return last
