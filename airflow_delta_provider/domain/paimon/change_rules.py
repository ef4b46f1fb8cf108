"""Rules about a commit, and about what it changes of the snapshot before.

Apache Paimon, Row Tracking: ids are given out at commit, one after the other, to the rows of files that have none.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.id_ranges import id_range
from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey, FileKind, FileSource
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import ROW_ID, carries_ids
from airflow_delta_provider.domain.paimon.violation import Violation, listed
from airflow_delta_provider.domain.report.verdict import Severity


@dataclass(frozen=True)
class NewIds:
    """The files of a commit whose ids it should have given out.

    :param first: the id that was the next one; None where that is not known
    :param assigned: files that begin at that id or above
    :param reissued: files that begin below, have the ids of no file that the commit replaces, and were not there before
    :param missing: files without any ids
    :param columns: files with columns of rows of others, under the ids of those
    """

    first: int | None
    assigned: tuple[DataFile, ...]
    reissued: tuple[DataFile, ...]
    missing: tuple[DataFile, ...]
    columns: tuple[DataFile, ...] = ()

    @classmethod
    def of(
        cls, change: Change, *, tracked_before: bool, data_evolution: bool, restored: Container[FileKey] = ()
    ) -> NewIds:
        """Find them among what a commit added.

        :param tracked_before: whether the snapshot before had row tracking: without, no id was given out
        :param restored: files that the table had before, which come back with the ids that were theirs
        :param data_evolution: whether files may have columns of the rows of others, and so their ids
        """
        missing = tuple(file for file in change.added if file.first_row_id is None and not carries_ids(file))
        ranged = sorted(
            ((ids, file) for file in change.added if (ids := id_range(file)) is not None),
            key=lambda pair: (pair[0].start, pair[0].stop),
        )
        first = _first(change, tracked_before)
        if first is None:
            return cls(None, (), (), missing)
        replaced = {id_range(file) for file in change.deleted}
        reissued = (
            file for ids, file in ranged if ids.start < first and ids not in replaced and file.key not in restored
        )
        assigned = tuple(file for ids, file in ranged if ids.start >= first)
        if not data_evolution:
            return cls(first, assigned, tuple(reissued), missing)
        # What a commit puts in the place of files is none of its own, whatever ranges these had.
        columns = () if change.deleted else tuple(reissued)
        return cls(first, assigned, (), missing, columns)


def check_change(change: Change, new: NewIds) -> Iterator[Violation]:
    """Yield what a commit broke, as far as its snapshot, the one before, and what it changed can tell."""
    yield from _check_next_row_id(change)
    yield from check_files(change.added, change.snapshot)
    yield from _check_fresh_sequences((*new.assigned, *new.columns), change.snapshot)
    if change.complete:
        yield from _check_ids_given_out(change, new)
    yield from _check_manifests(change)


def check_files(files: Iterable[DataFile], snapshot: Snapshot) -> Iterator[Violation]:
    """Yield what is wrong with single files of a snapshot."""
    files = tuple(files)
    yield from check_have_ids(files)
    next_row_id = snapshot.next_row_id
    above = [file for file in files if next_row_id is not None and (id_range(file) or range(0)).stop > next_row_id]
    if above:
        texts = (f"{file.name} up to {(id_range(file) or range(0)).stop - 1}" for file in above)
        yield Violation.of_files(
            rules.ABOVE_NEXT_ROW_ID,
            f"Files give out row ids that are not below nextRowId {next_row_id}: {listed(texts)}. The next insert "
            "gives them out again.",
            above,
            inherited=True,
        )
    wrong = [file for file in files if not 1 <= file.min_sequence <= file.max_sequence <= snapshot.id]
    # Before Paimon 2.0 compaction got these wrong; the rows have their own numbers in the file.
    for compacted in (False, True):
        if some := [file for file in wrong if (file.source is FileSource.COMPACT) is compacted]:
            texts = (f"{file.name} from {file.min_sequence} to {file.max_sequence}" for file in some)
            told = " Compaction of Paimon before 2.0 writes such; the rows have their own numbers." if compacted else ""
            yield Violation.of_files(
                rules.SEQUENCE_NUMBERS,
                f"Sequence numbers of files are not between 1 and the snapshot's id, {snapshot.id}: "
                f"{listed(texts)}.{told}",
                some,
                Severity.WARNING if compacted else None,
            )


def check_have_ids(files: Iterable[DataFile]) -> Iterator[Violation]:
    """Yield what is wrong if the rows of some files have no ids."""
    if missing := [file for file in files if file.first_row_id is None and not carries_ids(file)]:
        yield Violation.of_files(
            rules.NO_ROW_IDS,
            f"{_files(missing)} neither firstRowId in the manifest nor a column {ROW_ID}: reading {ROW_ID} fails.",
            missing,
        )


def _first(change: Change, tracked_before: bool) -> int | None:
    if change.previous is None:
        return 0 if change.snapshot.id == 1 else None
    before = change.previous.next_row_id
    return 0 if before is None and not tracked_before else before


def _check_next_row_id(change: Change) -> Iterator[Violation]:
    now = change.snapshot.next_row_id
    if now is None:
        yield Violation(
            rules.NEXT_ROW_ID_OR_SNAPSHOTS, "The snapshot has no nextRowId: the next commit cannot give out ids."
        )
        return
    before = None if change.previous is None else change.previous.next_row_id
    if before is not None and now < before:
        yield Violation(
            rules.NEXT_ROW_ID_OR_SNAPSHOTS,
            f"nextRowId went back from {before} to {now}: ids from {now} on, which were given out, are so again.",
        )


def _check_fresh_sequences(files: Sequence[DataFile], snapshot: Snapshot) -> Iterator[Violation]:
    in_range = (file for file in files if 1 <= file.min_sequence <= file.max_sequence <= snapshot.id)
    other = [file for file in in_range if file.min_sequence != snapshot.id]
    if other:
        texts = (f"{file.name} from {file.min_sequence} to {file.max_sequence}" for file in other)
        yield Violation.of_files(
            rules.SEQUENCE_NUMBERS,
            f"New files have sequence numbers of other commits than their own, {snapshot.id}: {listed(texts)}.",
            other,
        )


def _check_ids_given_out(change: Change, new: NewIds) -> Iterator[Violation]:
    """Judge whether the ids that a commit gave out are those that were next, each given once."""
    if new.reissued:
        texts = (f"{file.name} from {file.first_row_id}" for file in new.reissued)
        yield Violation.of_files(
            rules.NOT_TILED,
            f"Files give out row ids below {new.first}, which were given out before: {listed(texts)}.",
            new.reissued,
            inherited=True,
        )
    now = change.snapshot.next_row_id
    if new.first is None or now is None or now < new.first:
        return
    growth, rows = now - new.first, sum(file.row_count for file in new.assigned)
    # Files without ids may have been to get some; those that begin too low have used up what others lack.
    unexplained = (sum(file.row_count for file in files if file.holds_rows) for files in (new.missing, new.reissued))
    if growth not in (rows, *(rows + more for more in unexplained)):
        yield Violation.of_files(
            rules.GROWTH,
            f"nextRowId went from {new.first} to {now}, by {growth}; the commit has {rows} new rows.",
            new.assigned,
        )
    if rows != growth:
        return
    if new.missing:
        return
    expected = new.first
    for file in new.assigned:
        if file.first_row_id != expected:
            yield Violation.of_files(
                rules.NOT_TILED,
                f"The new files do not share out the ids from {new.first} to {now - 1}: {file.name} begins at "
                f"{file.first_row_id}, where {expected} was next.",
                new.assigned,
                inherited=True,
            )
            return
        expected += file.row_count


def _check_manifests(change: Change) -> Iterator[Violation]:
    if change.strays:
        texts = (
            f"{entry.file.name}, {'added though live' if entry.kind is FileKind.ADD else 'deleted though not live'}"
            for entry in change.strays
        )
        yield Violation(
            rules.CONTRADICTING_MANIFESTS,
            f"The commit's manifests contradict the files that were live before: {listed(texts)}.",
            path=change.strays[0].file.name if len(change.strays) == 1 else None,
        )
    if change.rewritten:
        names = listed(dict.fromkeys(file.name for file in change.rewritten))
        yield Violation(
            rules.CONTRADICTING_MANIFESTS,
            f"The base of the commit is not the snapshot before it: it has otherwise, or lacks, {names}.",
            path=change.rewritten[0].name if len(change.rewritten) == 1 else None,
        )


def _files(files: Sequence[DataFile]) -> str:
    names = listed(file.name for file in files)
    return f"{names} has" if len(files) == 1 else f"{names} have"
