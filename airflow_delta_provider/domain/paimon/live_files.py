"""The files of a table from commit to commit, updated with the changes of each commit.

Reading the base of every snapshot would take time in proportion to the number of files times the number of snapshots. A
commit's delta has its changes. Its base is the table before it, in the same manifests or in others into which these
were merged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey, FileKind, ManifestEntry, ManifestFile
from airflow_delta_provider.domain.paimon.schema import TableSchema
from airflow_delta_provider.domain.paimon.snapshot import Commit, Snapshot
from airflow_delta_provider.domain.paimon.table_history import (
    TableHistory,
    Vector,
    carries_ids,
    id_range,
    vector_key,
    vectors_of,
)


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

    def brought_by(self, files: Collection[DataFile]) -> Snapshot | None:
        """Return the last snapshot that added one of the files, or took away a deletion vector of one.

        None if the history shows no such snapshot.
        """
        wanted = {vector_key(file): file.key for file in files}
        last = next(iter(reversed(self.added_by(files))), None)
        before = vectors_of(self.history.start.index_files)
        index_files = self.history.start.index_files
        for step in self.history.steps:
            if step.index_files != index_files:
                index_files, after = step.index_files, vectors_of(step.index_files)
                removed = {file.key for file in step.removed}
                fewer = any(
                    _deletes_fewer(before.get(key), after.get(key)) for key in wanted if wanted[key] not in removed
                )
                if fewer and (last is None or last.id < step.snapshot.id):
                    last = step.snapshot
                before = after
        return last

    def removed_since(self, files: Collection[DataFile]) -> int | None:
        """Return the snapshot since which none of the files is live; None if one still is."""
        removals = [self._removed_by.get(file.key) for file in files]
        return max((snapshot.id for snapshot in removals if snapshot), default=None) if all(removals) else None

    def rows_removed_since(self, files: Collection[DataFile], snapshot: Snapshot) -> int | None:
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


def _deletes_fewer(before: Vector | None, after: Vector | None) -> bool:
    """Return True if a deletion vector is gone, or its successor deletes fewer rows."""
    if before is None or after is None:
        return before is not None
    return (after.range.cardinality or 0) < (before.range.cardinality or 0)


def row_successors(
    of: frozenset[FileKey], added: Collection[DataFile], deleted: Mapping[FileKey, DataFile]
) -> frozenset[FileKey]:
    """Return the files that, after a commit, may have rows of ``of`` under their ids.

    Metadata does not record where rows went. So any file that carries ids may have them, and also one with the same
    ids, as after compaction of column files.

    :param deleted: files that the commit deleted, in ``of`` or not
    """
    replaced = [deleted[key] for key in of if key in deleted]
    if not replaced:
        return of
    return (of - deleted.keys()) | {
        file.key for file in added if carries_ids(file) or any(_share_ids(file, one) for one in replaced)
    }


def _share_ids(one: DataFile, other: DataFile) -> bool:
    ids, others = id_range(one), id_range(other)
    if not ids or not others:
        return False
    return max(ids.start, others.start) < min(ids.stop, others.stop)


#: The manifest entries of a file before a commit and after it.
_Pair = tuple["ManifestEntry | None", "ManifestEntry | None"]


@dataclass(frozen=True)
class Change:
    """The changes that a commit made to the table.

    :param previous: snapshot before; None if none is kept, so the earlier state is unknown
    :param added: files that are live since this commit
    :param deleted: files that are no longer live since this commit
    :param strays: entries that add a live file, or delete a file that is not live
    :param rewritten: files whose entries in the base of the commit differ from the snapshot before
    :param complete: True if everything that the commit names could be read; otherwise ``added`` and the others may be
        incomplete
    :param renumbered: True if the commit only gave files other row ids, in the manifests of its base: ``deleted`` has
        these files with the old ids, ``added`` with the new ones
    """

    snapshot: Snapshot
    previous: Snapshot | None
    added: tuple[DataFile, ...]
    deleted: tuple[DataFile, ...]
    strays: tuple[ManifestEntry, ...]
    rewritten: tuple[DataFile, ...]
    complete: bool
    renumbered: bool = False


class LiveFiles:
    """The live files of the newest applied commit."""

    def __init__(self) -> None:
        self._files: dict[FileKey, DataFile] = {}
        self._entries: dict[str, tuple[ManifestEntry, ...]] = {}
        self._listed: dict[str, ManifestFile] = {}
        self._unread: frozenset[str] = frozenset()
        self.doubtful = False
        """True if a base that was not read differs from the files before it."""
        self._snapshot: Snapshot | None = None
        self.complete = False
        """True if these are all live files; False if metadata could not be read."""
        self._rows = {True: 0, False: 0}

    @property
    def files(self) -> Mapping[FileKey, DataFile]:
        """The live files, as a view that the next commit changes."""
        return self._files

    @property
    def unread(self) -> tuple[ManifestFile, ...]:
        """Manifests of the newest commit's base that were not read. Their sum should equal these files."""
        return tuple(manifest for name, manifest in self._listed.items() if name in self._unread)

    def are_those_of(self, manifests: Mapping[str, tuple[ManifestEntry, ...]]) -> bool:
        """Return True if the newest commit's manifests add up to these files.

        :param manifests: entries of :attr:`unread`
        """
        entries = {**self._entries, **manifests}
        found = _sum(entry for name in self._listed for entry in entries.get(name, ()))
        return {key: entry.file for key, entry in found.items()} == self._files

    @property
    def row_counts(self) -> tuple[int, ...]:
        """The number of rows in the live files: including blob and vector files, and without them."""
        return self._rows[True] + self._rows[False], self._rows[True]

    def apply(self, commit: Commit) -> Change:
        """Apply the next commit.

        If it does not directly follow the one before, all of its base must have been read.
        """
        self._entries |= commit.manifests
        snapshot, previous = commit.snapshot, self._snapshot
        if previous is not None and previous.id + 1 != snapshot.id:
            previous = None
        self._unread = (self._unread | commit.unread) - commit.manifests.keys()
        base_readable = self._readable(commit.base)
        readable = base_readable and self._readable(commit.delta)
        base, delta = commit.base or (), commit.delta or ()
        differing: tuple[_Pair, ...] = ()
        if previous is not None and self.complete and base_readable:
            differing = self._differences(base)
        assigns = _assigns_in_base(snapshot, delta, previous)
        renumbered = assigns and bool(differing) and all(map(_is_renumbered, differing))
        self.doubtful |= assigns and bool(self._unread)
        known = base_readable and not any(manifest.name in self._unread for manifest in base)
        if previous is None or differing or (known and not self.complete):
            self._files = self._net(base)
            self._rows = {True: 0, False: 0}
            self._count(self._files.values(), 1)
            self.complete = known
        added, deleted, strays = self._change(
            entry for manifest in delta for entry in self._entries.get(manifest.name, ())
        )
        self._count(added, 1)
        self._count(deleted, -1)
        self._listed = {manifest.name: manifest for manifest in (*base, *delta)}
        self._unread &= self._listed.keys()
        self._entries = {name: entries for name, entries in self._entries.items() if name in self._listed}
        self._snapshot, self.complete = snapshot, readable and (self.complete or previous is None)
        complete = self.complete
        rewritten: tuple[DataFile, ...] = ()
        if renumbered:
            deleted, added = (tuple(entry.file for entry in entries if entry) for entries in zip(*differing))
        else:
            rewritten = tuple(entry.file for pair in differing for entry in (pair[1] or pair[0],) if entry)
        return Change(snapshot, previous, added, deleted, strays if complete else (), rewritten, complete, renumbered)

    def _count(self, files: Iterable[DataFile], sign: int) -> None:
        for file in files:
            self._rows[file.holds_rows] += sign * file.row_count

    def _readable(self, manifests: Sequence[ManifestFile] | None) -> bool:
        return manifests is not None and all(
            manifest.name in self._entries or manifest.name in self._unread for manifest in manifests
        )

    def _net(self, manifests: Sequence[ManifestFile]) -> dict[FileKey, DataFile]:
        found = _sum(entry for manifest in manifests for entry in self._entries.get(manifest.name, ()))
        return {key: entry.file for key, entry in found.items() if entry.kind is FileKind.ADD}

    def _differences(self, base: Sequence[ManifestFile]) -> tuple[_Pair, ...]:
        """Return the entries of files that differ between a base and the snapshot before.

        Only manifests that one of them lacks are compared. If one of these was not read, only the numbers of files are
        compared.
        """
        names = {manifest.name for manifest in base}
        new = [manifest for manifest in base if manifest.name not in self._listed]
        old = [manifest for name, manifest in self._listed.items() if name not in names]
        if any(manifest.name in self._unread for manifest in (*new, *old)):
            self.doubtful |= _net_count(new) != _net_count(old)
            return ()
        merged = _sum(entry for manifest in new for entry in self._entries[manifest.name])
        before = _sum(entry for manifest in old for entry in self._entries[manifest.name])
        keys = (key for key in {**before, **merged} if before.get(key) != merged.get(key))
        return tuple((before.get(key), merged.get(key)) for key in keys)

    def _change(
        self, entries: Iterable[ManifestEntry]
    ) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...], tuple[ManifestEntry, ...]]:
        added: dict[FileKey, DataFile] = {}
        deleted: dict[FileKey, DataFile] = {}
        strays = []
        for entry in entries:
            key = entry.file.key
            if (key in self._files) is (entry.kind is FileKind.ADD):
                strays.append(entry)
            if entry.kind is FileKind.ADD:
                if (file := self._files.get(key)) and added.pop(key, None) is None:
                    deleted[key] = file
                self._files[key] = added[key] = entry.file
            elif (file := self._files.pop(key, None)) and added.pop(key, None) is None:
                deleted[key] = file
        return tuple(added.values()), tuple(deleted.values()), tuple(strays)


def _assigns_in_base(snapshot: Snapshot, delta: Sequence[ManifestFile], previous: Snapshot | None) -> bool:
    """Return True if a commit assigned row ids but added no files, so existing files got other ids."""
    before, now = previous.next_row_id if previous else None, snapshot.next_row_id
    return not delta and before is not None and now is not None and before < now


def _is_renumbered(pair: _Pair) -> bool:
    """Return True if two entries differ only in the first row id."""
    before, after = pair
    if before is None or after is None or None in (before.file.first_row_id, after.file.first_row_id):
        return False
    return before.kind is after.kind and before.file._replace(first_row_id=after.file.first_row_id) == after.file


def _net_count(manifests: Iterable[ManifestFile]) -> int:
    return sum(manifest.added - manifest.deleted for manifest in manifests)


def _sum(entries: Iterable[ManifestEntry]) -> dict[FileKey, ManifestEntry]:
    """Return the sum of entries in any order.

    These are files that the entries add, or that they delete without adding them.
    """
    counts: dict[FileKey, int] = {}
    last: dict[tuple[FileKey, FileKind], ManifestEntry] = {}
    for entry in entries:
        key = entry.file.key
        counts[key] = counts.get(key, 0) + (1 if entry.kind is FileKind.ADD else -1)
        last[key, entry.kind] = entry
    kinds = {key: FileKind.ADD if count > 0 else FileKind.DELETE for key, count in counts.items() if count}
    return {key: last[key, kind] for key, kind in kinds.items()}


@dataclass(frozen=True)
class History:
    """Consecutive snapshots.

    :param beginning: live files of the first snapshot
    :param changes: changes of the first snapshot and of each later one; there is at least one
    :param live: live files of the newest snapshot
    :param schemas: readable schemas, by id
    :param complete: True if the files of each snapshot are known; otherwise they are not reliable
    """

    beginning: Mapping[FileKey, DataFile]
    changes: tuple[Change, ...]
    live: Mapping[FileKey, DataFile]
    schemas: Mapping[int, TableSchema]
    complete: bool

    @property
    def newest(self) -> Snapshot:
        return self.changes[-1].snapshot
