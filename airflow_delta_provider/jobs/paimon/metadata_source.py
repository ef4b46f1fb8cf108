"""Reads the metadata of a Paimon table: snapshots, schemas and manifests, many files at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from airflow_delta_provider.domain.formats.avro.file import Codec
from airflow_delta_provider.domain.paimon.index_manifest import IndexFile, read_index_manifests
from airflow_delta_provider.domain.paimon.layout import (
    BRANCH_DIRECTORY,
    LATEST,
    MANIFEST_DIRECTORY,
    SCHEMA_DIRECTORY,
    SNAPSHOT_DIRECTORY,
    TAG_DIRECTORY,
    branch_directory,
    branch_names,
    manifest_path,
    schema_ids,
    schema_path,
    snapshot_ids,
    snapshot_path,
    tag_names,
)
from airflow_delta_provider.domain.paimon.live_files import LiveFiles
from airflow_delta_provider.domain.paimon.manifest import (
    DataFile,
    ManifestEntry,
    ManifestFile,
    read_manifest_lists,
    read_manifests,
)
from airflow_delta_provider.domain.paimon.manifest_checks import ValueBounds, read_value_bounds
from airflow_delta_provider.domain.paimon.schema import LargeFileError, PaimonFormatError, TableSchema
from airflow_delta_provider.domain.paimon.snapshot import Commit, Damage, DamageKind, ManifestListFile, Snapshot
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

T = TypeVar("T")

#: Number of snapshots, and of manifests, that are read at a time. A whole chunk is in memory at once.
_SNAPSHOTS, _MANIFESTS = 256, 512

_Decoder = Callable[[Sequence[bytes], Mapping[str, Codec]], Sequence["T | PaimonFormatError"]]
#: Seconds to wait before a file counts as missing: Paimon deletes files of snapshots shortly before the snapshots.
_PATIENCE = 5.0


class SnapshotGoneError(Exception):
    """A listed snapshot has vanished: it expired, or the table was rolled back."""


@dataclass
class _Files(Generic[T]):
    """The decoded files: their values and their damages, by path. A file with an unexpected size may have both."""

    values: dict[str, T] = field(default_factory=dict)
    damages: dict[str, Damage] = field(default_factory=dict)


class MetadataSource:
    """The metadata of one table, of its main branch only.

    :param location: location of the table, as a URI
    :param codecs: codecs by Avro's names
    :param patience: seconds to wait for a snapshot to vanish if one of its files is missing
    """

    def __init__(
        self, storage: TableStorage, location: str, codecs: Mapping[str, Codec], patience: float = _PATIENCE
    ) -> None:
        self._storage = storage
        self._patience = patience
        self.location = location.rstrip("/")
        self._codecs = codecs
        self._waited = False

    def snapshot_ids(self) -> list[int]:
        """Return the ids of the snapshots that are kept, ascending."""
        return snapshot_ids(self._names(SNAPSHOT_DIRECTORY))

    def latest(self) -> int | None:
        """Return the id of the newest snapshot according to the hint; None if there is no readable hint."""
        [content] = self._read([LATEST])
        text = (content or b"").strip()
        return int(text) if text.isdigit() else None

    def tags(self) -> list[str]:
        return tag_names(self._names(TAG_DIRECTORY))

    def branches(self) -> list[str]:
        """Return the names of the branches other than main."""
        return branch_names(self._names(BRANCH_DIRECTORY))

    def branch_files(self) -> dict[str, DataFile]:
        """Return the live files of the branches other than main, by name, as far as they can be read."""
        found: dict[str, DataFile] = {}
        for branch in self.branches():
            directory = branch_directory(branch)
            ids = snapshot_ids(self._names(f"{directory}/{SNAPSHOT_DIRECTORY}"))
            for content in self._read([f"{directory}/{snapshot_path(snapshot_id)}" for snapshot_id in ids[-1:]]):
                snapshot = None if content is None else _parsed(Snapshot.from_json, content)
                if isinstance(snapshot, Snapshot):
                    found |= self._live_files(snapshot)
        return found

    def _live_files(self, snapshot: Snapshot) -> dict[str, DataFile]:
        lists = self._lists([snapshot.base, snapshot.delta])
        manifests, _ = self.read_manifests(_listed(snapshot, lists, base=True))
        base, delta = (lists.values.get(manifest_path(file.name)) for file in (snapshot.base, snapshot.delta))
        live = LiveFiles()
        live.apply(Commit(snapshot, base, delta, manifests))
        return {file.name: file for file in live.files.values()}

    def schemas(self) -> dict[int, TableSchema | PaimonFormatError]:
        """Return all schemas by id, with an error for a schema that cannot be read."""
        ids = schema_ids(self._names(SCHEMA_DIRECTORY))
        found: dict[int, TableSchema | PaimonFormatError] = {}
        for schema_id, content in zip(ids, self._read([schema_path(schema_id) for schema_id in ids])):
            if content is not None:
                found[schema_id] = _parsed(TableSchema.from_json, content)
        return found

    def snapshots(self, ids: Sequence[int]) -> Iterator[Snapshot | PaimonFormatError]:
        """Yield snapshots, or the error for a snapshot that cannot be read.

        :raises SnapshotGoneError: if a snapshot has vanished
        """
        for snapshot_id, content in zip(ids, self._read([snapshot_path(snapshot_id) for snapshot_id in ids])):
            if content is None:
                raise SnapshotGoneError(snapshot_path(snapshot_id))
            snapshot = _parsed(Snapshot.from_json, content)
            if isinstance(snapshot, Snapshot) and snapshot.id != snapshot_id:
                snapshot = PaimonFormatError(f"it says that it is snapshot {snapshot.id}")
            yield snapshot

    def commits(self, ids: Sequence[int], *, merged: bool = False) -> Iterator[Commit | Damage]:
        """Yield commits in order, or the damage of a snapshot's file.

        Each manifest is read once: first the manifests of the first snapshot's base, then the changes of each commit.

        :param ids: ids of snapshots, ascending
        :param merged: True to also read manifests that are merged from earlier ones
        :raises SnapshotGoneError: if a snapshot has vanished
        """
        seen: set[str] = set()
        last: int | None = None
        for start in range(0, len(ids), _SNAPSHOTS):
            chunk = ids[start : start + _SNAPSHOTS]
            found = list(self.snapshots(chunk))
            snapshots = [snapshot for snapshot in found if isinstance(snapshot, Snapshot)]
            # The order matters: a base list is the previous base list followed by its delta list, and the reader does
            # not decode again what it has just decoded.
            lists = self._lists([file for snapshot in snapshots for file in (snapshot.base, snapshot.delta)])
            for snapshot_id, snapshot in zip(chunk, found):
                if isinstance(snapshot, PaimonFormatError):
                    yield Damage(snapshot_path(snapshot_id), DamageKind.UNREADABLE, str(snapshot))
            # After a gap, only the base has the changes of the commits in between.
            before = [last, *(snapshot.id for snapshot in snapshots)]
            whole = {snapshot.id for past, snapshot in zip(before, snapshots) if merged or past != snapshot.id - 1}
            last = before[-1]
            yield from self._with_manifests(snapshots, lists, seen, whole)

    def index_files(self, snapshot: Snapshot) -> tuple[IndexFile, ...] | Damage:
        """Return the index files of a snapshot, or the damage of the file that names them.

        :raises SnapshotGoneError: if the snapshot has vanished
        """
        if snapshot.index_manifest is None:
            return ()
        path = manifest_path(snapshot.index_manifest)
        files = self._files({path: None}, read_index_manifests)
        if path in files.damages:
            self._check_listed(snapshot.id, files.damages[path])
            return files.damages[path]
        return files.values[path]

    def read_manifests(
        self, manifests: Sequence[ManifestFile]
    ) -> tuple[Mapping[str, tuple[ManifestEntry, ...]], Sequence[Damage]]:
        """Return the entries of manifests by name, and the damages of manifests."""
        files = self._files({manifest_path(manifest.name): manifest.size for manifest in manifests}, read_manifests)
        return {path.rpartition("/")[2]: entries for path, entries in files.values.items()}, [*files.damages.values()]

    def value_bounds(self, manifests: Sequence[ManifestFile]) -> dict[str, ValueBounds]:
        """Return the statistics of the files in manifests, by file name, as far as they can be read."""
        files = self._files({manifest_path(manifest.name): manifest.size for manifest in manifests}, read_value_bounds)
        return {bounds.name: bounds for entries in files.values.values() for bounds in entries}

    def manifest_names(self) -> frozenset[str]:
        """Return the names of all manifests, including manifest lists."""
        return frozenset(self._names(MANIFEST_DIRECTORY))

    def _with_manifests(
        self, snapshots: Sequence[Snapshot], lists: _Files[tuple[ManifestFile, ...]], seen: set[str], whole: set[int]
    ) -> Iterator[Commit]:
        """Yield commits, each with the manifests that no earlier commit had.

        :param whole: ids of the snapshots whose base is also read
        """
        for start, end in _portions(snapshots, lists):
            portion = snapshots[start:end]
            wanted: dict[str, int | None] = {}
            for snapshot in portion:
                for manifest in _listed(snapshot, lists, base=snapshot.id in whole):
                    if manifest.name not in seen:
                        wanted.setdefault(manifest_path(manifest.name), manifest.size)
            files = self._files(wanted, read_manifests)
            for snapshot in portion:
                yield self._commit(snapshot, lists, files, seen, whole=snapshot.id in whole)

    def _commit(
        self,
        snapshot: Snapshot,
        lists: _Files[tuple[ManifestFile, ...]],
        files: _Files[tuple[ManifestEntry, ...]],
        seen: set[str],
        *,
        whole: bool,
    ) -> Commit:
        list_paths = [manifest_path(snapshot.base.name), manifest_path(snapshot.delta.name)]
        damages = [lists.damages[path] for path in list_paths if path in lists.damages]
        manifests: dict[str, tuple[ManifestEntry, ...]] = {}
        for manifest in _listed(snapshot, lists, base=whole):
            if manifest.name in seen:
                continue
            seen.add(manifest.name)
            path = manifest_path(manifest.name)
            if path in files.damages:
                damages.append(files.damages[path])
            if path in files.values:
                manifests[manifest.name] = files.values[path]
        for damage in damages:
            self._check_listed(snapshot.id, damage)
        base, delta = (lists.values.get(path) for path in list_paths)
        unread = frozenset(manifest.name for manifest in base or () if manifest.name not in seen)
        return Commit(snapshot, base, delta, manifests, unread, tuple(damages))

    def _lists(self, files: Sequence[ManifestListFile]) -> _Files[tuple[ManifestFile, ...]]:
        return self._files({manifest_path(file.name): file.size for file in files}, read_manifest_lists)

    def _files(self, sizes: Mapping[str, int | None], decode: _Decoder[T]) -> _Files[T]:
        """Read and decode files. Files of unexpected size are also decoded, so that their effects are known.

        :param sizes: recorded sizes by path; None if no size is recorded
        """
        found: _Files[T] = _Files()
        paths = list(sizes)
        for start in range(0, len(paths), _MANIFESTS):
            contents: dict[str, bytes] = {}
            portion = []
            for path in paths[start : start + _MANIFESTS]:
                try:
                    self._storage.permitted(f"{self.location}/{path}")
                    portion.append(path)
                except UnreadFileError as error:
                    found.damages[path] = Damage(path, DamageKind.OUTSIDE, error.problem)
            for path, content in zip(portion, self._read(portion)):
                if content is None:
                    found.damages[path] = Damage(path, DamageKind.MISSING)
                else:
                    contents[path] = content
            for path, value in zip(contents, decode(list(contents.values()), self._codecs)):
                size, real = sizes[path], len(contents[path])
                if isinstance(value, PaimonFormatError):
                    kind = DamageKind.TOO_LARGE if isinstance(value, LargeFileError) else DamageKind.UNREADABLE
                    found.damages[path] = Damage(path, kind, str(value))
                else:
                    found.values[path] = value
                if size is not None and size != real:
                    detail = f"{real} bytes, not {size}"
                    if path in found.damages:
                        detail += f"; {found.damages[path].detail}"
                    found.damages[path] = Damage(path, DamageKind.OTHER_SIZE, detail)
        return found

    def _check_listed(self, snapshot_id: int, damage: Damage) -> None:
        """Check if a file is missing because its snapshot has vanished.

        :raises SnapshotGoneError: if it has vanished
        """
        if damage.kind is not DamageKind.MISSING:
            return
        if snapshot_id in self.snapshot_ids() and not self._waited:
            time.sleep(self._patience)
            self._waited = True
        if snapshot_id not in self.snapshot_ids():
            raise SnapshotGoneError(snapshot_path(snapshot_id))

    def _read(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        return self._storage.read_present([f"{self.location}/{path}" for path in paths])

    def _names(self, directory: str) -> list[str]:
        try:
            return self._storage.list_names(f"{self.location}/{directory}")
        except MissingFileError:
            return []


def _listed(snapshot: Snapshot, lists: _Files[tuple[ManifestFile, ...]], *, base: bool) -> list[ManifestFile]:
    """Return the readable manifests in a snapshot's lists; without ``base``, only in its delta list."""
    found: list[ManifestFile] = []
    for file in (*([snapshot.base] if base else []), snapshot.delta):
        found += lists.values.get(manifest_path(file.name), ())
    return found


def _portions(snapshots: Sequence[Snapshot], lists: _Files[tuple[ManifestFile, ...]]) -> Iterator[tuple[int, int]]:
    """Yield runs of snapshots whose delta lists together name at most as many manifests as may be in memory."""
    start = size = 0
    for index, snapshot in enumerate(snapshots):
        delta: Sequence[ManifestFile] = lists.values.get(manifest_path(snapshot.delta.name), ())
        size += len(delta)
        if size > _MANIFESTS and index > start:
            yield start, index
            start, size = index, len(delta)
    if start < len(snapshots):
        yield start, len(snapshots)


def _parsed(parse: Callable[[bytes], T], content: bytes) -> T | PaimonFormatError:
    try:
        return parse(content)
    except PaimonFormatError as error:
        return error
