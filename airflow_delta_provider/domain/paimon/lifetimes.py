"""The lifetimes of files in snapshots, and rows that moved between files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from airflow_delta_provider.domain.paimon.id_ranges import id_range
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import TableHistory, carries_ids


@dataclass
class Lifetimes:
    """The lifetimes of the files in a history."""

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
        """Return the snapshot since which none of the files is live; None if one still is."""
        gone = [self._removed_by.get(file.key) for file in files]
        return max((snapshot.id for snapshot in gone if snapshot), default=None) if all(gone) else None

    def rows_gone_since(self, files: Collection[DataFile], snapshot: Snapshot) -> int | None:
        """Return the snapshot since which no live file can have rows of ``files``; None if one still can.

        :param snapshot: snapshot with these files; only commits after it are followed
        """
        here = frozenset(file.key for file in files)
        for step in self.history.steps:
            if step.snapshot.id > snapshot.id:
                here = row_successors(here, step.added, {file.key: file for file in step.removed})
                if not here:
                    return step.snapshot.id
        return None

    def last_deletion(self, snapshot: Snapshot) -> int | None:
        """Return the last snapshot after ``snapshot`` that removed rows from files; None if there is none."""
        last: int | None = None
        before = self.history.start.index_files
        for step in self.history.steps:
            if step.snapshot.id > snapshot.id and (step.removed or step.index_files != before):
                last = step.snapshot.id
            before = step.index_files
        return last


def row_successors(
    of: frozenset[FileKey], added: Collection[DataFile], deleted: Mapping[FileKey, DataFile]
) -> frozenset[FileKey]:
    """Return the files that, after a commit, may have rows of ``of`` under their ids.

    Metadata does not record where rows went. So any file that carries ids may have them, and also one with the same
    ids, as after compaction of column files.

    :param deleted: files that the commit deleted, in ``of`` or not
    """
    gone = [deleted[key] for key in of if key in deleted]
    if not gone:
        return of
    return (of - deleted.keys()) | {
        file.key for file in added if carries_ids(file) or any(_share_ids(file, one) for one in gone)
    }


def _share_ids(one: DataFile, other: DataFile) -> bool:
    ids, others = id_range(one), id_range(other)
    if not ids or not others:
        return False
    return max(ids.start, others.start) < min(ids.stop, others.stop)
