"""The changes of a table's data files by its commits: the basis for choosing the rows to read."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from airflow_delta_provider.domain.paimon.index_manifest import DELETION_VECTORS, IndexFile, VectorRange
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.schema import TableSchema
from airflow_delta_provider.domain.paimon.snapshot import Snapshot


def id_range(file: DataFile) -> range | None:
    """Return the row ids that the manifest assigns to a file.

    None if the file stores them itself, or only has columns of other files' rows.
    """
    if file.first_row_id is None or not file.holds_rows:
        return None
    return range(file.first_row_id, file.first_row_id + file.row_count)


def joined(ranges: Iterable[range]) -> list[range]:
    """Return ranges of row ids in order; adjacent and overlapping ranges are joined."""
    found: list[range] = []
    for ids in sorted((ids for ids in ranges if ids), key=lambda ids: ids.start):
        if found and ids.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(ids.stop, found[-1].stop))
        else:
            found.append(ids)
    return found


def range_texts(ranges: Iterable[range]) -> list[str]:
    """Return ranges of row ids as strings; adjacent and overlapping ranges are joined."""
    return [str(ids.start) if len(ids) == 1 else f"{ids.start}-{ids.stop - 1}" for ids in joined(ranges)]


class IdRanges:
    """The row id ranges of live files, by their start."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._by_start: dict[int, dict[FileKey, DataFile]] = {}

    def replace(self, files: Iterable[DataFile]) -> None:
        """Replace all files."""
        self._by_start = {}
        for file in files:
            if ids := id_range(file):
                self._by_start.setdefault(ids.start, {})[file.key] = file
        self._starts = sorted(self._by_start)

    def add(self, file: DataFile) -> None:
        if ids := id_range(file):
            if ids.start not in self._by_start:
                insort(self._starts, ids.start)
            self._by_start.setdefault(ids.start, {})[file.key] = file

    def remove(self, file: DataFile) -> None:
        if (ids := id_range(file)) and file.key in (here := self._by_start.get(ids.start, {})):
            del here[file.key]
            if not here:
                del self._by_start[ids.start]
                self._starts.pop(bisect_left(self._starts, ids.start))

    def clashes(self, file: DataFile, *, equal_allowed: bool) -> Iterator[DataFile]:
        """Yield files that share row ids with this one.

        :param equal_allowed: True if files may have exactly the same ids, as with data evolution
        """
        ids = id_range(file)
        if not ids:
            return
        place = bisect_left(self._starts, ids.start)
        for index in range(max(place - 1, 0), len(self._starts)):
            start = self._starts[index]
            if start >= ids.stop:
                return
            for other in self._by_start[start].values():
                others = id_range(other) or range(0)
                if other.key != file.key and others.stop > ids.start and not (equal_allowed and others == ids):
                    yield other


#: Columns of data files with the values that rows kept from another file.
ROW_ID, SEQUENCE_NUMBER = "_ROW_ID", "_SEQUENCE_NUMBER"
#: Partition, bucket and name of a data file, with which a deletion vector names its data file.
VectorKey = tuple[bytes, int, str]


@dataclass(frozen=True)
class Vector:
    file: IndexFile
    range: VectorRange


def vectors_of(files: Iterable[IndexFile]) -> dict[VectorKey, Vector]:
    """Return the deletion vectors of a snapshot, by data file."""
    return {
        (file.partition, file.bucket, found.data_file): Vector(file, found)
        for file in files
        if file.type == DELETION_VECTORS
        for found in file.vectors
    }


def vector_key(file: DataFile) -> VectorKey:
    """Return the key for finding the deletion vector of a data file."""
    return file.partition, file.bucket, file.name


def carries_ids(file: DataFile) -> bool:
    """Return True if, according to its metadata, a file contains the ids of its rows."""
    return ROW_ID in (file.write_cols or ())


@dataclass(frozen=True)
class LiveState:
    """A table after a commit.

    :param files: live data files, blob and vector files included
    :param index_files: index files of the snapshot
    """

    snapshot: Snapshot
    files: tuple[DataFile, ...]
    index_files: tuple[IndexFile, ...] = ()


@dataclass(frozen=True)
class Step:
    """The changes of a commit.

    :param index_files: index files after it
    :param renumbered: True if the added files are the removed ones with other row ids
    """

    snapshot: Snapshot
    added: tuple[DataFile, ...]
    removed: tuple[DataFile, ...]
    index_files: tuple[IndexFile, ...] = ()
    renumbered: bool = False


@dataclass(frozen=True)
class TableHistory:
    """A table at a snapshot, and the commits since.

    :param schemas: schemas by id, with all schemas that data files use
    :param start: first state; nothing before it is known
    :param steps: changes in order; each snapshot's state is the one before plus its step
    :param judged_start: True if ``start`` must also be checked, not only the changes after it
    :param proven: True if ``start`` was checked before, so that its rows need not be read separately
    """

    schemas: Mapping[int, TableSchema]
    start: LiveState
    steps: tuple[Step, ...] = ()
    judged_start: bool = True
    proven: bool = False

    @cached_property
    def latest(self) -> LiveState:
        """The table after the last step."""
        live = {file.key: file for file in self.start.files}
        for step in self.steps:
            apply(live, step)
        last = self.steps[-1] if self.steps else self.start
        return LiveState(last.snapshot, tuple(live.values()), last.index_files)

    @cached_property
    def schema(self) -> TableSchema:
        return self.schemas[max(self.schemas)]

    @cached_property
    def added_by(self) -> dict[FileKey, Snapshot]:
        """The snapshot that added each file, as far as the steps show."""
        return {file.key: step.snapshot for step in self.steps for file in step.added}


def apply(live: dict[FileKey, DataFile], step: Step) -> None:
    """Update the live files of the snapshot before a step with the step's changes."""
    for file in step.removed:
        live.pop(file.key, None)
    for file in step.added:
        live[file.key] = file
