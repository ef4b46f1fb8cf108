"""Rules about snapshots and the newest one's files, for tables whose manifests are not available.

This is the case for access through a catalog.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.change_rules import NewIds, check_change, check_files, check_next_row_id
from airflow_delta_provider.domain.paimon.id_ranges import IdRanges, id_range, range_texts
from airflow_delta_provider.domain.paimon.layout import snapshot_path
from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import carries_ids
from airflow_delta_provider.domain.paimon.violation import listed, provenance
from airflow_delta_provider.domain.report.finding import Finding

#: Effect of rows that were merged from a branch on the table's readers.
BRANCH_EFFECT = (
    "Consumers that read changes by _SEQUENCE_NUMBER miss these rows; their ids differ from their ids in the branch."
)


def has_row_ids(snapshots: Sequence[Snapshot], files: Sequence[DataFile]) -> bool:
    """Return True if rows of a table have ids, or if there are no rows."""
    assigned = any(snapshot.next_row_id for snapshot in snapshots)
    return assigned or not files or any(file.first_row_id is not None or carries_ids(file) for file in files)


def check_snapshots(snapshots: Sequence[Snapshot], files: Sequence[DataFile]) -> Iterator[Finding]:
    """Yield problems of snapshots, which are in order, and of the live files of the newest one."""
    if not snapshots:
        return
    evolution = has_column_files(files)
    first, newest = snapshots[0], snapshots[-1]
    if first is newest and newest.id == 1:  # so its files are exactly the files that it added
        change = Change(newest, None, tuple(files), (), (), (), True)
        new = NewIds.of(change, tracked_before=False, data_evolution=evolution)
        yield from (_at(one.finding, newest) for one in check_change(change, new, newest.id))
    else:
        yield from (_at(finding, first) for finding in check_next_row_id(None, first))
        highest = max([newest.id, *(file.max_sequence for file in _of_branches(snapshots, files))])
        next_row_id = max((one.next_row_id for one in snapshots if one.next_row_id is not None), default=None)
        for violation in check_files(files, replace(newest, next_row_id=next_row_id), highest):
            yield replace(_at(violation.finding, newest), at_or_before=True)
    for before, after in pairwise(snapshots):
        if after.id == before.id + 1:
            yield from (_at(finding, after) for finding in check_next_row_id(before, after))
            yield from (_at(finding, after) for finding in _check_growth(before, after, files, evolution))
        else:
            yield missing_snapshots(before, after, range(before.id + 1, after.id))
    yield from _check_record_counts(snapshots, files)
    ranges = IdRanges()
    for file in files:
        for other in ranges.clashes(file, equal_allowed=evolution):
            finding = rules.OVERLAPPING_ROW_IDS.found(
                "{path} and {other} have the same row ids.", path=file.name, other=other.name
            )
            yield replace(_at(finding, newest), at_or_before=True)
        ranges.add(file)


def missing_snapshots(before: Snapshot, after: Snapshot, missing: Sequence[int]) -> Finding:
    """Return a finding: snapshots are missing between two others."""
    finding = rules.NEXT_ROW_ID_OR_SNAPSHOTS.found(
        "Between snapshots {before} and {after} there is no {missing}. The changes of those commits are not checked.",
        path=snapshot_path(missing[0]),
        before=before.id,
        after=after.id,
        missing=listed(map(str, missing)),
    )
    return replace(finding, **{**provenance(after), "version": missing[0]})


def has_column_files(files: Sequence[DataFile]) -> bool:
    """Return True if some files have columns of other files' rows, which means data evolution."""
    return any(file.first_row_id is not None and file.write_cols is not None for file in files)


def _check_growth(before: Snapshot, after: Snapshot, files: Sequence[DataFile], evolution: bool) -> Iterator[Finding]:
    """Check the ids that a commit assigned, with nextRowId and the number of rows."""
    first, now, rows = before.next_row_id, after.next_row_id, after.delta_record_count
    if first is None or now is None or now < first:
        return
    growth, new = now - first, range_texts([range(first, now)])
    if after.keeps_ids and growth:
        yield rules.NEW_IDS_FOR_OLD_ROWS.found(
            "{operation} assigned the new row ids {new}.", operation=after.operation, new=new
        )
    elif after.operation is None and growth and after.commit_kind == "COMPACT":
        yield rules.REASSIGNED.found(
            "The commit names no operation, kept the number of rows, and assigned the new row ids {new}.", new=new
        )
    elif after.operation is None and growth and _overwrites(after) and rows == 0:
        yield rules.REASSIGNED.found(
            "The commit names no operation, kept the number of rows, and assigned the new row ids {new}. Sort "
            "compaction writes the same rows again in this way, and an overwrite writes other rows; the metadata does "
            "not show which.",
            effect=rules.IF_SAME_ROWS,
            new=new,
            proven=False,
        )
    elif _of_branches((before, after), files):
        yield rules.REASSIGNED.found(
            "The commit added rows from elsewhere, as sys.merge_branch does: they have the new ids {new}, "
            "but the sequence numbers of the branch.",
            effect=BRANCH_EFFECT,
            new=new,
        )
    elif after.commit_kind == "APPEND" and not evolution and rows is not None and _differ(rows, growth, after):
        yield rules.GROWTH.found(
            "nextRowId grew from {first} to {now}, by {growth}, but the commit has {rows:new row}.",
            first=first,
            now=now,
            growth=growth,
            rows=rows,
        )


def _differ(rows: int, growth: int, after: Snapshot) -> bool:
    """Return True if a commit that adds files assigned a wrong number of ids for its new rows.

    Rows of files with columns of others also count, but have no new ids; WRITE adds no such files.
    """
    return growth != rows if after.operation == "WRITE" else growth > rows


def _overwrites(snapshot: Snapshot) -> bool:
    return snapshot.commit_kind == "OVERWRITE"


def _of_branches(snapshots: Sequence[Snapshot], files: Sequence[DataFile]) -> list[DataFile]:
    """Return the files that commits merged from branches, as their sequence numbers show."""
    return [
        file
        for before, after in pairwise(snapshots)
        if after.is_branch_merge
        for file in files
        if (ids := id_range(file))
        and (before.next_row_id or 0) <= ids.start < (after.next_row_id or 0)
        and file.min_sequence != after.id
    ]


def _check_record_counts(snapshots: Sequence[Snapshot], files: Sequence[DataFile]) -> Iterator[Finding]:
    """Check the row counts of snapshots.

    The newest count is checked against the live files, earlier ones against the changes of the commits after them.
    """
    rows = [sum(file.row_count for file in files), sum(file.row_count for file in files if file.holds_rows)]
    wrong: list[tuple[Snapshot, int]] = []
    good: list[int] = []
    later: int | None = None
    for snapshot in reversed(snapshots):
        if later is not None and snapshot.id != later - 1:
            break
        later = snapshot.id
        total, delta = snapshot.total_record_count, snapshot.delta_record_count
        if total is None or total in rows:
            good.append(snapshot.id)
        else:
            wrong.append((snapshot, rows[0]))
        if delta is None:
            break
        rows = [count - delta for count in rows]
    last: int | None = None
    for snapshot, count in reversed(wrong):
        excess = (snapshot.total_record_count or 0) - count
        if excess == last and snapshot.id - 1 not in good:
            continue
        last = excess
        finding = rules.RECORD_COUNT.found(
            "totalRecordCount is {recorded}; by the live files and what later commits changed, there are {rows:row}.",
            recorded=snapshot.total_record_count,
            rows=count,
        )
        healed = min((number for number in good if number > snapshot.id), default=None)
        yield replace(_at(finding, snapshot), healed_version=healed)


def _at(finding: Finding, snapshot: Snapshot) -> Finding:
    return replace(finding, **provenance(snapshot))
