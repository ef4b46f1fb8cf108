"""The check of Paimon tables at level metadata, on copies of the archive's tables with damages of every kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from tests.tables.paimon.editing import EditedTable, Records
from tests.unit.paimon_checks import check, copy, told

Edit = Callable[[EditedTable], Any]


@dataclass
class Damage:
    """A damage, and what it has to be told as: code, snapshot, the snapshot that healed it."""

    table: str
    edit: Edit
    findings: list[tuple[str, int, int | None]]
    verdict: Verdict = Verdict.VIOLATED
    says: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def files(change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Callable[[Records], None]:
    """Change every added file: of an entry and its file."""

    def changed(records: Records) -> None:
        for record in records:
            if record["_KIND"] == 0:
                change(record, record["_FILE"])

    return changed


def put(**values: Any) -> Callable[[Records], None]:
    """Set values of every added file."""
    return files(lambda _, file: file.update(values))


def only_fresh(**values: Any) -> Callable[[Records], None]:
    """Set values of every added file that has got new ids."""
    return files(lambda _, file: file.update(values) if file["_FIRST_ROW_ID"] is not None else None)


def fresh_again(records: Records) -> None:
    """Let every other entry of the commit be once more."""
    records.append(next(record for record in records if record["_KIND"] == 0))


def rename_deleted(records: Records) -> None:
    for record in records:
        if record["_KIND"] == 1:
            record["_FILE"]["_FILE_NAME"] = "data-of-nobody-0.parquet"


def truncate(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def schemas(*tracked: bool) -> Edit:
    """Make schemas after the first that have row tracking on or off; snapshot n + 2 uses schema n."""

    def edit(table: EditedTable) -> None:
        for number, on in enumerate(tracked, 1):
            table.schema(number, like=0, options={"row-tracking.enabled": "true" if on else "false"})
            table.snapshot(number + 2, schemaId=number)

    return edit


def reissue(table: EditedTable) -> None:
    """Add a file whose first id was given out before, to a live row."""
    [file] = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] == 2]
    table.commit("APPEND", "WRITE", table.copied(file, min_sequence_number=5, max_sequence_number=5), nextRowId=4)


def carrying(table: EditedTable) -> Any:
    """Return a new file that has the ids of all live rows in it."""
    live = table.live()
    rows = sum(entry["_FILE"]["_ROW_COUNT"] for entry in live)
    return table.copied(live[0], first_row_id=None, row_count=rows, write_cols=["id", "data", "_ROW_ID"], file_source=1)


def track_late(table: EditedTable) -> None:
    """Let the first two commits be untracked, as their files are."""
    table.schema(1, like=0)
    table.schema(0, options={"row-tracking.enabled": None})
    table.roll_back(1)
    table.entries(1, put(_FIRST_ROW_ID=None))
    table.snapshot(1, nextRowId=0)
    [file, _] = table.live()
    fresh = table.copied(file, first_row_id=0, min_sequence_number=2, max_sequence_number=2)
    table.commit("APPEND", "WRITE", fresh, schemaId=1, nextRowId=1)


def untracked(table: EditedTable, **keys: Any) -> None:
    """Let the table never have had row tracking."""
    table.schema(0, options={"row-tracking.enabled": None}, **keys)
    for number in table.snapshot_ids():
        table.snapshot(number, nextRowId=0)


#: A row without fields, as pypaimon writes it in place of statistics.
EMPTY_ROW = bytes(12)


def again(kind: str, operation: str | None) -> Edit:
    """Write a live row again as a new one."""

    def edit(table: EditedTable) -> None:
        [file] = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] == 2]
        new = table.copied(file, first_row_id=3, min_sequence_number=5, max_sequence_number=5)
        table.commit(kind, operation, new, deleted=[file], nextRowId=4)

    return edit


def clustered(table: EditedTable) -> None:
    """Let incremental clustering write a live row again."""
    table.schema(0, options={"clustering.incremental": "true", "clustering.columns": "id"})
    again("COMPACT", None)(table)


def overwritten(**stats: Any) -> Edit:
    """Replace a row by one with other statistics, as an overwrite does whose writer names no operation."""

    def edit(table: EditedTable) -> None:
        [file] = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] == 2]
        known = {**file["_FILE"]["_VALUE_STATS"], **stats}
        new = table.copied(file, first_row_id=3, min_sequence_number=5, max_sequence_number=5, value_stats=known)
        table.commit("OVERWRITE", None, new, deleted=[file], nextRowId=4)

    return edit


def add_rows(kind: str, operation: str | None, options: dict[str, str] | None = None) -> Edit:
    """Add a row with a new id, and take none."""

    def edit(table: EditedTable) -> None:
        table.schema(0, options=options)
        new = table.copied(table.live()[0], first_row_id=3, row_count=1, write_cols=None, **_own(5))
        table.commit(kind, operation, new, nextRowId=4)

    return edit


def _own(number: int) -> dict[str, int]:
    return {"min_sequence_number": number, "max_sequence_number": number}


def store(kind: str, operation: str | None, more: int = 0, deleted: bool = True) -> Edit:
    """Write all rows into a file that stores their ids, or another number of rows."""

    def edit(table: EditedTable) -> None:
        live, new = table.live(), carrying(table)
        new["_FILE"] |= {"_ROW_COUNT": new["_FILE"]["_ROW_COUNT"] + more, "_MAX_SEQUENCE_NUMBER": 5}
        table.commit(kind, operation, new, deleted=live if deleted else [])

    return edit


def reuse(kind: str, operation: str | None) -> Edit:
    """Replace a row by a new one under the same id."""

    def edit(table: EditedTable) -> None:
        [file] = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] == 2]
        table.commit(kind, operation, table.copied(file, **_own(5)), deleted=[file])

    return edit


def lose(table: EditedTable) -> None:
    """Let an UPDATE write a row less than it took."""
    live = table.live()
    one = table.copied(live[0], first_row_id=None, row_count=1, write_cols=["id", "data", "_ROW_ID"])
    table.commit("OVERWRITE", "UPDATE", one, deleted=live)


def lose_by_vectors(table: EditedTable) -> None:
    """Let an UPDATE delete rows by deletion vectors, and write none for them."""
    vectors = table.body(3)["indexManifest"]
    table.roll_back(2)
    table.commit("OVERWRITE", "UPDATE", indexManifest=vectors)


def renumber(table: EditedTable) -> None:
    """Give the rows of some files new ids in the manifests, as ``sys.reassign_row_id`` does."""
    number = table.snapshot_ids()[-1] + 1
    first = table.body(number - 1)["nextRowId"]
    table.commit("OVERWRITE", None, nextRowId=first + 5)

    def change(records: Records) -> None:
        for record in records:
            if record["_FILE"]["_FIRST_ROW_ID"] == 10:
                record["_FILE"]["_FIRST_ROW_ID"] = first

    table.merge_base(number, change)


def insert(table: EditedTable, sequence: int, **keys: Any) -> None:
    """Add a row, with a sequence number."""
    [file] = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] == 2]
    new = table.copied(file, first_row_id=3, min_sequence_number=sequence, max_sequence_number=sequence)
    table.commit("APPEND", None, new, nextRowId=4, **keys)


def merge_branch(table: EditedTable) -> None:
    """Add the file of a branch that has more snapshots, then write its row into one file with others, updated."""
    insert(table, 20, commitIdentifier=0)
    live = table.live()
    rows = sum(entry["_FILE"]["_ROW_COUNT"] for entry in live)
    fields = {"first_row_id": None, "row_count": rows, "write_cols": ["id", "data", "_ROW_ID", "_SEQUENCE_NUMBER"]}
    one = table.copied(live[0], **fields, min_sequence_number=20, max_sequence_number=6)
    table.commit("OVERWRITE", "UPDATE", one, deleted=live)


def merge_known_branch(table: EditedTable) -> None:
    """Add the file of a branch that is still there."""
    [file] = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] == 2]
    there = table.copied(file, first_row_id=7, min_sequence_number=9, max_sequence_number=9)
    table.commit("APPEND", "WRITE", there, nextRowId=8)
    (table.root / "branch/branch-b").mkdir(parents=True)
    table.roll_back(4, keep=table.root / "branch/branch-b/snapshot")
    here = {**there, "_FILE": {**there["_FILE"], "_FIRST_ROW_ID": 3}}
    table.commit("APPEND", None, here, nextRowId=4, commitIdentifier=0)


def copy_table(*stored: str) -> Edit:
    """Let the only commit be one of ``sys.copy``, of a file with fresh ids or of one that stores its row ids."""

    def edit(table: EditedTable) -> None:
        table.roll_back(1)
        ids = {"_FIRST_ROW_ID": None, "_WRITE_COLS": ["id", "data", *stored]} if stored else {"_FIRST_ROW_ID": 7}
        table.entries(1, lambda records: records[:1])
        table.entries(1, put(**ids, _MIN_SEQUENCE_NUMBER=4, _MAX_SEQUENCE_NUMBER=9))
        table.snapshot(1, commitKind="OVERWRITE", operation=None, nextRowId=0, totalRecordCount=1)

    return edit


def apply_vectors(table: EditedTable) -> None:
    """Let a compaction write a file without its deleted row, under new ids, and join two others under theirs."""
    live = {entry["_FILE"]["_FIRST_ROW_ID"]: entry for entry in table.live()}
    new = table.copied(live[0], first_row_id=18, row_count=2, min_sequence_number=7, max_sequence_number=7)
    joined = table.copied(live[12], row_count=6)
    table.commit("COMPACT", None, new, joined, deleted=[live[0], live[12], live[15]], nextRowId=20, indexManifest=None)


def two_vectors(table: EditedTable) -> None:
    """Let an UPDATE write a second deletion vector for a file."""

    def twice(records: Records) -> None:
        records.append({**records[0]})

    table.records(table.index_manifest(3).name, twice)


def with_blobs(*blobs: tuple[int, int], column: str = "a", first: int = 18) -> Edit:
    """Add three new rows, and blob files of a column, each with its first row id and its number of rows."""

    def edit(table: EditedTable) -> None:
        number = table.snapshot_ids()[-1] + 1
        new = {"row_count": 3, "write_cols": ["id", "b"], "first_row_id": first}
        row = table.copied(table.live()[0], **new, **_own(number))
        parts = [
            table.copied(row, suffix=".blob", first_row_id=start, row_count=rows, write_cols=[column])
            for start, rows in blobs
        ]
        table.commit("APPEND", "WRITE", row, *parts, nextRowId=first + 3)

    return edit


def with_blobs_twice(*blobs: tuple[int, int]) -> Edit:
    """Add rows with a blob file, and then others with other blob files."""
    return lambda table: (with_blobs((18, 3))(table), with_blobs(*blobs, first=21)(table))


def delete_parts(which: Callable[[dict[str, Any]], bool]) -> Edit:
    """Add rows with two blob files, and then delete files of theirs."""

    def edit(table: EditedTable) -> None:
        with_blobs((18, 2), (20, 1))(table)
        chosen = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] >= 18 and which(entry["_FILE"])]
        table.commit("COMPACT", None, deleted=chosen)

    return edit


def column_of_nobody(table: EditedTable) -> None:
    """Write a column of rows that were deleted before."""
    [*gone] = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] == 10]
    table.commit("OVERWRITE", "TRUNCATE", deleted=gone)
    [column, *_] = [entry for entry in gone if entry["_FILE"]["_WRITE_COLS"]]
    table.commit("APPEND", "MERGE", table.copied(column, **_own(7)))


def no_snapshot(table: EditedTable) -> None:
    for path in (table.root / "snapshot").glob("snapshot-*"):
        path.unlink()


def other_size(records: Records) -> None:
    records[0]["_FILE_SIZE"] += 1


def in_parquet(table: EditedTable) -> None:
    table.schema(0, options={"manifest.format": "parquet"})
    for path in (table.root / "manifest").iterdir():
        path.write_bytes(b"PAR1" + path.read_bytes()[4:])


def without_old_schema(content: str | None) -> Edit:
    """Damage a schema that no snapshot uses any more, and files do."""

    def edit(table: EditedTable) -> None:
        table.expire(17)
        path = table.root / "schema/schema-0"
        path.unlink() if content is None else path.write_text(content)

    return edit


W = "worked/05_delete"
DV, P, DE = "big/dv/06_call", "big/p/final", "big/de/08_merge"
DAMAGES = {
    "M1 off for a while": Damage(W, schemas(False, True), [("PM01", 3, 4)], Verdict.PASS),
    "M1 off since": Damage(W, schemas(False, False), [("PM01", 3, None)]),
    "M1 off in what the next commit uses": Damage(
        W, lambda t: t.schema(1, like=0, options={"row-tracking.enabled": None}), [("PM01", 0, None)]
    ),
    "M1 off in the only schema, though rows have ids": Damage(
        W,
        lambda t: t.schema(0, options={"row-tracking.enabled": None}),
        [("PM01", 1, None)],
        says="The table has 2 rows, and nextRowId is 2",
    ),
    "M2 primary key": Damage(W, lambda t: t.schema(0, primaryKeys=["id"]), [("PM02", 1, None)], says="primary key id"),
    "M2 fixed bucket": Damage(W, lambda t: t.schema(0, options={"bucket": "4"}), [("PM02", 1, None)], says="bucket 4"),
    "M2 bucket key": Damage(
        W, lambda t: t.schema(0, options={"bucket-key": "id"}), [("PM02", 1, None)], says="bucket-key id"
    ),
    "M2 reserved name": Damage(
        W,
        lambda t: t.schema(0, fields=[{"id": 0, "name": "_ROW_ID", "type": "BIGINT"}]),
        [("PM02", 1, None)],
        says="column _ROW_ID",
    ),
    "M2 data evolution alone": Damage(
        W,
        lambda t: t.schema(0, options={"data-evolution.enabled": "true", "row-tracking.enabled": "false"}),
        [("PM01", 1, None), ("PM02", 1, None)],
        says="data-evolution.enabled needs",
    ),
    "M3 no nextRowId": Damage(W, lambda t: t.snapshot(3, nextRowId=None), [("PM03", 3, None)], says="no nextRowId"),
    "M3 snapshot missing": Damage(
        W, lambda t: (t.root / "snapshot/snapshot-2").unlink(), [("PM03", 2, None)], says="there is no 2"
    ),
    "M3 newest snapshot missing": Damage(
        W, lambda t: (t.root / "snapshot/snapshot-4").unlink(), [("PM03", 4, None)], says="LATEST names snapshot 4"
    ),
    "M4 grew too much": Damage(
        W,
        lambda t: (t.snapshot(3, nextRowId=7), t.snapshot(4, nextRowId=7)),
        [("PM04", 3, None)],
        says="by 5, but the commit has 1 new row.",
    ),
    "M4 grew without rows": Damage(W, lambda t: t.snapshot(4, nextRowId=4), [("PM04", 4, None)]),
    "M4 and M6 grew too little": Damage(
        W,
        lambda t: (t.snapshot(3, nextRowId=2), t.snapshot(4, nextRowId=2)),
        [("PM04", 3, None), ("PM06", 3, None)],
        says="41681cabe4-0.parquet up to 2",
    ),
    "M5 no ids": Damage(W, lambda t: t.entries(3, only_fresh(_FIRST_ROW_ID=None)), [("PM05", 3, None)]),
    "M5 no ids in a rewritten file, which is then deleted": Damage(
        W, lambda t: t.entries(2, put(_WRITE_COLS=["id", "data"])), [("PM05", 2, 4)], Verdict.PASS
    ),
    "M6 and M7 too high": Damage(
        W, lambda t: t.entries(3, only_fresh(_FIRST_ROW_ID=3)), [("PM06", 3, None), ("PM07", 3, None)]
    ),
    "M7 given out before": Damage(
        "big/w1/06_delete",
        lambda t: t.entries(3, put(_FIRST_ROW_ID=0)),
        [("PM07", 3, None)],
        says="below 2, which were assigned before",
    ),
    "M7 given out before, in a file that is then dropped": Damage(
        W,
        lambda t: (reissue(t), t.commit("OVERWRITE", "TRUNCATE", deleted=t.live())),
        [("PM07", 5, 6), ("PM08", 5, 6)],
        Verdict.PASS,
    ),
    "M7 an UPDATE gives new ids": Damage(
        W, again("OVERWRITE", "UPDATE"), [("PM19", 5, None)], says="UPDATE wrote 1 row under the new row ids 3"
    ),
    "M7 a DELETE gives new ids": Damage(W, again("OVERWRITE", "DELETE"), [("PM19", 5, None)]),
    "M7 a compaction that clusters": Damage(W, clustered, [("PM13", 5, None)], Verdict.PASS, says="2 became 3"),
    "M7 a compaction that clusters, where that is an error": Damage(
        W, clustered, [("PM13", 5, None)], options={"fail_on_reassigned": True}
    ),
    "M7 a compaction gives new ids where nothing clusters": Damage(
        W, again("COMPACT", None), [("PM19", 5, None)], says="COMPACT without operation wrote 1 row under the new"
    ),
    "M7 an overwrite by rows with the same statistics": Damage(
        W, overwritten(), [("PM13", 5, None)], Verdict.PASS, says="the metadata does not show which"
    ),
    "M7 an overwrite by rows with the same statistics, if reassigned ids are to fail": Damage(
        W, overwritten(), [("PM13", 5, None)], Verdict.UNDETERMINED, options={"fail_on_reassigned": True}
    ),
    "M7 an overwrite by rows without statistics, if reassigned ids are to fail": Damage(
        W,
        overwritten(_MIN_VALUES=EMPTY_ROW, _MAX_VALUES=EMPTY_ROW, _NULL_COUNTS=[]),
        [("PM13", 5, None)],
        Verdict.PASS,
        options={"fail_on_reassigned": True},
        says="does not show which",
    ),
    "M7 an overwrite by other rows": Damage(W, overwritten(_NULL_COUNTS=[0, 1]), [], Verdict.PASS),
    "M7 a compaction that applies deletion vectors": Damage(
        "big/de3/07_call", apply_vectors, [("PM13", 7, None)], Verdict.PASS, says="2 rows again with new ids, as sort"
    ),
    "M7 row ids reassigned in manifests": Damage(
        "big/de/08_merge", renumber, [("PM13", 6, None)], Verdict.PASS, says="10-14 became 18-22"
    ),
    "M7 row ids reassigned in manifests, where that is an error": Damage(
        "big/de/08_merge", renumber, [("PM13", 6, None)], options={"fail_on_reassigned": True}
    ),
    "M9 a branch merged": Damage(
        W, merge_branch, [("PM13", 5, None)], Verdict.PASS, says="the sequence numbers 20 of the branch"
    ),
    "M9 a branch merged that is still there": Damage(
        W, merge_known_branch, [("PM13", 5, None)], Verdict.PASS, says="row ids 7 became 3"
    ),
    "M9 an insert with the number of another commit": Damage(W, lambda t: insert(t, 4), [("PM09", 5, None)]),
    "M6 a copy of another table": Damage(W, copy_table(), [("PM06", 1, None)], says="CALL sys.copy"),
    "M6 a copy of another table, its ids stored": Damage(
        W, copy_table("_ROW_ID"), [("PM06", 1, None)], says="CALL sys.copy"
    ),
    "an APPEND replaces a file": Damage(
        W, again("APPEND", "WRITE"), [("PM23", 5, None)], says="WRITE (APPEND) removed files, which commits of this"
    ),
    "an APPEND removes a file": Damage(W, lambda t: t.commit("APPEND", None, deleted=t.live()), [("PM23", 5, None)]),
    "an ANALYZE removes a file": Damage(W, lambda t: t.commit("ANALYZE", None, deleted=t.live()), [("PM23", 5, None)]),
    "an ANALYZE adds rows": Damage(W, add_rows("ANALYZE", None), [("PM19", 5, None)]),
    "an APPEND adds deletion vectors": Damage(
        DV,
        lambda t: (t.roll_back(2), t.snapshot(2, commitKind="APPEND", operation="WRITE")),
        [("PM23", 2, None)],
        says="4 rows fewer",
    ),
    "an APPEND stores ids": Damage(W, store("APPEND", None, deleted=False), [("PM07", 5, None)]),
    "a compaction adds rows": Damage(W, add_rows("COMPACT", None), [("PM19", 5, None)]),
    "a compaction that clusters adds rows": Damage(
        W, add_rows("COMPACT", None, {"clustering.columns": "id"}), [("PM23", 5, None)], says="1 row more than before"
    ),
    "a compaction loses rows": Damage(W, store("COMPACT", None, -1), [("PM23", 5, None)], says="1 row fewer"),
    "a compaction doubles rows": Damage(W, store("COMPACT", None, 1), [("PM23", 5, None)]),
    "an UPDATE adds rows": Damage(W, store("OVERWRITE", "UPDATE", 1), [("PM23", 5, None)], says="UPDATE left the"),
    "a DELETE adds rows": Damage(W, store("OVERWRITE", "DELETE", 1), [("PM23", 5, None)]),
    "a TRUNCATE adds rows": Damage(W, again("OVERWRITE", "TRUNCATE"), [("PM19", 5, None)]),
    "a DELETE takes deletion vectors away": Damage(
        DV,
        lambda t: (t.roll_back(2), t.commit("OVERWRITE", "DELETE", indexManifest=None)),
        [("PM23", 3, None)],
        says="took away deletion vectors, or parts of them: 4 rows are there again",
    ),
    "an OVERWRITE gives new rows the ids of those that they replace": Damage(
        W, reuse("OVERWRITE", "OVERWRITE"), [("PM07", 5, None)], says="below 3, which were assigned before"
    ),
    "an OVERWRITE stores ids": Damage(W, store("OVERWRITE", "OVERWRITE"), [("PM07", 5, None)], says="OVERWRITE adds"),
    "M11 an UPDATE loses rows": Damage(W, lose, [("PM20", 5, None)], says="1 row fewer"),
    "M11 an UPDATE by deletion vectors loses rows": Damage("big/dv/06_call", lose_by_vectors, [("PM20", 3, None)]),
    "M8 overlapping, both files then compacted into one": Damage(
        W,
        lambda t: (reissue(t), t.commit("COMPACT", None, carrying(t), deleted=t.live())),
        [("PM07", 5, None), ("PM08", 5, None)],
    ),
    "M8 overlaps that data evolution does not have": Damage(
        "big/de/08_merge",
        lambda t: t.entries(3, put(_FIRST_ROW_ID=1)),
        [("PM08", 3, None), ("PM08", 4, None), ("PM08", 5, None)],
    ),
    "M9 in the future": Damage(W, lambda t: t.entries(2, put(_MAX_SEQUENCE_NUMBER=9)), [("PM09", 2, 4)], Verdict.PASS),
    "M9 below one": Damage(W, lambda t: t.entries(3, only_fresh(_MIN_SEQUENCE_NUMBER=0)), [("PM09", 3, None)]),
    "M9 of another commit": Damage(
        W,
        lambda t: t.entries(3, only_fresh(_MIN_SEQUENCE_NUMBER=2, _MAX_SEQUENCE_NUMBER=2)),
        [("PM09", 3, None)],
        says="of other commits than their own",
    ),
    "M9 of another commit, of a file of columns": Damage(
        "big/de/08_merge",
        lambda t: t.entries(4, put(_MIN_SEQUENCE_NUMBER=3, _MAX_SEQUENCE_NUMBER=3)),
        [("PM09", 4, None)],
        says="8061e0a8",
    ),
    "M9 of a compacted file, as older writers do": Damage(
        "big/p/final", lambda t: t.entries(21, put(_MIN_SEQUENCE_NUMBER=0)), [("PM09", 21, None)], Verdict.PASS
    ),
    "M10 deletes what is not live": Damage(
        W,
        lambda t: t.entries(2, rename_deleted),
        [("PM10", 2, None), ("PM11", 2, None)],
        says="deleted though not live",
    ),
    "M10 adds what is live": Damage(
        W, lambda t: t.entries(1, fresh_again), [("PM10", 1, None)], says="added though live"
    ),
    "M10 a manifest of before is left out": Damage(
        W, lambda t: t.relist(4, "base", lambda records: records[:-1]), [("PM10", 4, None), ("PM11", 4, None)]
    ),
    "M10 merged otherwise": Damage(
        W,
        lambda t: t.merge_base(4, only_fresh(_FIRST_ROW_ID=1)),
        [("PM10", 4, None)],
        says="differs from the previous snapshot in",
    ),
    "M11 for a while": Damage(W, lambda t: t.snapshot(2, totalRecordCount=9), [("PM11", 2, 3)], Verdict.PASS),
    "M11 since": Damage(W, lambda t: t.snapshot(4, totalRecordCount=1), [("PM11", 4, None)], says="1; the live files"),
    "M12 manifest missing": Damage(W, lambda t: t.manifest(2).unlink(), [("PM12", 2, None)], says="is missing"),
    "M12 manifest of another size": Damage(
        W,
        lambda t: truncate(t.manifest(3), t.manifest(3).stat().st_size - 9),
        [("PM12", 3, None)],
        says="Paimon reads the file as empty",
    ),
    "M12 manifest list missing": Damage(
        W, lambda t: (t.root / "manifest" / t.list_name(3, "delta")).unlink(), [("PM12", 3, 4)], Verdict.PASS
    ),
    "M12 recorded size": Damage(
        W, lambda t: t.snapshot(4, deltaManifestListSize=1), [("PM12", 4, None)], says="bytes, not 1"
    ),
    "a manifest cut, its size mended": Damage(
        W,
        lambda t: (truncate(t.manifest(3), t.manifest(3).stat().st_size - 9), t.mend()),
        [("PM14", 3, None)],
        says="Restore the file from a backup",
    ),
    "a snapshot that is none": Damage(
        W,
        lambda t: (t.root / "snapshot/snapshot-3").write_text("{"),
        [("PM14", 3, None)],
        says="snapshot/snapshot-3",
    ),
    "a snapshot under another's name": Damage(W, lambda t: t.snapshot(3, id=2), [("PM14", 3, None)]),
    "M1 switched on when there were rows": Damage(
        W, track_late, [("PM01", 1, 2), ("PM05", 2, None)], says="reading _ROW_ID fails"
    ),
    "M3 no snapshot left": Damage(W, no_snapshot, [("PM03", 4, None)], says="but there is none"),
    "M10 a manifest twice in a base": Damage(
        W,
        lambda t: t.relist(4, "base", lambda records: [*records, records[0]]),
        [("PM10", 4, None)],
        says="2 times",
    ),
    "M12 recorded otherwise by a later list": Damage(
        W, lambda t: t.relist(3, "base", other_size, mend=False), [("PM12", 3, 4)], Verdict.PASS, says="in another"
    ),
    "M12 recorded otherwise by the newest list": Damage(
        W, lambda t: t.relist(4, "base", other_size, mend=False), [("PM12", 4, None)]
    ),
    "a blob file for each new row": Damage(DE, with_blobs((18, 3)), [], Verdict.PASS),
    "blob files in a row for new rows": Damage(DE, with_blobs((18, 1), (19, 2)), [], Verdict.PASS),
    "blob files for all new rows": Damage(DE, with_blobs_twice((21, 3)), [], Verdict.PASS),
    "a blob file that begins at another row": Damage(
        DE,
        with_blobs((17, 3)),
        [("PM24", 6, None)] * 2,
        says="Files of a have the row ids 17-19, but their row group has",
    ),
    "a blob file that no row has": Damage(
        DE, with_blobs((30, 3)), [("PM24", 6, None)], says="columns of rows that no file has"
    ),
    "a blob file too few": Damage(
        DE, with_blobs((18, 2)), [("PM24", 6, None)], says="18-19, but their row group has 18"
    ),
    "no blob file, as other rows have": Damage(
        DE, with_blobs_twice(), [("PM24", 7, None)], Verdict.UNDETERMINED, says="21-23 have no file of a, as other"
    ),
    "a blob file deleted": Damage(DE, delete_parts(lambda file: file["_FIRST_ROW_ID"] == 20), [("PM24", 7, None)]),
    "all blob files deleted": Damage(
        DE,
        delete_parts(lambda file: file["_FILE_NAME"].endswith(".blob")),
        [("PM24", 7, None)],
        says="removed the values of a for the row ids 18-20, whose rows stay",
    ),
    "all files of a row group deleted but those of a column": Damage(
        DE,
        delete_parts(lambda file: not file["_FILE_NAME"].endswith(".blob")),
        [("PM23", 7, None), ("PM24", 7, None)],
    ),
    "a column of deleted rows": Damage(
        DE, column_of_nobody, [("PM24", 7, None)], says="columns of rows that no other file has"
    ),
    "row ids of a manifest are recorded otherwise": Damage(
        W,
        lambda t: t.relist(3, "delta", lambda records: records[0].update(_MIN_ROW_ID=0, _MAX_ROW_ID=2), mend=False),
        [("PM10", 3, 4)],
        Verdict.PASS,
        says="has files with the row ids 0 to 2, but it has files without known ids",
    ),
    "two deletion vectors for one file": Damage(
        DV, two_vectors, [("PM10", 3, 4)], Verdict.PASS, says="it has 2 deletion vectors for data-"
    ),
    "newest index manifest missing": Damage(
        DV, lambda t: t.index_manifest(5).unlink(), [("PM13", 4, None), ("PM14", 5, None)], says="rows are deleted"
    ),
    "newest index manifest cut": Damage(
        DV, lambda t: truncate(t.index_manifest(5), 99), [("PM13", 4, None), ("PM14", 5, None)]
    ),
    "older index manifest missing": Damage(
        DV, lambda t: t.index_manifest(2).unlink(), [("PM13", 4, None), ("PM14", 2, 3)], Verdict.PASS
    ),
    "no schema of older files": Damage(P, without_old_schema(None), [("PM14", 17, None)], says="Schema 0"),
    "a schema of older files that is none": Damage(P, without_old_schema("{"), [("PM14", 17, None)]),
    "a schema under another's name": Damage(
        P,
        lambda t: (t.root / "schema/schema-1").write_text((t.root / "schema/schema-0").read_text()),
        [("PM14", 17, None)],
        says="says that it is schema 0",
    ),
    "no schema at all": Damage(
        W, lambda t: (t.root / "schema/schema-0").unlink(), [("PM14", 1, None)], says="Schema 0, which the table uses"
    ),
    "manifests of another format": Damage(
        W, in_parquet, [("PM16", 1, None)], Verdict.UNDETERMINED, says="parquet, by manifest.format"
    ),
    "no schema": Damage(
        "big/p/final", lambda t: (t.root / "schema/schema-0").unlink(), [("PM14", 1, None)], says="Schema 0"
    ),
    "a schema that is none": Damage(
        W,
        lambda t: (t.root / "schema/schema-0").write_text("[]"),
        [("PM14", 1, None)],
        says="Schema 0 cannot be read",
    ),
    "not tracked": Damage(
        W,
        untracked,
        [("PM15", 0, None)],
        Verdict.UNDETERMINED,
        says="write the rows into it",
    ),
    "not tracked, a primary key": Damage(
        W,
        lambda t: untracked(t, primaryKeys=["id"]),
        [("PM15", 0, None)],
        Verdict.UNDETERMINED,
        says="primary key id",
    ),
    "a snapshot of tomorrow": Damage(
        W, lambda t: t.snapshot(3, version=9), [("PM16", 3, None)], Verdict.UNDETERMINED, says="Update airflow-delta"
    ),
    "a schema of tomorrow": Damage(
        W, lambda t: t.schema(0, version=9), [("PM16", 1, None)], Verdict.UNDETERMINED, says="has the format version 9"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_told_at_the_snapshot_that_did_it(paimon_archive: Path, tmp_path: Path, damage: Damage) -> None:
    table = copy(paimon_archive, damage.table, tmp_path)
    damage.edit(table)

    report = check(table.root, **damage.options)

    assert told(report.findings) == sorted(damage.findings), report.findings
    assert report.verdict is damage.verdict
    assert damage.says in " ".join(finding.message for finding in report.findings)
