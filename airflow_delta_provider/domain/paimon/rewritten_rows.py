"""Commits that write rows again: checks that rows kept their ids and are complete (PM13, PM19, PM20).

Paimon itself gives new ids to unchanged rows: in sort compaction and incremental clustering, in compaction that
rewrites row ids, in MERGE on tables with deletion vectors, in ``sys.reassign_row_id``, and in ``sys.merge_branch`` for
the rows of a branch. The metadata and the rows that deletion vectors delete show this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.change_rules import NewIds, is_branch_merge
from airflow_delta_provider.domain.paimon.id_ranges import id_range, range_texts
from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.snapshot_rules import BRANCH_EFFECT
from airflow_delta_provider.domain.paimon.table_history import carries_ids
from airflow_delta_provider.domain.paimon.violation import Violation, listed

#: Number of rows that deletion vectors delete, by snapshot id and data file.
DeletedRows = Mapping[int, Mapping[str, int]]
#: Function that reads the live files of branches, by name.
BranchFiles = Callable[[], Mapping[str, DataFile]]
#: Function that decides from statistics whether files may have the rows of others that they replace; None if unknown.
MayBeSame = Callable[[Sequence[DataFile], Sequence[DataFile]], bool | None]


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
    elif new.assigned and snapshot.keeps_ids:
        yield Violation.of_files(
            rules.NEW_IDS_FOR_OLD_ROWS,
            "{operation} wrote {rows:row} under the new row ids {new}.",
            new.assigned,
            operation=snapshot.operation,
            rows=new.rows,
            new=listed(range_texts(new.ranges)),
        )


def vectors_needed(change: Change, new: NewIds) -> tuple[Snapshot, ...]:
    """Return the snapshots whose deletion vectors :func:`check_rewritten` needs.

    Empty if it has nothing to check.
    """
    previous = change.previous
    if previous is None or not change.complete or change.renumbered:
        return ()
    if _is_rewrite(change, new):
        return (previous,)
    checked = _is_merge_by_vectors(change, new) or (_is_update(change) and not new.data_evolution)
    return (previous, change.snapshot) if checked else ()


def check_rewritten(change: Change, new: NewIds, deleted: DeletedRows, may_be_same: MayBeSame) -> Iterator[Violation]:
    """Yield violations of a commit, if :func:`vectors_needed` returned snapshots for it."""
    if change.previous is None:
        return
    before, after = deleted.get(change.previous.id, {}), deleted.get(change.snapshot.id, {})
    gone = sum(after.values()) - sum(before.values())
    if _is_rewrite(change, new):
        replaced = _replaced(change, new)
        if _count(replaced, before, new.data_evolution) == new.rows and _as_many(replaced, before, new):
            yield from _written_again(change, replaced, before, new, may_be_same)
    elif _is_update(change):
        # The vector of a deleted file disappears with it.
        lost = _count(change.deleted, {}, False) - _count(change.added, {}, False) + gone
        if lost > 0:
            yield Violation(
                rules.LOST_ROWS.found("UPDATE left the table with {lost:row} fewer than before.", lost=lost)
            )
    elif gone > 0:
        yield _reassigned(
            "MERGE deleted {gone:row} by deletion vectors and wrote {rows} with the new ids {new}: on this kind of "
            "table, rows that it updates get new ids. Only if it updated none did every row keep its id.",
            (),
            new,
            gone=gone,
        )


def _written_again(
    change: Change, replaced: list[DataFile], before: Mapping[str, int], new: NewIds, may_be_same: MayBeSame
) -> Iterator[Violation]:
    """Yield a violation: a commit wrote rows again.

    An overwrite may also have written other rows, if nothing shows which.
    """
    is_overwrite = change.snapshot.commit_kind == "OVERWRITE"
    compared = not any(file.name in before for file in replaced)
    same = may_be_same(replaced, new.assigned) if is_overwrite and compared else None
    if not is_overwrite or same:
        yield _reassigned(
            "The commit names no operation, and wrote {rows:row} again with new ids, as sort compaction and "
            "clustering do: {old} became {new}.",
            replaced,
            new,
        )
    elif same is None:
        yield _reassigned(
            "The commit names no operation, and replaced {rows:row} by as many with new ids: {old} became {new}. "
            "Sort compaction writes the same rows again in this way, and an overwrite writes other rows; the metadata "
            "does not show which.",
            replaced,
            new,
            effect=rules.IF_SAME_ROWS,
            proven=False,
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
    unnamed = change.snapshot.operation is None and change.snapshot.commit_kind in ("OVERWRITE", "COMPACT")
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


def _is_update(change: Change) -> bool:
    return change.snapshot.operation == "UPDATE"


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
