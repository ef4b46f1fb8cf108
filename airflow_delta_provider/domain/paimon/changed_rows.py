"""The rows that must be read to compare a commit with the one before.

These are rows that a commit removed from a file, or added with one. In tables with data evolution, they are all rows of
an id range whose files changed. Rows that were only appended have the ids and the sequence in the metadata, and are not
read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.change_rules import NewIds, is_branch_merge
from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.manifest_checks import Similarity
from airflow_delta_provider.domain.paimon.row_groups import Ranges, groups_of
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.snapshot_rules import BRANCH_EFFECT, BY_OPTIONS, may_renumber
from airflow_delta_provider.domain.paimon.table_history import (
    Step,
    TableHistory,
    Vector,
    VectorKey,
    apply,
    carries_ids,
    id_range,
    range_texts,
    vector_key,
    vectors_of,
)
from airflow_delta_provider.domain.paimon.violations import Violation, listed

#: Number of rows that deletion vectors delete, by snapshot id and data file.
DeletedRows = Mapping[int, Mapping[str, int]]
#: Function that reads the live files of branches, by name.
BranchFiles = Callable[[], Mapping[str, DataFile]]
#: Function that compares, by statistics, the rows of files with those of the files that they replace.
CompareRows = Callable[[Sequence[DataFile], Sequence[DataFile]], Similarity]


def check_new_ids(change: Change, new: NewIds, branch_files: BranchFiles) -> Iterator[Violation]:
    """Yield violations of a commit that gave new ids to rows that are not new, based on metadata alone."""
    if not change.complete:
        return
    snapshot = change.snapshot
    if change.renumbered:
        yield _reassigned(
            "The commit changed the row ids of {rows:row} in the manifests, as sys.reassign_row_id does: {old} became "
            "{new}.",
            change.deleted,
            new,
        )
    elif is_branch_merge(change, new):
        known = branch_files()
        yield _reassigned(
            "The commit added {rows:row} from elsewhere, as sys.merge_branch does: row ids {old} became "
            "{new}, but the sequence numbers {sequences} of the branch remain.",
            [known[file.name] for file in new.assigned if file.name in known],
            new,
            effect=BRANCH_EFFECT,
            sequences=_span(number for file in new.assigned for number in (file.min_sequence, file.max_sequence)),
        )
    elif new.assigned and _must_keep_ids(change, new):
        yield Violation.of_files(
            rules.NEW_IDS_FOR_OLD_ROWS,
            "{operation} wrote {rows:row} under the new row ids {new}.",
            new.assigned,
            remedy=BY_OPTIONS if snapshot.commit_kind == "COMPACT" else None,
            operation=snapshot.name,
            rows=new.rows,
            new=listed(range_texts(new.ranges)),
        )


def vectors_needed(change: Change, new: NewIds) -> tuple[Snapshot, ...]:
    """Return the snapshots whose deletion vectors :func:`check_rewritten` needs.

    Empty if it has nothing to check.
    """
    previous, snapshot = change.previous, change.snapshot
    if previous is None or not change.complete or change.renumbered:
        return ()
    if snapshot.states_changes:
        others = snapshot.index_manifest != previous.index_manifest
        rewritten = bool(change.deleted or change.added) and not (snapshot.permits.added or new.data_evolution)
        if others or rewritten or _is_rewrite(change, new):
            return previous, snapshot
    return (previous,) if _is_rewrite(change, new) else ()


def check_rewritten(
    change: Change, new: NewIds, deleted: DeletedRows, compare: CompareRows, live: Callable[[], Container[str]]
) -> Iterator[Violation]:
    """Yield violations of a commit, if :func:`vectors_needed` returned snapshots for it.

    :param live: function that returns the names of the files after the commit
    """
    if change.previous is None:
        return
    before, after = deleted.get(change.previous.id, {}), deleted.get(change.snapshot.id, {})
    is_rewrite, replaced = _is_rewrite(change, new), _replaced(change, new)
    if change.snapshot.states_changes:
        returned = list(_check_vectors(change, before, after, live))
        yield from returned or _check_row_count(change, new, _lost(change, new, before, after))
    if is_rewrite:
        if _count(replaced, before, new.data_evolution) == new.rows and _as_many(replaced, before, new):
            yield from _written_again(change, replaced, before, new, compare)
    elif _is_merge_by_vectors(change, new) and (by_vectors := sum(after.values()) - sum(before.values())) > 0:
        yield _reassigned(
            "MERGE deleted {gone:row} by deletion vectors and wrote {rows} with the new ids {new}: on this kind of "
            "table, rows that it updates get new ids. Only if it updated none did every row keep its id.",
            (),
            new,
            gone=by_vectors,
        )


def _check_vectors(
    change: Change, before: Mapping[str, int], after: Mapping[str, int], live: Callable[[], Container[str]]
) -> Iterator[Violation]:
    """Check that rows which deletion vectors delete do not return."""
    files = {file.name for file in (*change.deleted, *change.added)}
    fewer = [name for name, rows in before.items() if after.get(name, 0) < rows and name not in files]
    if fewer and (fewer := [name for name in fewer if name in live()]):
        yield Violation(
            rules.NOT_AS_STATED.found(
                "{operation} took away deletion vectors, or parts of them: {rows:row is|rows are} there again, in "
                "{files}.",
                path=fewer[0] if len(fewer) == 1 else None,
                operation=change.snapshot.name,
                rows=sum(before[name] - after.get(name, 0) for name in fewer),
                files=listed(fewer),
            )
        )


def _lost(change: Change, new: NewIds, before: Mapping[str, int], after: Mapping[str, int]) -> int:
    """Return the number of rows that the table has lost by a commit; 0 if files that share rows hide it."""
    kind = change.snapshot.commit_kind
    if new.data_evolution and kind == "COMPACT":
        return _count(_replaced(change, new), before, True) - new.rows if _is_rewrite(change, new) else 0
    if new.data_evolution:
        return sum(after.values()) - sum(before.values()) if kind == "APPEND" else 0
    removed = {file.name: before.get(file.name, 0) - file.row_count for file in change.deleted if file.holds_rows}
    added = {file.name: file.row_count - after.get(file.name, 0) for file in change.added if file.holds_rows}
    others = (before.keys() | after.keys()) - removed.keys() - added.keys()
    by_vectors = sum(after.get(name, 0) - before.get(name, 0) for name in others)
    return by_vectors - sum(removed.values()) - sum(added.values())


def _check_row_count(change: Change, new: NewIds, lost: int) -> Iterator[Violation]:
    snapshot, permits = change.snapshot, change.snapshot.permits
    counted = sum(file.row_count for file in change.added) - sum(file.row_count for file in change.deleted)
    known = snapshot.commit_kind == "ANALYZE" or (new.assigned and _must_keep_ids(change, new))
    if known or change.strays or snapshot.delta_record_count not in (None, counted):
        return  # another rule reports it
    if lost > 0 and snapshot.operation == "UPDATE":
        yield Violation(rules.LOST_ROWS.found("UPDATE left the table with {lost:row} fewer than before.", lost=lost))
    elif (lost > 0 and not permits.removed) or (lost < 0 and not permits.added):
        yield Violation(
            rules.NOT_AS_STATED.found(
                "{operation} left the table with {rows:row} {than} than before.",
                operation=snapshot.name,
                rows=abs(lost),
                than="fewer" if lost > 0 else "more",
            )
        )


def _written_again(
    change: Change, replaced: list[DataFile], before: Mapping[str, int], new: NewIds, compare: CompareRows
) -> Iterator[Violation]:
    """Yield a violation: a commit wrote rows again.

    An overwrite may also have written other rows, if nothing shows which.
    """
    is_overwrite = change.snapshot.commit_kind == "OVERWRITE"
    compared = not any(file.name in before for file in replaced)
    likeness = compare(replaced, new.assigned) if is_overwrite and compared else Similarity.UNKNOWN
    if not is_overwrite or likeness is Similarity.SAME:
        yield _reassigned(
            "The commit names no operation, and wrote {rows:row} again with new ids, as sort compaction and "
            "clustering do: {old} became {new}.",
            replaced,
            new,
        )
    elif likeness is not Similarity.OTHER:
        yield _reassigned(
            "The commit names no operation, and replaced {rows:row} by as many with new ids: {old} became {new}. "
            "Sort compaction writes the same rows again in this way, and an overwrite writes other rows; the metadata "
            "does not show which.",
            replaced,
            new,
            effect=rules.IF_SAME_ROWS,
            likeness=likeness.name.lower(),
        )


def _as_many(replaced: Iterable[DataFile], deleted: Mapping[str, int], new: NewIds) -> bool:
    """Return True if each partition has as many rows as before, or if files may share rows."""
    if new.data_evolution:
        return True
    rows: Counter[bytes] = Counter()
    for file in replaced:
        rows[file.partition] += file.row_count - deleted.get(file.name, 0)
    for file in new.assigned:
        rows[file.partition] -= file.row_count
    return not any(rows.values())


def _reassigned(evidence: str, old: Iterable[DataFile], new: NewIds, **facts: Any) -> Violation:
    old = tuple(old)
    stored = sum(carries_ids(file) for file in old)
    texts = range_texts(ids for file in old if (ids := id_range(file)))
    before = " and ".join(filter(None, (listed(texts), f"those stored in {stored} files" if stored else "")))
    facts |= {"rows": new.rows, "old": before or "that are not known", "new": listed(range_texts(new.ranges))}
    return Violation(rules.REASSIGNED.found(evidence, **facts))


def _is_rewrite(change: Change, new: NewIds) -> bool:
    """Return True if a commit may have written rows again with new ids.

    These are all rows, or some of them if files may share rows.
    """
    kind = change.snapshot.commit_kind
    unnamed = (change.snapshot.operation is None and kind == "OVERWRITE") or (kind == "COMPACT" and new.may_renumber)
    whole = len(new.assigned) == sum(file.holds_rows for file in change.added)
    return unnamed and bool(change.deleted) and bool(new.assigned) and (whole or new.data_evolution)


def _is_merge_by_vectors(change: Change, new: NewIds) -> bool:
    """Return True if a MERGE deleted rows with deletion vectors and wrote others.

    This applies to tables where MERGE cannot update columns in separate files.
    """
    snapshot, previous = change.snapshot, change.previous
    return (
        snapshot.operation == "MERGE"
        and bool(new.assigned)
        and not new.data_evolution
        and snapshot.index_manifest is not None
        and (previous is None or snapshot.index_manifest != previous.index_manifest)
        and not any(carries_ids(file) for file in change.added)
    )


def _must_keep_ids(change: Change, new: NewIds) -> bool:
    """Return True if nothing permits a commit to assign ids."""
    snapshot = change.snapshot
    return snapshot.keeps_ids or (snapshot.commit_kind == "COMPACT" and not new.may_renumber)


def _replaced(change: Change, new: NewIds) -> list[DataFile]:
    """Return the files whose rows a commit wrote again, except files replaced by others with the same ids."""
    kept = [ids for file in change.added if file not in new.assigned and (ids := id_range(file))]
    return [
        file
        for file in change.deleted
        if file.holds_rows and not any(_is_within(id_range(file), others) for others in kept)
    ]


def _is_within(ids: range | None, others: range) -> bool:
    if not ids:
        return False
    return others.start <= ids.start and ids.stop <= others.stop


def _count(files: Iterable[DataFile], deleted: Mapping[str, int], data_evolution: bool) -> int:
    """Return the number of rows in files, without deleted ones.

    Files with columns of the same rows count once.
    """
    rows: dict[object, int] = {}
    for file in files:
        if file.holds_rows:
            key = id_range(file) if data_evolution else file.key
            left = file.row_count - deleted.get(file.name, 0)
            rows[key] = min(left, rows.get(key, left))
    return sum(rows.values())


def _span(numbers: Iterable[int]) -> str:
    numbers = sorted(set(numbers))
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


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
    :param may_renumber: True if compaction may assign new ids to old rows
    """

    number: int
    snapshot: Snapshot
    before: Snapshot | None
    evolution: bool
    occurrences: tuple[Occurrence, ...]
    restored: bool = False
    may_renumber: bool = True

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
                renumbers = may_renumber(history.schemas.values(), step.snapshot)
                yield Comparison(number, step.snapshot, before, evolution, found, restored, renumbers)
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
        ranges = Ranges.of(changed)
        old = [file for file in there.values() if ranges.meet(id_range(file))]
        # Files that replace others may have their rows under other ids; files that are only added have their own rows.
        compared = ranges if step.removed and not step.renumbered else Ranges.of(old)
        if not old or not any(compared.meet(id_range(file)) for file in step.added):
            return
        new = [file for file in now.values() if compared.meet(id_range(file))]
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
