"""What the commits of a table did with its data files: all that is needed to choose which rows to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from airflow_delta_provider.domain.paimon.index_manifest import DELETION_VECTORS, IndexFile, VectorRange
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_schema import TableSchema

#: The columns of data files that hold what rows took along from another file.
ROW_ID, SEQUENCE_NUMBER = "_ROW_ID", "_SEQUENCE_NUMBER"
#: Partition, bucket and name of a data file: what a deletion vector says of the file that it is about.
VectorKey = tuple[bytes, int, str]


@dataclass(frozen=True)
class Vector:
    """A deletion vector and the index file that it is in."""

    file: IndexFile
    range: VectorRange


def vectors_of(files: Iterable[IndexFile]) -> dict[VectorKey, Vector]:
    """Return the deletion vectors of a snapshot by the data file that each is about."""
    return {
        (file.partition, file.bucket, found.data_file): Vector(file, found)
        for file in files
        if file.type == DELETION_VECTORS
        for found in file.vectors
    }


def vector_key(file: DataFile) -> VectorKey:
    """Return what the deletion vector of a data file is found by."""
    return file.partition, file.bucket, file.name


def carries_ids(file: DataFile) -> bool:
    """Whether, by its metadata, a file holds the ids of its rows itself."""
    return ROW_ID in (file.write_cols or ())


@dataclass(frozen=True)
class LiveState:
    """A table after a commit.

    :param files: live data files, those of blobs and vectors among them
    :param index_files: those of the snapshot
    """

    snapshot: Snapshot
    files: tuple[DataFile, ...]
    index_files: tuple[IndexFile, ...] = ()


@dataclass(frozen=True)
class Step:
    """What a commit did.

    :param index_files: those after it
    :param renumbered: whether the files that were added are those that were removed, under other row ids
    """

    snapshot: Snapshot
    added: tuple[DataFile, ...]
    removed: tuple[DataFile, ...]
    index_files: tuple[IndexFile, ...] = ()
    renumbered: bool = False


@dataclass(frozen=True)
class TableHistory:
    """A table at a snapshot, and the commits since.

    :param schemas: by id, those of all data files among them
    :param start: nothing is known of what was before
    :param steps: in order; the state of a snapshot is that of the one before and its step
    :param judged_start: whether ``start`` is to be checked, or only what came after it
    :param proven: whether it was checked before, so that its rows need no reading of their own
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
        """The newest schema."""
        return self.schemas[max(self.schemas)]

    @cached_property
    def added_by(self) -> dict[FileKey, Snapshot]:
        """The snapshot that added each file, as far as the steps show."""
        return {file.key: step.snapshot for step in self.steps for file in step.added}


def apply(live: dict[FileKey, DataFile], step: Step) -> None:
    """Make the live files of the snapshot before a step those of the step's own."""
    for file in step.removed:
        live.pop(file.key, None)
    for file in step.added:
        live[file.key] = file
