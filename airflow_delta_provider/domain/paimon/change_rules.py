"""Rules about a commit, and about its changes to the snapshot before.

Apache Paimon, Row Tracking: at commit, consecutive ids are assigned to the rows of files that have none.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey, FileKind, FileSource
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import carries_ids, id_range
from airflow_delta_provider.domain.paimon.violations import Violation, listed
from airflow_delta_provider.domain.report.report import Finding, Severity

_COPY = (
    "If CALL sys.copy made this table: it copies files with the row ids that they have. Fill a new table with INSERT "
    "INTO … SELECT from the source instead, which assigns new ids. Do not write to this one."
)


@dataclass(frozen=True)
class NewIds:
    """The files of a commit that should have new ids.

    :param first: next free id before the commit; None if unknown
    :param assigned: files that begin at that id or above
    :param reissued: files that begin below it, do not have the ids of a file that the commit replaces, and did not
        exist before
    :param missing: files without any ids
    :param columns: files with columns of other files' rows, under the ids of these rows
    :param data_evolution: True if several files may have columns of the same rows
    :param stored: files that store ids, although all rows that the commit adds are new
    :param may_renumber: True if compaction may assign new ids to old rows
    """

    first: int | None
    assigned: tuple[DataFile, ...]
    reissued: tuple[DataFile, ...]
    missing: tuple[DataFile, ...]
    columns: tuple[DataFile, ...] = ()
    data_evolution: bool = False
    stored: tuple[DataFile, ...] = ()
    may_renumber: bool = True

    @classmethod
    def of(
        cls,
        change: Change,
        *,
        tracked_before: bool,
        data_evolution: bool,
        restored: Container[FileKey] = (),
        may_renumber: bool = True,
    ) -> NewIds:
        """Find the new ids among the files that a commit added.

        :param tracked_before: True if the snapshot before had row tracking; otherwise no id was assigned yet
        :param restored: files that the table had before and that return with their old ids
        :param data_evolution: True if files may have columns of other files' rows, and so their ids
        """
        missing = tuple(file for file in change.added if file.first_row_id is None and not carries_ids(file))
        ranged = sorted(
            ((ids, file) for file in change.added if (ids := id_range(file)) is not None),
            key=lambda pair: (pair[0].start, pair[0].stop),
        )
        first = _first(change, tracked_before)
        if first is None:
            return cls(None, (), (), missing)
        snapshot = change.snapshot
        only_new = snapshot.permits.added and not snapshot.permits.changed
        names = {file.name for file in change.deleted}
        replaced = set() if only_new else {id_range(file) for file in change.deleted}
        others = [file for file in change.added if file.key not in restored and file.name not in names]
        other_keys = {file.key for file in others}
        reissued = tuple(
            file for ids, file in ranged if ids.start < first and ids not in replaced and file.key in other_keys
        )
        assigned = tuple(file for ids, file in ranged if ids.start >= first)
        if data_evolution and not (only_new and change.deleted):
            # Files that replace others have their ids, even if the ranges differ.
            columns = () if change.deleted else reissued
            return cls(first, assigned, (), missing, columns, data_evolution, may_renumber=may_renumber)
        # Without data evolution, a commit that appends files cannot take rows from others.
        only_new |= snapshot.commit_kind == "APPEND" and not data_evolution
        only_new &= not snapshot.is_branch_merge
        stored = tuple(file for file in others if only_new and carries_ids(file))
        return cls(first, assigned, reissued, missing, (), data_evolution, stored, may_renumber)

    @property
    def ranges(self) -> list[range]:
        """The id ranges of the files in :attr:`assigned`.

        A range occurs once, even if several files have columns of its rows.
        """
        ranges = [ids for file in self.assigned if (ids := id_range(file))]
        return list(dict.fromkeys(ranges)) if self.data_evolution else ranges

    @property
    def rows(self) -> int:
        """The number of rows with new ids."""
        return sum(map(len, self.ranges))


def check_change(change: Change, new: NewIds, highest_sequence: int) -> Iterator[Violation]:
    """Yield the violations of a commit, as far as its snapshot, the one before, and its changes show them.

    :param highest_sequence: highest sequence number that its files may have
    """
    yield from map(Violation, check_next_row_id(change.previous, change.snapshot))
    if _is_copy(change, new):
        yield Violation.of_files(
            rules.ABOVE_NEXT_ROW_ID,
            "The commit added files with row ids that it did not assign, up to at least {highest}, and left nextRowId "
            "at {next_row_id}.",
            change.added,
            remedy=_COPY,
            inherited=True,
            highest=max(map(_lowest_end, change.added)) - 1,
            next_row_id=new.first,
        )
    else:
        yield from check_files(change.added, change.snapshot, highest_sequence)
        if not change.renumbered and not is_branch_merge(change, new):
            yield from _check_fresh_sequences((*new.assigned, *new.columns), change.snapshot)
        if change.complete:
            yield from _check_assigned_ids(change, new)
    yield from _check_removed(change)
    yield from _check_manifests(change)


def check_files(
    files: Iterable[DataFile], snapshot: Snapshot, highest_sequence: int | None = None
) -> Iterator[Violation]:
    """Yield problems of single files of a snapshot.

    :param highest_sequence: highest sequence number that they may have; None for the snapshot's id
    """
    files = tuple(files)
    yield from check_have_ids(files)
    next_row_id = snapshot.next_row_id
    above = [file for file in files if next_row_id is not None and _lowest_end(file) > next_row_id]
    if above:
        yield Violation.of_files(
            rules.ABOVE_NEXT_ROW_ID,
            "nextRowId is {next_row_id}, but files have row ids that are not below it: {files}.",
            above,
            inherited=True,
            next_row_id=next_row_id,
            files=listed(f"{file.name} up to {_lowest_end(file) - 1}" for file in above),
        )
    highest = snapshot.id if highest_sequence is None else highest_sequence
    wrong = [
        file
        for file in files
        if not (1 <= file.min_sequence <= highest and 1 <= file.max_sequence <= highest)
        # Besides rows of a branch, whose numbers may be higher, the file has rows with the commit's own number.
        or file.min_sequence > file.max_sequence != snapshot.id
    ]
    # Before Paimon 2.0, compaction recorded wrong numbers; the rows have their own numbers in the file.
    for compacted in (False, True):
        if some := [file for file in wrong if (file.source is FileSource.COMPACT) is compacted]:
            yield Violation.of_files(
                rules.SEQUENCE_NUMBERS,
                "Sequence numbers of files are not between 1 and {highest}: {files}."
                + (" Compaction by Paimon before 2.0 records such; the rows have their own." if compacted else ""),
                some,
                severity=Severity.WARNING if compacted else None,
                highest=highest,
                files=_sequences(some),
            )


def check_have_ids(files: Iterable[DataFile]) -> Iterator[Violation]:
    """Yield a violation if the rows of some files have no ids."""
    if missing := [file for file in files if file.first_row_id is None and not carries_ids(file)]:
        yield Violation.of_files(
            rules.NO_ROW_IDS,
            "Files have neither firstRowId in the manifest nor a column _ROW_ID: {files}.",
            missing,
            files=listed(file.name for file in missing),
        )


def is_branch_merge(change: Change, new: NewIds) -> bool:
    """Return True if a commit merged the files of a branch, as ``sys.merge_branch`` does.

    Such files have new ids, and the sequence numbers from the branch.
    """
    snapshot = change.snapshot
    return (
        snapshot.is_branch_merge
        and bool(new.assigned)
        and len(new.assigned) == len(change.added)
        and any(file.min_sequence != snapshot.id for file in new.assigned)
    )


def _is_copy(change: Change, new: NewIds) -> bool:
    """Return True if a commit added files with ids that it did not assign, as ``sys.copy`` does."""
    snapshot = change.snapshot
    next_row_id = snapshot.next_row_id
    unnamed = snapshot.commit_kind == "OVERWRITE" and snapshot.operation is None
    if not unnamed or not change.complete or next_row_id is None or next_row_id != new.first:
        return False
    return any(_lowest_end(file) > next_row_id for file in change.added)


def _lowest_end(file: DataFile) -> int:
    """Return the lowest possible value of the highest id of a file, plus one."""
    stored = file.row_count if carries_ids(file) else 0  # each row has a different id
    return max(stored, (id_range(file) or range(0)).stop)


def _first(change: Change, tracked_before: bool) -> int | None:
    if change.previous is None:
        return 0 if change.snapshot.id == 1 else None
    before = change.previous.next_row_id
    return 0 if before is None and not tracked_before else before


def check_next_row_id(previous: Snapshot | None, snapshot: Snapshot) -> Iterator[Finding]:
    """Yield problems of a snapshot's nextRowId."""
    now = snapshot.next_row_id
    if now is None:
        yield rules.NEXT_ROW_ID_OR_SNAPSHOTS.found("The snapshot has no nextRowId.")
        return
    before = None if previous is None else previous.next_row_id
    if before is not None and now < before:
        yield rules.NEXT_ROW_ID_OR_SNAPSHOTS.found(
            "nextRowId went back from {before} to {now}.", before=before, now=now
        )


def _check_fresh_sequences(files: Sequence[DataFile], snapshot: Snapshot) -> Iterator[Violation]:
    in_range = (file for file in files if 1 <= file.min_sequence <= file.max_sequence <= snapshot.id)
    other = [file for file in in_range if file.min_sequence != snapshot.id]
    if other:
        yield Violation.of_files(
            rules.SEQUENCE_NUMBERS,
            "New files have sequence numbers of other commits than their own, {own}: {files}.",
            other,
            own=snapshot.id,
            files=_sequences(other),
        )


def _check_assigned_ids(change: Change, new: NewIds) -> Iterator[Violation]:
    """Check that a commit assigned the next ids, each once."""
    if new.reissued:
        yield Violation.of_files(
            rules.NOT_TILED,
            "New files have row ids below {first}, which were assigned before: {files}.",
            new.reissued,
            inherited=True,
            first=new.first,
            files=listed(f"{file.name} from {file.first_row_id}" for file in new.reissued),
        )
    if new.stored:
        yield Violation.of_files(
            rules.NOT_TILED,
            "All rows that {operation} adds are new, but files store ids for them: {files}.",
            new.stored,
            inherited=True,
            operation=change.snapshot.name,
            files=listed(file.name for file in new.stored),
        )
    now = change.snapshot.next_row_id
    if new.first is None or now is None or now < new.first:
        return
    growth, rows = now - new.first, new.rows
    # Files without ids may have been meant to get some. Files that begin too low have used ids that others now lack.
    unexplained = (sum(file.row_count for file in files if file.holds_rows) for files in (new.missing, new.reissued))
    if growth not in (rows, *(rows + more for more in unexplained)):
        yield Violation.of_files(
            rules.GROWTH,
            "nextRowId grew from {first} to {now}, by {growth}, but the commit has {rows:new row}.",
            new.assigned,
            first=new.first,
            now=now,
            growth=growth,
            rows=rows,
        )
    if rows != growth:
        return
    if new.missing:
        return
    expected = new.first
    for ids in new.ranges:
        if ids.start != expected:
            yield Violation.of_files(
                rules.NOT_TILED,
                "The new row ids are {first} to {last}, but no new file begins at {expected}; the next one begins at "
                "{begins}.",
                new.assigned,
                inherited=True,
                first=new.first,
                last=now - 1,
                expected=expected,
                begins=ids.start,
            )
            return
        expected = ids.stop


def _check_removed(change: Change) -> Iterator[Violation]:
    """Check that a commit removed no file if it only adds rows, or does not change any."""
    snapshot = change.snapshot
    stays = snapshot.permits.added and not snapshot.permits.removed
    if not (stays or snapshot.commit_kind == "ANALYZE") or change.renumbered or not change.complete:
        return
    again = {file.name for file in change.added}
    if removed := [file.name for file in change.deleted if file.name not in again]:
        yield Violation(
            rules.NOT_AS_STATED.found(
                "{operation} ({kind}) removed files, which commits of this kind or operation do not: {files}.",
                path=removed[0] if len(removed) == 1 else None,
                operation=snapshot.operation or "The commit",
                kind=snapshot.commit_kind,
                files=listed(removed),
            )
        )


def _check_manifests(change: Change) -> Iterator[Violation]:
    if change.strays:
        texts = (
            f"{entry.file.name}, {'added though live' if entry.kind is FileKind.ADD else 'deleted though not live'}"
            for entry in change.strays
        )
        yield Violation(
            rules.CONTRADICTING_MANIFESTS.found(
                "The commit's manifests contradict the files that were live before: {files}.",
                path=change.strays[0].file.name if len(change.strays) == 1 else None,
                files=listed(texts),
            )
        )
    if change.rewritten:
        yield Violation(
            rules.CONTRADICTING_MANIFESTS.found(
                "The base of the commit differs from the previous snapshot in {files}.",
                path=change.rewritten[0].name if len(change.rewritten) == 1 else None,
                files=listed(dict.fromkeys(file.name for file in change.rewritten)),
            )
        )


def _sequences(files: Iterable[DataFile]) -> str:
    return listed(f"{file.name} from {file.min_sequence} to {file.max_sequence}" for file in files)
