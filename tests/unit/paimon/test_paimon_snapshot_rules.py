"""What snapshots and the newest one's files show without manifests: sound histories, and damages to copies of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.snapshot_rules import check_snapshots, has_row_ids
from tests.tables.paimon.archive import HISTORIES, table_of
from tests.unit.paimon_tables import PaimonTable

W, DE = "worked/05_delete", "big/de/08_merge"
Shown = tuple[list[Snapshot], list[DataFile]]
Told = list[tuple[str, int | None, int | None]]


def shown(root: Path) -> Shown:
    """Return what a catalog shows of a table."""
    table = PaimonTable(root)
    snapshots = [table.snapshot(number) for number in table.snapshot_ids()]
    return snapshots, list(table.live_files(snapshots[-1]))


def told(snapshots: list[Snapshot], files: list[DataFile]) -> Told:
    return [(one.code, one.version, one.healed_version) for one in check_snapshots(snapshots, files)]


@pytest.mark.parametrize("name", HISTORIES)
def test_sound_histories_have_no_finding_from_any_snapshot_on(paimon_archive: Path, name: str) -> None:
    snapshots, files = shown(table_of(paimon_archive, name))

    for start in range(len(snapshots)):
        assert told(snapshots[start:], files) == []
    assert has_row_ids(snapshots, files)


@pytest.mark.parametrize(("name", "snapshot"), [("sort_compact_z", 3), ("sort_compact_m", 4)])
def test_sort_compaction_reassigns(paimon_archive: Path, name: str, snapshot: int) -> None:
    assert told(*shown(table_of(paimon_archive, f"real_violation/{name}"))) == [("PM13", snapshot, None)]


def change(number: int, **values: Any) -> Callable[[Shown], None]:
    def edit(seen: Shown) -> None:
        snapshots, _ = seen
        index = next(index for index, snapshot in enumerate(snapshots) if snapshot.id == number)
        snapshots[index] = replace(snapshots[index], **values)

    return edit


def both(*edits: Callable[[Shown], None]) -> Callable[[Shown], None]:
    def edit(seen: Shown) -> None:
        for one in edits:
            one(seen)

    return edit


def drop(number: int) -> Callable[[Shown], None]:
    def edit(seen: Shown) -> None:
        seen[0][:] = [snapshot for snapshot in seen[0] if snapshot.id != number]

    return edit


def commit(rows: int, growth: int, sequence: int = 0, **values: Any) -> Callable[[Shown], None]:
    """Add a commit, with a file that has the new ids."""

    def edit(seen: Shown) -> None:
        snapshots, files = seen
        last = snapshots[-1]
        first, number = last.next_row_id or 0, last.id + 1
        total = (last.total_record_count or 0) + rows
        made = {"id": number, "next_row_id": first + growth, "total_record_count": total, "delta_record_count": rows}
        snapshots.append(replace(last, **{**made, **values}))
        if growth:
            numbers = {"min_sequence": sequence or number, "max_sequence": sequence or number}
            fresh = {"first_row_id": first, "row_count": growth, "write_cols": None, "name": "data-new.parquet"}
            files[:] = [*files[: len(files) - (growth - rows)], files[0]._replace(**fresh, **numbers)]

    return edit


def resized(rows: int, **values: Any) -> Callable[[Shown], None]:
    """Add a commit after which a file that stores its ids has other rows."""

    def edit(seen: Shown) -> None:
        commit(rows, 0, **values)(seen)
        files = seen[1]
        index = next(index for index, file in enumerate(files) if file.first_row_id is None)
        files[index] = files[index]._replace(row_count=files[index].row_count + rows)

    return edit


def copy(seen: Shown) -> None:
    snapshots, files = seen
    seen[0][:] = [replace(snapshots[0], commit_kind="OVERWRITE", operation=None, next_row_id=0)]
    seen[1][:] = [file._replace(first_row_id=7 + number) for number, file in enumerate(files)]


APPEND: dict[str, Any] = {"commit_kind": "APPEND", "operation": None}
DAMAGES: dict[str, tuple[Callable[[Shown], None], Told]] = {
    "no nextRowId": (change(4, next_row_id=None), [("PM03", 4, None)]),
    "nextRowId went back": (change(4, next_row_id=1), [("PM03", 4, None)]),
    "a snapshot is missing": (drop(3), [("PM03", 3, None)]),
    "nextRowId grew too much": (commit(1, 1, **APPEND, next_row_id=9), [("PM04", 5, None)]),
    "a count is wrong for a while": (change(2, total_record_count=9), [("PM11", 2, 3)]),
    "a count is wrong since": (
        both(change(3, total_record_count=9), change(4, total_record_count=8)),
        [("PM11", 3, None)],
    ),
    "an UPDATE assigns ids": (commit(0, 1, commit_kind="OVERWRITE", operation="UPDATE"), [("PM19", 5, None)]),
    "an APPEND removes rows": (resized(-1, **APPEND), [("PM23", 5, None)]),
    "a compaction adds rows": (resized(1, commit_kind="COMPACT", operation=None), [("PM23", 5, None)]),
    "a DELETE adds rows": (resized(1, commit_kind="OVERWRITE", operation="DELETE"), [("PM23", 5, None)]),
    "clustering": (commit(0, 1, commit_kind="COMPACT", operation=None), [("PM13", 5, None)]),
    "row ids reassigned in manifests": (commit(0, 1, commit_kind="OVERWRITE", operation=None), [("PM13", 5, None)]),
    "a branch merged": (commit(1, 1, 9, **APPEND, commit_identifier=0), [("PM13", 5, None)]),
    "the sequence number of a later commit": (commit(1, 1, 9, **APPEND), [("PM09", 5, None)]),
    "a copy of another table": (copy, [("PM06", 1, None)]),
}


@pytest.mark.parametrize(("damage", "expected"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_found_at_its_snapshot(paimon_archive: Path, damage: Callable[[Shown], None], expected: Told) -> None:
    seen = shown(table_of(paimon_archive, W))
    damage(seen)

    assert told(*seen) == expected


def test_a_table_without_row_tracking_has_no_row_ids(paimon_archive: Path) -> None:
    snapshots, files = shown(table_of(paimon_archive, W))
    untracked = [replace(snapshot, next_row_id=0) for snapshot in snapshots]

    assert has_row_ids(untracked, files)
    assert not has_row_ids(untracked, [file._replace(first_row_id=None, write_cols=None) for file in files])
