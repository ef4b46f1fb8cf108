"""The kind ``check-paimon-row-tracking`` at level ``data``, on tables of Paimon's connector and on damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.paimon_check_row_tracking import PaimonCheckRowTrackingOptions
from tests.tables.paimon.archive import HISTORIES, table_of
from tests.tables.paimon.editing import EditedTable, Records

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
    assert finding.message.startswith("4 keys came back under new row ids")
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

    return damage


def _truncated(table: EditedTable) -> None:
    path = table.data_file("57b71cd2")
    path.write_bytes(path.read_bytes()[:-20])


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
DAMAGES: dict[str, tuple[str, str, int, Damage]] = {
    "a row without an id": ("big/w1/06_delete", "PD01", 4, _rows("a99d5966", _set(0, _ROW_ID=None))),
    "an id of an older rewritten file": ("big/w1/06_delete", "PD02", 4, _rows("a99d5966", _set(0, _ROW_ID=1))),
    "an id of a file of fresh ids": ("big/p/final", "PD02", 16, _land_on_fresh_ids),
    "an id above nextRowId": ("big/w1/06_delete", "PD03", 4, _rows("a99d5966", _set(0, _ROW_ID=99))),
    "a sequence number that goes back": (
        "big/w1/06_delete",
        "PD04",
        5,
        _rows("57b71cd2", _set(0, _SEQUENCE_NUMBER=1), min_sequence_number=1),
    ),
    "a change under the same sequence number": ("big/w1/06_delete", "PD05", 5, _rows("57b71cd2", _set(0, data="z"))),
    "a sequence number of another snapshot": (
        "big/w1/06_delete",
        "PD06",
        5,
        _rows("57b71cd2", _set(0, _SEQUENCE_NUMBER=4), max_sequence_number=4),
    ),
    "an id of a deleted row": ("big/dv/04_update", "PD07", 3, _rows("fcd4de01", _set(0, _ROW_ID=0))),
    "a compaction that changed a value": ("big/p/final", "PD09", 21, _rows("9a7c8bb8", _set(0, v="z"))),
    "a compaction of column files that changed a value": (
        "big/de3/07_call",
        "PD09",
        6,
        _rows("be3b9612", _set(0, a="z")),
    ),
    "a file without the ids that it should carry": ("big/w1/06_delete", "PD10", 5, _lack("_ROW_ID")),
    "a missing data file": ("big/w1/06_delete", "PD12", 5, lambda table: table.data_file("57b71cd2").unlink()),
    "a truncated data file": ("big/w1/06_delete", "PD12", 5, _truncated),
    "a damaged deletion vector": ("big/dv/04_update", "PD12", 3, _broken_vector),
    "a file that is no Parquet": ("big/w1/06_delete", "PD13", 5, _as_orc),
    "data pages that are damaged": ("big/w1/06_delete", "PD13", 5, _other_bytes),
}


def test_damages_are_named_by_their_rule_at_the_snapshot_that_did_them(
    check: Check, paimon_archive: Path, tmp_path: Path
) -> None:
    roots = []
    for number, (name, _, _, damage) in enumerate(DAMAGES.values()):
        table = EditedTable(table_of(paimon_archive, name), tmp_path / str(number))
        damage(table)
        table.mend_data()
        roots.append(table.root)

    reports = check(roots)

    found = {what: codes(report) for what, report in zip(DAMAGES, reports)}
    assert found == {what: {(code, snapshot)} for what, (_, code, snapshot, _) in DAMAGES.items()}
    for report in reports:
        undecided = any(finding.code == "PD13" for finding in report.findings)
        assert report.verdict is (Verdict.UNDETERMINED if undecided else Verdict.VIOLATED)


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
