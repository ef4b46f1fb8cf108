"""The kind ``check-paimon-row-tracking`` at level ``data``, on tables of Paimon's connector and on damaged ones."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pytest

from airflow_delta_provider.domain.checks.row_tracking.id_sets import DriverLimits
from airflow_delta_provider.domain.report.report import JobReport, TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.jobs.paimon.table import TableFiles
from airflow_delta_provider.jobs.process import silent
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.paimon.compared_rows import DeletedRows
from airflow_delta_provider.jobs.spark.paimon.live_ids import LiveProof
from airflow_delta_provider.jobs.spark.paimon.rows import survey
from tests.tables.paimon.archive import HISTORIES, table_of
from tests.tables.paimon.editing import EditedTable, Records
from tests.tables.paimon.vectors import reencode
from tests.unit.paimon_histories import history_of, layout_of

pytestmark = pytest.mark.nightly

Check = Callable[..., list[TableReport]]
Damage = Callable[[EditedTable], None]

#: Which snapshots of tables that are otherwise as they should be gave rows new ids, by Paimon's own doing.
REASSIGNED = {
    **dict.fromkeys(HISTORIES),
    "big/dv/06_call": 4,
    "real_violation/dv_merge": 4,
    "real_violation/sort_compact_z": 3,
    "real_violation/sort_compact_m": 4,
}
DAMAGED = {
    "bad/phys_row_id_dup": ("PD02", 4),
    "bad/phys_row_id_swapped": ("PD05", 4),
    "bad/seq_in_future": ("PD03", 4),
    "bad/row_count_mismatch": ("PD10", 4),
}


@pytest.fixture
def check(run_job: Callable[..., JobReport]) -> Check:
    """Check the rows of some tables in one job."""

    def check_all(tables: Iterable[Path], **known: Any) -> list[TableReport]:
        options = PaimonCheckRowTrackingOptions(level="data", **known)
        return list(run_job(list(tables), options).tables)

    return check_all


def test_well_formed_tables_have_no_finding_but_the_row_ids_that_paimon_itself_reassigned(
    check: Check, paimon_archive: Path
) -> None:
    reports = check(table_of(paimon_archive, name) for name in REASSIGNED)

    for (name, snapshot), report in zip(REASSIGNED.items(), reports):
        assert report.verdict is Verdict.PASS, name
        code = "PD11" if "sort" in name else "PM13"
        expected = [] if snapshot is None else [(code, snapshot)]
        assert [(finding.code, finding.version) for finding in report.findings] == expected, name


def test_keys_prove_that_ids_were_reassigned_and_by_what(check: Check, paimon_archive: Path) -> None:
    names = ["real_violation/dv_merge", "big/p/final"]

    merged, plain = check(
        (table_of(paimon_archive, name) for name in names), key_columns=("id",), fail_on_reassigned=True
    )

    [finding] = merged.findings
    assert (finding.code, finding.version, finding.operation) == ("PD11", 4, "MERGE (OVERWRITE)")
    assert merged.verdict is Verdict.VIOLATED
    assert finding.message.startswith("MERGE wrote the rows of 4 keys again under new row ids")
    assert plain.verdict is Verdict.PASS, plain.findings


def test_damaged_tables_of_the_archive_are_named_at_the_snapshot_that_broke_them(
    check: Check, paimon_archive: Path
) -> None:
    reports = check(table_of(paimon_archive, name) for name in DAMAGED)

    for (name, expected), report in zip(DAMAGED.items(), reports):
        found = {(finding.code, finding.version) for finding in report.findings if finding.code.startswith("PD")}
        assert found == {expected}, (name, report.findings)
        assert report.verdict is Verdict.VIOLATED


def _set(index: int, **values: Any) -> Callable[[Records], None]:
    return lambda rows: rows[index].update(values)


def _swap_ids(rows: Records) -> None:
    """Swap two row ids, as an UPDATE of both rows would write them."""
    first, second = rows
    first["_ROW_ID"], second["_ROW_ID"] = second["_ROW_ID"], first["_ROW_ID"]
    first["_SEQUENCE_NUMBER"] = second["_SEQUENCE_NUMBER"] = None


def _lack(column: str) -> Damage:
    def damage(table: EditedTable) -> None:
        path = table.data_file("57b71cd2")
        parquet.write_table(parquet.ParquetFile(path).read().drop_columns([column]), path)
        table.mend_data()

    return damage


def _truncated(table: EditedTable) -> None:
    path = table.data_file("57b71cd2")
    path.write_bytes(path.read_bytes()[:-20])
    table.mend_data()


def _other_bytes(table: EditedTable) -> None:
    """Damage the pages of a data file, and leave its footer as it is."""
    path = table.data_file("57b71cd2")
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content[4:200])) + content[200:])


def _broken_vector(table: EditedTable) -> None:
    [path] = (table.root / "index").glob("index-1b6bbc96*")
    content = bytearray(path.read_bytes())
    content[20] ^= 0xFF
    path.write_bytes(bytes(content))


def _land_on_fresh_ids(table: EditedTable) -> None:
    table.rows("e3952979", _set(0, _ROW_ID=271))
    table.roll_back(16)


def _as_orc(table: EditedTable) -> None:
    path = table.data_file("57b71cd2")
    table.file("57b71cd2", file_name=path.with_suffix(".orc").name)
    path.rename(path.with_suffix(".orc"))


def _rows(prefix: str, change: Callable[[Records], None], **entry: Any) -> Damage:
    """Change rows of a data file, and what manifests say of it."""

    def damage(table: EditedTable) -> None:
        table.rows(prefix, change)
        if entry:
            table.file(prefix, **entry)

    return damage


#: Damages by the history that they are done to: what is expected, and how it is done.
def _truncate(damage: Damage) -> Damage:
    """Do a damage, and let a later commit delete all rows."""

    def edit(table: EditedTable) -> None:
        damage(table)
        table.commit("OVERWRITE", "TRUNCATE", deleted=table.live())

    return edit


def _come_back(number: int, deleted: dict[str, list[int]]) -> None:
    """Let a row that the second commit deleted be there again after the third."""
    if number == 3:
        for positions in deleted.values():
            positions.remove(0)


def _undelete(table: EditedTable) -> None:
    table.roll_back(3)
    reencode(table, _come_back)


def _without_vectors(table: EditedTable) -> None:
    """Let a snapshot forget which rows are deleted: some are there again, others are so twice."""
    table.roll_back(4)
    table.snapshot(4, indexManifest=None)


def _update(table: EditedTable) -> None:
    """Let an UPDATE write the rows of a file as new ones."""
    table.roll_back(3)
    _again(table, "OVERWRITE", "UPDATE")


def _again(table: EditedTable, kind: str, operation: str | None) -> None:
    """Write the rows of a file again with new ids."""
    own, next_row_id = table.snapshot_ids()[-1] + 1, table.body(table.snapshot_ids()[-1])["nextRowId"]
    file = next(entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] is not None)
    new = table.copied(file, first_row_id=next_row_id, min_sequence_number=own, max_sequence_number=own)
    rows = file["_FILE"]["_ROW_COUNT"]
    table.commit(kind, operation, new, deleted=[file], nextRowId=next_row_id + rows)


def _compact(table: EditedTable) -> None:
    """Let a compaction write the rows of a file as new ones, where nothing clusters."""
    table.roll_back(3)
    _again(table, "COMPACT", None)


def _reuse(table: EditedTable) -> None:
    """Let an INSERT OVERWRITE write other rows under the ids of those that it replaces, stored in their file."""
    table.roll_back(4)
    table.snapshot(4, operation="OVERWRITE")


def _lose(table: EditedTable) -> None:
    """Let an UPDATE write a row less than it took."""
    table.roll_back(2)
    table.rows("be092f82", lambda rows: rows.pop() and None)
    table.file("be092f82", row_count=1)
    table.snapshot(2, totalRecordCount=1)


W1, P, DV, DE3 = "big/w1/06_delete", "big/p/final", "big/dv/04_update", "big/de3/07_call"
_BACK = _rows("57b71cd2", _set(0, _SEQUENCE_NUMBER=1), min_sequence_number=1)
DAMAGES: dict[str, tuple[str, Damage, list[tuple[str, int, int | None]]]] = {
    "a row without an id": (W1, _rows("a99d5966", _set(0, _ROW_ID=None)), [("PD01", 4, None)]),
    "an id of an older rewritten file": (W1, _rows("a99d5966", _set(0, _ROW_ID=0)), [("PD02", 4, None)]),
    "an id of an older row that is then deleted": (W1, _rows("a99d5966", _set(0, _ROW_ID=1)), [("PD02", 4, 5)]),
    "an id of a file of fresh ids": (P, _land_on_fresh_ids, [("PD02", 16, None)]),
    "an id above nextRowId": (W1, _rows("a99d5966", _set(0, _ROW_ID=99)), [("PD03", 4, None)]),
    "a sequence number that goes back": (W1, _BACK, [("PD04", 5, None)]),
    "a sequence number that goes back, of a row that is then deleted": (W1, _truncate(_BACK), [("PD04", 5, 6)]),
    "a change under the same sequence number": (W1, _rows("57b71cd2", _set(0, data="z")), [("PD05", 5, None)]),
    "a sequence number of another snapshot": (
        W1,
        _rows("57b71cd2", _set(0, _SEQUENCE_NUMBER=4), max_sequence_number=4),
        [("PD06", 5, None)],
    ),
    "an id of a deleted row": (DV, _rows("fcd4de01", _set(0, _ROW_ID=0)), [("PD07", 3, None)]),
    "a deleted row that comes back": (DV, _undelete, [("PD07", 3, None)]),
    "deletion vectors that are forgotten": ("big/dv/06_call", _without_vectors, [("PD02", 4, None)]),
    "an UPDATE that gives rows new ids": (W1, _update, [("PD15", 4, None)]),
    "a compaction that gives rows new ids": (W1, _compact, [("PD15", 4, None)]),
    "an OVERWRITE that reuses ids": (W1, _reuse, [("PD07", 4, None), ("PM07", 4, None)]),
    "a DELETE that changes a row": (
        W1,
        _rows("57b71cd2", _set(0, data="z", _SEQUENCE_NUMBER=None), max_sequence_number=5),
        [("PD17", 5, None)],
    ),
    "an UPDATE that loses rows": (W1, _lose, [("PD16", 2, None)]),
    "a compaction that changed a value": (P, _rows("9a7c8bb8", _set(0, v="z")), [("PD09", 21, None)]),
    "a compaction of column files that changed a value": (
        DE3,
        _rows("be3b9612", _set(0, a="z")),
        [("PD09", 6, None)],
    ),
    "a file without the ids that it should carry": (W1, _lack("_ROW_ID"), [("PD10", 5, None)]),
    "a missing data file": (W1, lambda table: table.data_file("57b71cd2").unlink(), [("PD12", 5, None)]),
    "a truncated data file": (W1, _truncated, [("PD12", 5, None)]),
    "a truncated data file that is then dropped": (
        W1,
        _truncate(_truncated),
        [("PD12", 5, 6), ("PD13", 5, None)],
    ),
    "a damaged deletion vector": (DV, _broken_vector, [("PD12", 3, None)]),
    "a file that is no Parquet": (W1, _as_orc, [("PD13", 5, None)]),
    "data pages that are damaged": (W1, _other_bytes, [("PD13", 5, None), ("PD13", 5, None)]),
}


def test_damages_are_named_by_their_rule_at_the_snapshot_that_did_them_and_the_one_that_healed_them(
    check: Check, paimon_archive: Path, tmp_path: Path
) -> None:
    roots = []
    for number, (name, damage, _) in enumerate(DAMAGES.values()):
        table = EditedTable(table_of(paimon_archive, name), tmp_path / str(number))
        damage(table)
        roots.append(table.root)

    reports = check(roots)

    assert {what: told(report) for what, report in zip(DAMAGES, reports)} == {
        what: expected for what, (_, _, expected) in DAMAGES.items()
    }
    for report in reports:
        standing = {finding.code for finding in report.findings if finding.is_open and finding.code != "PM13"}
        expected = Verdict.UNDETERMINED if standing == {"PD13"} else Verdict.VIOLATED if standing else Verdict.PASS
        assert report.verdict is expected


def _cluster(table: EditedTable) -> None:
    """Let a compaction write the rows of a file again with new ids, as incremental clustering does."""
    table.roll_back(3)
    table.schema(0, options={"clustering.incremental": "true", "clustering.columns": "id"})
    _again(table, "COMPACT", None)


def _apply_vectors(table: EditedTable) -> None:
    """Let a compaction write a file without its deleted row, under new ids."""
    [file] = [entry for entry in table.live() if entry["_FILE"]["_FIRST_ROW_ID"] == 0]
    new = table.copied(file, first_row_id=18, row_count=2, min_sequence_number=7, max_sequence_number=7)
    table.rows(new["_FILE"]["_FILE_NAME"][5:], lambda rows: rows.pop(1) and None)
    new["_FILE"]["_FILE_SIZE"] = table.data_file(new["_FILE"]["_FILE_NAME"][5:]).stat().st_size
    table.commit("COMPACT", None, new, deleted=[file], nextRowId=20, indexManifest=None)


def _renumber(table: EditedTable) -> None:
    """Give the rows of some files new ids in the manifests, as ``sys.reassign_row_id`` does, and update them after."""
    table.commit("OVERWRITE", None, nextRowId=23)

    def change(records: Records) -> None:
        for record in records:
            if record["_FILE"]["_FIRST_ROW_ID"] == 10:
                record["_FILE"]["_FIRST_ROW_ID"] = 18

    table.merge_base(6, change)
    [column] = [
        entry for entry in table.live() if entry["_FILE"]["_WRITE_COLS"] and entry["_FILE"]["_FIRST_ROW_ID"] == 18
    ]
    table.commit("APPEND", "UPDATE", table.copied(column, min_sequence_number=7, max_sequence_number=7))


#: What Paimon itself does, and how it is reported.
OPERATIONS: dict[str, tuple[str, Damage, tuple[str, int]]] = {
    "incremental clustering": (W1, _cluster, ("PD11", 4)),
    "compaction that applies deletion vectors": (DE3, _apply_vectors, ("PD11", 7)),
    "row ids reassigned in manifests": ("big/de/08_merge", _renumber, ("PM13", 6)),
}


def test_row_ids_that_operations_of_paimon_reassign_are_warnings_or_errors(
    check: Check, paimon_archive: Path, tmp_path: Path
) -> None:
    tables = []
    for number, (name, edit, _) in enumerate(OPERATIONS.values()):
        tables.append(EditedTable(table_of(paimon_archive, name), tmp_path / str(number)))
        edit(tables[-1])

    warned, failed = (check((table.root for table in tables), fail_on_reassigned=fail) for fail in (False, True))

    for (what, (_, _, expected)), warning, error in zip(OPERATIONS.items(), warned, failed):
        assert [(one.code, one.version) for one in warning.findings] == [expected], (what, warning.findings)
        assert (warning.verdict, error.verdict) == (Verdict.PASS, Verdict.VIOLATED), what


def _blob(table: EditedTable) -> None:
    """Add a file that has a column of rows that are there."""
    file = next(entry for entry in table.live() if entry["_FILE"]["_WRITE_COLS"] == ["a"])
    table.commit("APPEND", "MERGE", table.copied(file, suffix=".blob", min_sequence_number=6, max_sequence_number=6))


def _rename(*names: str) -> Damage:
    """Give the columns other names, in files and schema."""

    def edit(table: EditedTable) -> None:
        fields = json.loads((table.root / "schema/schema-0").read_text())["fields"]
        table.schema(0, fields=[{**field, "name": name} for field, name in zip(fields, names)])
        for path in table.root.rglob("data-*.parquet"):
            rows = parquet.ParquetFile(path).read()
            parquet.write_table(rows.rename_columns([*names, *rows.schema.names[len(names) :]]), path)
        table.mend_data()

    return edit


def _by_date(table: EditedTable) -> None:
    """Re-encoded: the connector wrote a table that is partitioned by a text. A directory has days since 1970."""
    days = {"d0": 20_000, "d1": -1, "d2": 0, "d9": 19_000}
    for number in (0, 1):
        fields = json.loads((table.root / f"schema/schema-{number}").read_text())["fields"]
        table.schema(number, fields=[{**one, "type": "DATE"} if one["name"] == "dt" else one for one in fields])
    for name, day in days.items():
        for path in (table.root / f"dt={name}").rglob("data-*"):
            rows = parquet.ParquetFile(path).read()
            dates = pyarrow.array([day] * len(rows), pyarrow.date32())
            parquet.write_table(rows.set_column(rows.schema.names.index("dt"), "dt", dates), path)
        (table.root / f"dt={name}").rename(table.root / f"dt={day}")

    def change(record: dict[str, Any]) -> None:
        partition = record["_PARTITION"]
        record["_PARTITION"] = partition[:12] + struct.pack("<i4x", days[partition[12:14].decode()])

    table.all_entries(change)
    table.mend_data()


def _restore(table: EditedTable) -> None:
    """Bring back the files of an older snapshot after all were deleted."""
    live = table.live()
    table.commit("OVERWRITE", "TRUNCATE", deleted=live)
    table.commit("OVERWRITE", None, *live)


def _index(table: EditedTable) -> None:
    """Give files indexes of their own, twice, as rewriting the index of files does."""
    for name in ("a", "b"):
        live = table.live()
        indexed = [{**one, "_FILE": {**one["_FILE"], "_EXTRA_FILES": [f"{name}.index"]}} for one in live]
        table.commit("COMPACT", None, *indexed, deleted=live)


ODD: dict[str, tuple[str, Damage, list[str]]] = {
    "deletion vectors of 64 bits": ("big/dv/06_call", reencode, []),
    "blobs beside rows": ("big/de/08_merge", _blob, []),
    "files that come back": (W1, _restore, []),
    "files that get another index": (W1, _index, []),
    "partitions by date": (P, _by_date, []),
    "names that differ by case": (W1, _rename("data", "DATA"), ["data", "DATA"]),
    "a column that is called as what Spark knows of files": (W1, _rename("id", "_metadata"), ["_metadata"]),
    "columns that are called as those of frames": (W1, _rename("after", "a. `b`"), []),
}


def test_odd_tables_pass_without_a_finding(check: Check, paimon_archive: Path, tmp_path: Path) -> None:
    tables = []
    for number, (name, edit, _) in enumerate(ODD.values()):
        tables.append(EditedTable(table_of(paimon_archive, name), tmp_path / str(number)))
        edit(tables[-1])

    reports = check(table.root for table in tables)

    for (what, (_, _, left_out)), report in zip(ODD.items(), reports):
        assert (report.verdict, told(report)) == (Verdict.PASS, []), what
        assert report.evidence.get("columns_not_compared", []) == left_out, what


def test_ids_that_spark_compares_are_found_as_those_that_are_compared_in_one_process(
    session: SparkDeltaSession, paimon_archive: Path, tmp_path: Path
) -> None:
    tables = [table_of(paimon_archive, P)]
    for number, (name, damage) in enumerate(
        [(W1, _rows("a99d5966", _set(0, _ROW_ID=0))), (P, _land_on_fresh_ids), ("big/dv/06_call", _without_vectors)]
    ):
        table = EditedTable(table_of(paimon_archive, name), tmp_path / str(number))
        damage(table)
        tables.append(table.root)

    repeated = []
    for limits in (DriverLimits(), DriverLimits(ids=0, buckets=0, rows=0)):
        found = []
        for root in tables:
            history = history_of(root)
            data = TableFiles(session.storage, session.storage.qualify(str(root)), layout_of(history))
            surveyed = survey(history.latest.files, data, lambda _: True)
            proof = LiveProof(session, data, history, DeletedRows(data, history), surveyed, {}, limits)
            found.append([(one.finding.message, one.ids, one.count) for one in proof.repeated((), silent)])
        repeated.append(found)

    inside, distributed = repeated
    assert inside == distributed
    assert [[ids for _, ids, _ in found] for found in inside] == [[], [(0,)], [(271,)], [(1, 6, 11, 16)]]


def test_keys_that_exchanged_their_ids_are_found_where_key_columns_are_named(
    check: Check, paimon_archive: Path, tmp_path: Path
) -> None:
    table = EditedTable(table_of(paimon_archive, "big/w1/03_update"), tmp_path / "t")
    table.rows("be092f82", _swap_ids)
    table.file("be092f82", min_sequence_number=2)

    [unnamed], [named], [unknown] = (check([table.root], key_columns=keys) for keys in ((), ("id",), ("no",)))

    assert unnamed.findings == ()
    assert codes(named) == {("PD08", 2)}
    assert codes(unknown) == {("PD14", 2)}


def codes(report: TableReport) -> set[tuple[str, int | None]]:
    return {(finding.code, finding.version) for finding in report.findings if finding.code != "PM13"}


def told(report: TableReport) -> list[tuple[str, int | None, int | None]]:
    found = report.findings
    return sorted((one.code, one.version, one.healed_version) for one in found if one.code != "PM13")


def test_a_check_that_is_remembered_is_not_made_again(check: Check, paimon_archive: Path, tmp_path: Path) -> None:
    table = EditedTable(table_of(paimon_archive, "big/w1/06_delete"), tmp_path / "t")
    table.roll_back(4)
    state = str(tmp_path / "state")
    [first] = check([table.root], state_path=state)
    [again] = check([table.root], state_path=state)

    assert (first.verdict, again.verdict) == (Verdict.PASS, Verdict.PASS)
    assert (first.evidence["footers_read"], again.evidence["footers_read"]) == (4, 0)
    assert again.evidence["files_with_ids_read"] == 0


def test_one_id_in_a_new_file_and_in_an_old_rewritten_one_is_found_since_the_last_check(
    check: Check, paimon_archive: Path, tmp_path: Path
) -> None:
    table = EditedTable(table_of(paimon_archive, "big/w1/06_delete"), tmp_path / "t")
    table.rows("a99d5966", _set(0, _ROW_ID=1))
    table.roll_back(4)
    later = tmp_path / "later"
    table.roll_back(3, later)
    state = str(tmp_path / "state")
    [first] = check([table.root], state_path=state)
    table.bring_back(later)
    [second] = check([table.root], state_path=state)

    assert first.verdict is Verdict.PASS
    assert second.evidence["since_snapshot"] == 3
    [finding] = second.findings
    assert (finding.code, finding.version) == ("PD02", 4)
    assert "be092f82" in finding.message
    assert second.evidence["unchanged_files_read"] == 1
