"""The files of a table from commit to commit, kept up with what each commit changes.

Reading the base of every snapshot takes as long as the table has files, times its snapshots. What a commit changes,
its delta has; its base is the table before it, by the same manifests or by others that these were merged into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.paimon.commit import Commit
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey, FileKind, ManifestEntry, ManifestFile
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_schema import TableSchema

#: What manifests say of a file before a commit and after it.
_Pair = tuple["ManifestEntry | None", "ManifestEntry | None"]


@dataclass(frozen=True)
class Change:
    """What a commit made of the table.

    :param previous: the snapshot before; None where none is kept, and so nothing is known of what there was
    :param added: files that are live since this commit
    :param deleted: files that were, and are not any more
    :param strays: entries that add what is live, or delete what is not
    :param rewritten: files that the base of the commit has otherwise than the snapshot before
    :param complete: whether all that the commit names could be read; if not, ``added`` and the rest may lack some
    :param renumbered: whether the commit only gave files other row ids, in the manifests of its base: ``deleted`` are
        those files with the ids before, ``added`` with the new ones
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
    """The live files of the newest commit that was applied."""

    def __init__(self) -> None:
        self._files: dict[FileKey, DataFile] = {}
        self._entries: dict[str, tuple[ManifestEntry, ...]] = {}
        self._listed: dict[str, ManifestFile] = {}
        self._unread: frozenset[str] = frozenset()
        self.doubtful = False
        """Whether a base that was not read cannot be what was before it."""
        self._snapshot: Snapshot | None = None
        self.complete = False
        """Whether these are all live files: False where metadata could not be read."""
        self._rows = {True: 0, False: 0}

    @property
    def files(self) -> Mapping[FileKey, DataFile]:
        """The live files; a view, which the next commit changes."""
        return self._files

    @property
    def unread(self) -> tuple[ManifestFile, ...]:
        """Manifests of the newest commit's base that were not read: they should come to these files."""
        return tuple(manifest for name, manifest in self._listed.items() if name in self._unread)

    def are_those_of(self, manifests: Mapping[str, tuple[ManifestEntry, ...]]) -> bool:
        """Whether the newest commit's manifests come to these files.

        :param manifests: the entries of :attr:`unread`
        """
        entries = {**self._entries, **manifests}
        found = _sum(entry for name in self._listed for entry in entries.get(name, ()))
        return {key: entry.file for key, entry in found.items()} == self._files

    @property
    def row_counts(self) -> tuple[int, ...]:
        """How many rows the live files have: with those of blob and vector files, and without."""
        return self._rows[True] + self._rows[False], self._rows[True]

    def apply(self, commit: Commit) -> Change:
        """Continue to the next commit: the one after that before, or else all of its base has to have been read."""
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
        """Return the files that a base has otherwise than the snapshot before, by the manifests that are not both's.

        Where one was not read, it is only seen whether their numbers of files may be the same.
        """
        names = {manifest.name for manifest in base}
        new = [manifest for manifest in base if manifest.name not in self._listed]
        gone = [manifest for name, manifest in self._listed.items() if name not in names]
        if any(manifest.name in self._unread for manifest in (*new, *gone)):
            self.doubtful |= _net_count(new) != _net_count(gone)
            return ()
        merged = _sum(entry for manifest in new for entry in self._entries[manifest.name])
        before = _sum(entry for manifest in gone for entry in self._entries[manifest.name])
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
                if (gone := self._files.get(key)) and added.pop(key, None) is None:
                    deleted[key] = gone
                self._files[key] = added[key] = entry.file
            elif (gone := self._files.pop(key, None)) and added.pop(key, None) is None:
                deleted[key] = gone
        return tuple(added.values()), tuple(deleted.values()), tuple(strays)


def _assigns_in_base(snapshot: Snapshot, delta: Sequence[ManifestFile], previous: Snapshot | None) -> bool:
    """Whether a commit assigned row ids and added no files: those that the table has got other ids."""
    before, now = previous.next_row_id if previous else None, snapshot.next_row_id
    return not delta and before is not None and now is not None and before < now


def _is_renumbered(pair: _Pair) -> bool:
    """Whether two entries differ by the first row id alone."""
    before, after = pair
    if before is None or after is None or None in (before.file.first_row_id, after.file.first_row_id):
        return False
    return before.kind is after.kind and before.file._replace(first_row_id=after.file.first_row_id) == after.file


def _net_count(manifests: Iterable[ManifestFile]) -> int:
    return sum(manifest.added - manifest.deleted for manifest in manifests)


def _sum(entries: Iterable[ManifestEntry]) -> dict[FileKey, ManifestEntry]:
    """Return what entries come to, in any order: what is added by them, or deleted and not added before."""
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
    """Snapshots one after the other.

    :param beginning: live files of the first of them
    :param changes: the first snapshot's own, and what each later one did; there is at least one
    :param live: live files of the newest
    :param schemas: by id, those that can be read
    :param complete: whether the files of each snapshot are known; if not, they cannot be relied upon
    """

    beginning: Mapping[FileKey, DataFile]
    changes: tuple[Change, ...]
    live: Mapping[FileKey, DataFile]
    schemas: Mapping[int, TableSchema]
    complete: bool

    @property
    def newest(self) -> Snapshot:
        """The newest snapshot."""
        return self.changes[-1].snapshot
