"""Commits of Paimon's own that give rows new ids though nobody changed them: sort compaction, and MERGE on tables
with deletion vectors. Both can be told by metadata and the rows that deletion vectors delete."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.change_rules import NewIds
from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import carries_ids
from airflow_delta_provider.domain.paimon.violation import Violation


def vectors_needed(change: Change, new: NewIds, *, data_evolution: bool) -> tuple[Snapshot, ...]:
    """Return the snapshots whose deletion vectors it takes to tell: none where nothing can have been reassigned.

    :param data_evolution: whether MERGE writes the columns that it updates beside the others, under the same ids
    """
    previous = change.previous
    if previous is None or not new.assigned or not change.complete:
        return ()
    if _is_rewrite(change, new):
        return (previous,)
    return (previous, change.snapshot) if _is_merge_by_vectors(change) and not data_evolution else ()


def check_reassigned(change: Change, new: NewIds, deleted: Mapping[int, Mapping[str, int]]) -> Violation | None:
    """Return what is wrong with a commit that :func:`vectors_needed` names snapshots for.

    :param deleted: by the snapshot's id, how many rows of which data file deletion vectors delete
    """
    previous = change.previous
    if previous is None:
        return None
    before = deleted.get(previous.id, {})
    written = sum(file.row_count for file in new.assigned)
    if _is_rewrite(change, new):
        read = sum(file.row_count - before.get(file.name, 0) for file in change.deleted)
        if read != written:
            return None
        return Violation(
            rules.REASSIGNED,
            f"{written} rows were written anew, and all of them have new ids, from {new.first} on. The commit says no "
            "operation and kept their number, as sort compaction does.",
        )
    gone = sum(deleted.get(change.snapshot.id, {}).values()) - sum(before.values())
    if gone <= 0:
        return None
    return Violation(
        rules.REASSIGNED,
        f"MERGE deleted {gone} rows by deletion vectors and wrote {written} with new ids, from {new.first} on: on this "
        "kind of table rows that it updates lose theirs. Only if all of those were deleted, and none updated, did "
        "every row keep its id.",
    )


def _is_rewrite(change: Change, new: NewIds) -> bool:
    unnamed = change.snapshot.operation is None and change.snapshot.commit_kind in ("OVERWRITE", "COMPACT")
    return unnamed and bool(change.deleted) and len(new.assigned) == len(change.added)


def _is_merge_by_vectors(change: Change) -> bool:
    snapshot, previous = change.snapshot, change.previous
    return (
        snapshot.operation == "MERGE"
        and snapshot.index_manifest is not None
        and (previous is None or snapshot.index_manifest != previous.index_manifest)
        and not any(carries_ids(file) for file in change.added)
    )
