"""The rows that must be read to compare a commit with the one before.

These are rows that a commit removed from a file, or added with one. In tables with data evolution, they are all rows of
an id range whose files changed. Rows that were only appended have the ids and the sequence in the metadata, and are not
read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from airflow_delta_provider.domain.paimon.id_ranges import id_range, joined
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import (
    Step,
    TableHistory,
    Vector,
    VectorKey,
    apply,
    carries_ids,
    vector_key,
    vectors_of,
)

#: Function that returns the rows that a deletion vector deletes in a file, as a bit set; 0 without a vector.
Deleted = Callable[[DataFile, "Vector | None"], int]


@dataclass(frozen=True)
class Occurrence:
    """Rows of a file as they were before a commit, or after it.

    :param step: number of the comparison
    :param without: rows that do not count, as a bit set of positions
    """

    file: DataFile
    step: int
    after: bool
    without: int = 0


@dataclass(frozen=True)
class Comparison:
    """Two consecutive snapshots, and the rows that may differ.

    :param before: snapshot before; None for the first of all, whose rows are checked on their own
    :param restored: True if the commit brought back files that the table had before
    """

    number: int
    snapshot: Snapshot
    before: Snapshot | None
    evolution: bool
    occurrences: tuple[Occurrence, ...]
    restored: bool = False

    @property
    def compaction(self) -> bool:
        """Return True if the commit claims to leave rows unchanged."""
        return self.snapshot.commit_kind == "COMPACT"


@dataclass
class ChangedRows:
    """Finds the rows that each commit of a history may have changed.

    :param deleted: function that reads deletion vectors
    """

    history: TableHistory
    deleted: Deleted
    _live: dict[FileKey, DataFile] = field(default_factory=dict)

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons of commits that have rows to read, preceded by the first snapshot if it has."""
        history = self.history
        evolution = history.schema.table_options().data_evolution
        start = history.start
        self._live = {file.key: file for file in start.files}
        vectors = vectors_of(start.index_files)
        if history.judged_start and not history.proven and not evolution:
            held = [
                Occurrence(file, 0, True, self.deleted(file, vectors.get(vector_key(file))))
                for file in start.files
                if carries_ids(file)
            ]
            if held:
                yield Comparison(0, start.snapshot, None, evolution, tuple(held))
        seen = {file.name for file in start.files}
        before = start.snapshot
        index_files = start.index_files
        for number, step in enumerate(history.steps, 1):
            after_vectors = vectors if step.index_files == index_files else vectors_of(step.index_files)
            find = self._of_groups if evolution else self._of_files
            found = tuple(find(number, step, vectors, after_vectors))
            # If a commit removes nothing and adds only files from before the history begins, the table has had them
            # before.
            older = not step.removed and all(file.max_sequence < start.snapshot.id for file in step.added)
            restored = older or any(file.name in seen for file in step.added)
            if found:
                yield Comparison(number, step.snapshot, before, evolution, found, restored)
            apply(self._live, step)
            seen |= {file.name for file in step.added}
            before, vectors, index_files = step.snapshot, after_vectors, step.index_files

    def _of_files(
        self, number: int, step: Step, before: Mapping[VectorKey, Vector], after: Mapping[VectorKey, Vector]
    ) -> Iterator[Occurrence]:
        taken = [
            Occurrence(file, number, False, self.deleted(file, before.get(vector_key(file)))) for file in step.removed
        ]
        brought: list[Occurrence] = []
        removed = {file.key for file in step.removed}
        for file in self._with_other_vectors(before, after):
            if file.key in removed:
                continue
            old, new = (self.deleted(file, vectors.get(vector_key(file))) for vectors in (before, after))
            whole = (1 << file.row_count) - 1
            if new & ~old:
                taken.append(Occurrence(file, number, False, whole & ~(new & ~old)))
            if old & ~new:
                brought.append(Occurrence(file, number, True, whole & ~(old & ~new)))
        brought += [
            Occurrence(file, number, True, self.deleted(file, after.get(vector_key(file))))
            for file in step.added
            if taken or carries_ids(file)
        ]
        if brought:
            yield from taken
            yield from brought

    def _of_groups(
        self, number: int, step: Step, before: Mapping[VectorKey, Vector], after: Mapping[VectorKey, Vector]
    ) -> Iterator[Occurrence]:
        """Yield the rows of id ranges whose files changed, if they had rows before."""
        changed = [*step.added, *step.removed]
        there = dict(self._live)
        now = dict(there)
        apply(now, step)
        ranges = _Ranges(changed)
        old = [file for file in there.values() if ranges.meet(file)]
        # Files that replace others may have their rows under other ids; files that are only added have their own rows.
        compared = ranges if step.removed and not step.renumbered else _Ranges(old)
        if not old or not any(compared.meet(file) for file in step.added):
            return
        new = [file for file in now.values() if compared.meet(file)]
        for files, vectors, is_after in ((old, before, False), (new, after, True)):
            for group in groups_of(files).values():
                without = 0
                for file in group:
                    without |= self.deleted(file, vectors.get(vector_key(file)))
                yield from (Occurrence(file, number, is_after, without) for file in group)

    def _with_other_vectors(
        self, before: Mapping[VectorKey, Vector], after: Mapping[VectorKey, Vector]
    ) -> Collection[DataFile]:
        if before is after:
            return ()
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        return [file for file in self._live.values() if vector_key(file) in changed] if changed else ()


def groups_of(files: Collection[DataFile]) -> dict[tuple[int, int], list[DataFile]]:
    """Return files that contain columns of the same rows, by their first row id and their number of rows."""
    groups: dict[tuple[int, int], list[DataFile]] = defaultdict(list)
    for file in files:
        if file.first_row_id is not None and file.holds_rows:
            groups[file.first_row_id, file.row_count].append(file)
    return groups


class _Ranges:
    """The row ids of files, according to the metadata."""

    def __init__(self, files: Collection[DataFile]) -> None:
        self._ranges = joined(ids for file in files if (ids := id_range(file)))

    def meet(self, file: DataFile) -> bool:
        """Return True if a file has one of the ids."""
        ids = id_range(file)
        if not ids:
            return False
        index = bisect_left(self._ranges, ids.stop, key=lambda other: other.start) - 1
        return index >= 0 and self._ranges[index].stop > ids.start
