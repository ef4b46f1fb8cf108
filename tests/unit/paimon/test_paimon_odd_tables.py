"""Tables that look odd and are well: what the check of Paimon tables must not take for damage at level metadata."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from tests.tables.avro_files import CODECS, recompressed
from tests.tables.paimon.editing import EditedTable
from tests.unit.paimon_checks import check, copy, told

W, P, DE, DE3 = "worked/05_delete", "big/p/final", "big/de/08_merge", "big/de3/07_call"
Edit = Callable[[EditedTable], Any]


def hint(name: str, content: str) -> Edit:
    return lambda table: (table.root / "snapshot" / name).write_text(content)


def truncated(table: EditedTable) -> None:
    table.commit("OVERWRITE", "TRUNCATE", deleted=table.live())


def tracked_once_empty(table: EditedTable) -> None:
    """Switch row tracking on once the table, whose rows had no ids, has none."""
    table.schema(1, like=0)
    table.schema(0, options={"row-tracking.enabled": "false"})
    table.roll_back(1)
    table.entries(1, lambda records: [record["_FILE"].update(_FIRST_ROW_ID=None) for record in records] and None)
    table.snapshot(1, nextRowId=0)
    [file, _] = table.live()
    truncated(table)
    fresh = table.copied(file, first_row_id=0, min_sequence_number=3, max_sequence_number=3)
    table.commit("APPEND", "WRITE", fresh, schemaId=1, nextRowId=1)


def restored(table: EditedTable) -> None:
    """Bring back the files of an older snapshot, as rolling back to it as the newest does."""
    live = table.live()
    truncated(table)
    table.commit("OVERWRITE", None, *live)


def restored_of_old(table: EditedTable) -> None:
    restored(table)
    table.expire(5)


def of_a_later_writer(table: EditedTable) -> None:
    for number in table.snapshot_ids():
        table.snapshot(number, flavour={"of": ["tomorrow"]}, watermark=-(1 << 63), properties={"a": "b"})
    table.schema(0, flavour=[1])


def beside(table: EditedTable) -> None:
    """Put in what Paimon keeps beside snapshots, and what writers leave when they die."""
    table.expire(5)
    for name in ("changelog/changelog-3", "consumer/consumer-x", "snapshot/.snapshot-9.7a3.tmp", "statistics/stats-1"):
        path = table.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{")


def blob(table: EditedTable) -> None:
    """Add a file that has a column of rows that are there."""
    file = next(entry for entry in table.live() if entry["_FILE"]["_WRITE_COLS"] == ["a"])
    table.commit("APPEND", "MERGE", table.copied(file, suffix=".blob", min_sequence_number=6, max_sequence_number=6))


def delete_in_merge(table: EditedTable) -> None:
    """Let a MERGE on column files delete rows by deletion vectors, and insert others."""
    table.roll_back(5)
    table.snapshot(4, indexManifest=None)
    file = next(entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] == 15)
    new = table.copied(file, first_row_id=18, min_sequence_number=5, max_sequence_number=5)
    table.entries(5, lambda records: [*records, new])
    table.snapshot(5, nextRowId=21, totalRecordCount=24)


def merged_groups(table: EditedTable) -> None:
    """Compact the column files of two ranges that meet into one file."""
    files = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] >= 10]
    whole = next(entry for entry in files if entry["_FILE"]["_FIRST_ROW_ID"] == 15)
    one = table.copied(whole, first_row_id=10, row_count=8, min_sequence_number=2, max_sequence_number=5)
    table.commit("COMPACT", None, one, deleted=files)


def with_index_beside(table: EditedTable) -> None:
    """Give live files an index of their own, as rewriting the index of files does: the same files under new keys."""
    live = table.live()
    again = [{**entry, "_FILE": {**entry["_FILE"], "_EMBEDDED_FILE_INDEX": b"index"}} for entry in live]
    table.commit("COMPACT", None, *again, deleted=live)


def version(number: int) -> Edit:
    def edit(table: EditedTable) -> None:
        for snapshot_id in table.snapshot_ids():
            table.snapshot(snapshot_id, version=number if number > 1 else None)

    return edit


def codec(name: str) -> Edit:
    """Re-encoded: the connector wrote manifests with Zstandard."""

    def edit(table: EditedTable) -> None:
        for number in table.snapshot_ids():
            path = table.manifest(number)
            path.write_bytes(recompressed(path.read_bytes(), name))
        table.mend()

    return edit


ODD: dict[str, tuple[str, Edit]] = {
    "EARLIEST ahead": (W, hint("EARLIEST", "3")),
    "EARLIEST of a snapshot that expired": (P, lambda t: (t.expire(9), hint("EARLIEST", "1")(t))),
    "LATEST behind": (W, hint("LATEST", "2")),
    "LATEST that says nothing": (W, hint("LATEST", "abc")),
    "no hints": (W, lambda t: [path.unlink() for path in (t.root / "snapshot").glob("*EST")]),
    "a table that was emptied": (W, truncated),
    "files that come back": (W, restored),
    "files that come back from before the history": (W, restored_of_old),
    "statistics": (W, lambda t: t.commit("ANALYZE", "ANALYZE", statistics="stats-1")),
    "empty commits": (W, lambda t: (t.commit("APPEND", "WRITE"), t.commit("OVERWRITE", "OVERWRITE"))),
    "keys of a later writer": (W, of_a_later_writer),
    "files beside snapshots": (P, beside),
    "blobs beside rows": (DE, blob),
    "a MERGE on column files that deletes and inserts": (DE3, delete_in_merge),
    "column files of two ranges compacted into one file": (DE, merged_groups),
    "an index made for files that are there": (W, with_index_beside),
    "options that shout": (W, lambda t: t.schema(0, options={"row-tracking.enabled": "TRUE", "bucket": "-1"})),
    "an option that nobody knows": (W, lambda t: t.schema(0, options={"of.tomorrow": "1"})),
    **{f"snapshots of version {number}": (W, version(number)) for number in (1, 2, 3)},
    **{f"manifests compressed by {name}": (W, codec(name)) for name in CODECS},
}


@pytest.mark.parametrize(("table", "edit"), ODD.values(), ids=ODD)
def test_odd_table_passes_without_a_finding(paimon_archive: Path, tmp_path: Path, table: str, edit: Edit) -> None:
    edited = copy(paimon_archive, table, tmp_path)
    edit(edited)

    report = check(edited.root)

    assert (report.verdict, told(report.findings)) == (Verdict.PASS, [])


def test_tracking_that_began_when_the_table_was_empty_is_told_as_healed(paimon_archive: Path, tmp_path: Path) -> None:
    table = copy(paimon_archive, W, tmp_path)
    tracked_once_empty(table)

    report = check(table.root)

    assert (report.verdict, told(report.findings)) == (Verdict.PASS, [("PM01", 1, 3)])


def test_table_without_a_snapshot_is_said_to_have_nothing_to_check(paimon_archive: Path, tmp_path: Path) -> None:
    table = copy(paimon_archive, "worked/01_create", tmp_path)

    report = check(table.root)

    assert report.verdict is Verdict.PASS
    assert (report.evidence or {})["notes"] == ["the table has no snapshot yet: there is nothing to check"]
