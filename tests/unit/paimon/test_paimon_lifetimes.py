"""How long files are live, and rows whichever file they are in; and findings about files, as few as tell everything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as parquet
import pytest

from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.paimon.live_files import Lifetimes, row_successors
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.row_rules import FileFault, differs, findings_of, unread, unreadable
from airflow_delta_provider.domain.paimon.table_history import Step, TableHistory, vector_key, vectors_of
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.paimon.metadata_source import SnapshotGoneError
from airflow_delta_provider.jobs.paimon.table import TableFiles
from airflow_delta_provider.jobs.spark.paimon.compared_rows import DeletedRows
from airflow_delta_provider.jobs.spark.paimon.rows import FileSurvey, survey
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from tests.tables.paimon.archive import table_of
from tests.tables.paimon.editing import EditedTable
from tests.unit.paimon_checks import Storage, check, copy, told
from tests.unit.paimon_histories import history_of, layout_of

W1, P, DV, DE3 = "big/w1/06_delete", "big/p/final", "big/dv/06_call", "big/de3/07_call"


def file_of(history: TableHistory, prefix: str) -> DataFile:
    files = {file.name: file for step in history.steps for file in (*step.added, *step.removed)}
    files |= {file.name: file for file in history.start.files}
    [found] = [file for name, file in files.items() if name.startswith(f"data-{prefix}")]
    return found


@pytest.fixture
def history(paimon_archive: Path) -> TableHistory:
    return history_of(table_of(paimon_archive, W1))


def test_files_are_gone_once_none_of_them_is_live(history: TableHistory) -> None:
    lifetimes = Lifetimes(history)
    first, second, live = (file_of(history, prefix) for prefix in ("5f36b64f", "092e9662", "57b71cd2"))

    assert lifetimes.removed_since([first]) == 2
    assert lifetimes.removed_since([first, second]) == 4
    assert lifetimes.removed_since([first, live]) is None


def test_a_file_that_came_back_is_not_gone(history: TableHistory) -> None:
    first = file_of(history, "5f36b64f")
    last = history.steps[-1]
    back = Step(replace(last.snapshot, id=6), (first,), (), last.index_files)

    assert Lifetimes(replace(history, steps=(*history.steps, back))).removed_since([first]) is None


def test_rows_are_gone_once_no_file_that_they_may_have_moved_to_is_live(history: TableHistory) -> None:
    first, before = file_of(history, "5f36b64f"), history.start.snapshot
    last = history.steps[-1].snapshot
    truncate = Step(replace(last, id=6), (), history.latest.files)

    assert Lifetimes(history).rows_removed_since([first], before) is None
    truncated = Lifetimes(replace(history, steps=(*history.steps, truncate)))
    assert truncated.rows_removed_since([first], before) == 6
    assert truncated.last_deletion(last) == 6
    assert Lifetimes(history).last_deletion(last) is None


def test_rows_of_column_files_move_to_files_of_the_same_ids(paimon_archive: Path) -> None:
    history = history_of(table_of(paimon_archive, DE3))
    old, compacted, other = (file_of(history, prefix) for prefix in ("fcfcc910", "be3b9612", "0372ed36"))

    assert row_successors(frozenset([old.key]), (compacted, other), {old.key: old}) == {compacted.key}
    assert row_successors(frozenset([other.key]), (compacted,), {old.key: old}) == {other.key}
    assert row_successors(frozenset([old.key]), (), {old.key: old}) == frozenset()


def test_deletion_by_vectors_takes_rows_out_of_files(paimon_archive: Path) -> None:
    history = history_of(table_of(paimon_archive, "big/dv/04_update"))

    assert Lifetimes(history).last_deletion(history.start.snapshot) == 3
    assert Lifetimes(history).last_deletion(history.steps[0].snapshot) == 3
    assert Lifetimes(history).last_deletion(history.steps[1].snapshot) is None


def test_files_of_which_the_same_is_to_be_said_are_told_together_at_the_first_snapshot(history: TableHistory) -> None:
    files = [file_of(history, prefix) for prefix in ("57b71cd2", "a99d5966", "092e9662", "be092f82", "5f36b64f")]

    [found] = findings_of([unread(file, "it is not a Parquet file but orc") for file in files], Lifetimes(history))

    assert (found.code, found.version, found.at_or_before, found.path) == ("PD13", 1, True, None)
    assert found.message.startswith(
        f"{files[0].name} was not read: it is not a Parquet file but orc. 4 more files have the same problem: "
    )
    assert "and 1 more. These rows are not part of the proof." in found.message


def test_an_error_of_files_is_healed_with_the_last_of_them_and_what_is_not_proven_is_not(history: TableHistory) -> None:
    gone, live = file_of(history, "092e9662"), file_of(history, "57b71cd2")

    def one(fault: FileFault) -> Finding:
        [found] = findings_of([fault], Lifetimes(history))
        return found

    assert (one(unreadable(gone, "no")).healed_version, one(unreadable(live, "no")).healed_version) == (4, None)
    assert (one(unread(gone, "no")).healed_version, one(differs(gone, "no")).version) == (None, 3)
    assert one(differs(gone, "no")).operation == "WRITE (APPEND)"


def test_a_rule_has_no_more_than_twenty_findings(history: TableHistory) -> None:
    file = file_of(history, "57b71cd2")

    found = findings_of([differs(file, f"it has {rows} rows") for rows in range(100)], Lifetimes(history))

    assert len(found) == 20
    assert "80 more files have other problems of this kind." in found[-1].message


def surveyed(table: EditedTable) -> tuple[FileSurvey, list[Finding]]:
    """Look at the footers of all files that a table ever had."""
    history = history_of(table.root)
    data = TableFiles(Storage(), f"file:{table.root}", layout_of(history))  # type: ignore[arg-type]  # a stand-in
    live = {file.key for file in history.latest.files}
    files = [*history.start.files, *(file for step in history.steps for file in step.added)]
    found = survey(files, data, lambda file: file.key in live)
    return found, findings_of(found.faults, Lifetimes(history))


@pytest.mark.parametrize("name", [W1, P, DV, DE3])
def test_files_of_the_connector_are_as_their_manifests_say(paimon_archive: Path, tmp_path: Path, name: str) -> None:
    found, findings = surveyed(copy(paimon_archive, name, tmp_path))

    assert (findings, found.broken, found.vanished) == ([], set(), False)


def shorter(table: EditedTable, prefix: str) -> None:
    table.rows(prefix, lambda rows: rows.pop() and None)


def longer(table: EditedTable, prefix: str) -> None:
    path = table.data_file(prefix)
    path.write_bytes(path.read_bytes() + b"more")


def without(column: str) -> Any:
    def edit(table: EditedTable, prefix: str) -> None:
        path = table.data_file(prefix)
        parquet.write_table(parquet.ParquetFile(path).read().drop_columns([column]), path)
        table.mend_data()

    return edit


def unnamed(table: EditedTable, prefix: str) -> None:
    table.file(prefix, write_cols=["id", "data", "_ROW_ID"])


def missing(table: EditedTable, prefix: str) -> None:
    table.data_file(prefix).unlink()


@pytest.mark.parametrize(
    ("damage", "prefix", "expected", "says", "broken"),
    [
        (shorter, "57b71cd2", ("PD10", 5, None), "it has 0 rows, the manifest says 1", False),
        (shorter, "092e9662", ("PD10", 3, 4), "it has 2 rows", False),
        (longer, "57b71cd2", ("PD12", 5, None), "it is longer than the 999 bytes", True),
        (without("_ROW_ID"), "57b71cd2", ("PD10", 5, None), "lacks the column _ROW_ID", True),
        (without("_SEQUENCE_NUMBER"), "57b71cd2", ("PD10", 5, None), "lacks the column _SEQUENCE_NUMBER", False),
        (unnamed, "57b71cd2", ("PD10", 5, None), "_SEQUENCE_NUMBER that the manifest does not name", False),
        (missing, "57b71cd2", ("PD12", 5, None), "there is no such file", True),
        (missing, "092e9662", ("PD13", 3, None), "as files of expired snapshots are", True),
    ],
)
def test_a_file_that_is_not_as_recorded_is_told_and_read_only_if_its_rows_can_be(
    paimon_archive: Path,
    tmp_path: Path,
    damage: Any,
    prefix: str,
    expected: tuple[str, int, int | None],
    says: str,
    broken: bool,
) -> None:
    table = copy(paimon_archive, W1, tmp_path)
    damage(table, prefix)

    found, [finding] = surveyed(table)

    assert (finding.code, finding.version, finding.healed_version) == expected
    assert says in finding.message
    assert [key.name[5:13] for key in found.broken] == ([prefix] if broken else [])
    assert found.vanished is (expected[0] == "PD13")


def test_data_files_whose_vectors_are_in_one_missing_index_file_are_told_once(
    paimon_archive: Path, tmp_path: Path
) -> None:
    table = copy(paimon_archive, DV, tmp_path)
    for path in (table.root / "index").iterdir():
        path.unlink()
    history = history_of(table.root)
    files = TableFiles(Storage(), f"file:{table.root}", layout_of(history))  # type: ignore[arg-type]  # a stand-in
    deleted = DeletedRows(files, history)
    file = file_of(history, "04b8bd6e")
    [index] = history.steps[0].index_files
    vector: Any = SimpleNamespace(file=index, range=index.vectors[0])

    assert [deleted(one, vector) for one in (file, file, file._replace(name="data-2.parquet"))] == [0, 0, 0]
    [finding] = findings_of(deleted.faults, Lifetimes(history))
    assert (finding.code, finding.version) == (rules.UNREADABLE.code, 2)
    assert "1 more file has the same problem: data-2.parquet." in finding.message


class Denying(Storage):
    """One file may not be read, or the storage fails there."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self._error = error

    def read_range(self, path: str, start: int, end: int) -> bytes:
        if "57b71cd2" in path:
            raise self._error
        return super().read_range(path, start, end)


def test_file_that_may_not_be_read_is_not_part_of_the_proof(history: TableHistory, paimon_archive: Path) -> None:
    location = f"file:{table_of(paimon_archive, W1)}"
    data = TableFiles(Denying(PermissionError("no key")), location, layout_of(history))  # type: ignore[arg-type]  # a stand-in
    found = survey(history.latest.files, data, lambda _: True)

    [finding] = findings_of(found.faults, Lifetimes(history))
    assert finding.code == "PD13"
    assert "No permission: no key. Give the job's user or credentials access to the table. These" in finding.message
    assert len(found.ids) == len(history.latest.files) - 1


def test_storage_that_fails_for_now_ends_the_check_to_be_made_again(
    history: TableHistory, paimon_archive: Path
) -> None:
    location = f"file:{table_of(paimon_archive, W1)}"
    data = TableFiles(Denying(TimeoutError("slow down")), location, layout_of(history))  # type: ignore[arg-type]  # a stand-in

    with pytest.raises(TimeoutError):
        survey(history.latest.files, data, lambda _: True)


class Expiring(Storage):
    """While data files are read, the oldest snapshots expire: first the files go that they alone have."""

    def __init__(self, table: EditedTable) -> None:
        super().__init__()
        self._table = table

    def read_range(self, path: str, start: int, end: int) -> bytes:
        if "092e9662" in path:
            self._table.expire(5)
            raise MissingFileError(path)
        return super().read_range(path, start, end)


def test_data_files_of_snapshots_that_expire_while_they_are_read_let_the_check_begin_anew(
    paimon_archive: Path, tmp_path: Path
) -> None:
    table = copy(paimon_archive, W1, tmp_path)

    with pytest.raises(SnapshotGoneError, match="snapshot-1"):
        check(table.root, Expiring(table), level="data")


@pytest.mark.parametrize("content", [None, "{"])
def test_rows_of_files_whose_schema_cannot_be_read_are_said_not_to_have_been_read(
    paimon_archive: Path, tmp_path: Path, content: str | None
) -> None:
    table = copy(paimon_archive, P, tmp_path)
    table.expire(17)
    path = table.root / "schema/schema-0"
    path.unlink() if content is None else path.write_text(content)

    report = check(table.root, level="data")

    assert told(report.findings) == [("PM14", 17, None), ("PM18", 0, None)]
    assert "files were written with schema 0, which cannot be read" in report.findings[-1].message


def test_rows_that_return_are_brought_by_the_commit_that_took_their_deletion_vector_away(paimon_archive: Path) -> None:
    history = history_of(table_of(paimon_archive, "big/dv/04_update"))
    last = history.steps[-1]
    [vectored] = [file for file in history.latest.files if vector_key(file) in vectors_of(last.index_files)]
    forgets = Step(replace(last.snapshot, id=9, operation="DELETE"), (), ())

    def brought(*steps: Step) -> int | None:
        found = Lifetimes(replace(history, steps=(*history.steps, *steps))).brought_by([vectored])
        return None if found is None else found.id

    assert brought() is None
    assert brought(forgets) == 9
    assert brought(Step(replace(last.snapshot, id=8), (), (), last.index_files), forgets) == 9
    assert brought(Step(forgets.snapshot, (), (vectored,))) is None
