"""The check of Paimon tables at level metadata, on the archive's tables and on copies that change while it reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.formats import budget
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.paimon.check import check_paimon_table
from airflow_delta_provider.jobs.paimon.metadata_source import SnapshotGoneError
from airflow_delta_provider.jobs.paimon.table import PaimonTable, open_paimon_table
from airflow_delta_provider.jobs.tables.session import TableError, TableSession, parse_table_name
from tests.tables.paimon.archive import HISTORIES, table_of
from tests.tables.paimon.editing import EditedTable
from tests.unit.paimon_checks import Storage, check, copy, told

W = "worked/05_delete"


@pytest.mark.parametrize("name", [*HISTORIES, "worked/01_create"])
def test_well_formed_table_passes_from_every_snapshot_on(paimon_archive: Path, tmp_path: Path, name: str) -> None:
    table = copy(paimon_archive, name, tmp_path)
    # MERGE on a table with deletion vectors, which moves ids.
    known = {("PM13", 4, None)} if name == "big/dv/06_call" else set()
    ids = table.snapshot_ids()
    for since in ids:
        report = check(table.root, since_snapshot=since)
        assert (report.verdict, report.version) == (Verdict.PASS, ids[-1])
        assert set(told(report.findings)) == {found for found in known if found[1] > since}
    for first in ids or [1]:
        table.expire(first)
        report = check(table.root)
        assert report.verdict is Verdict.PASS
        assert set(told(report.findings)) == {found for found in known if found[1] > first}
        notes = (report.evidence or {})["notes"]
        assert any(f"history begins at snapshot {first}" in note for note in notes) is (first > 1)


@pytest.mark.parametrize(
    ("name", "findings"),
    [
        ("bad/dup_first_row_id", [("PM07", 1, None), ("PM08", 1, None), ("PM10", 1, None)]),
        ("bad/next_row_id_back", [("PM03", 4, None)]),
        ("bad/null_first_row_id", [("PM05", 1, None), ("PM10", 1, None)]),
        ("bad/option_bucket", [("PM02", 1, None)]),
        ("bad/row_count_mismatch", [("PM11", 4, None)]),
        # What is wrong with these is in their rows.
        ("bad/phys_row_id_dup", []),
        ("bad/phys_row_id_swapped", []),
        ("bad/seq_in_future", []),
        ("real_violation/dv_merge", [("PM13", 4, None)]),
        ("real_violation/sort_compact_m", [("PM13", 4, None)]),
        ("real_violation/sort_compact_z", [("PM13", 3, None)]),
    ],
)
def test_damaged_table_of_the_archive_is_told_at_its_snapshot(
    paimon_archive: Path, name: str, findings: list[tuple[str, int, int | None]]
) -> None:
    report = check(table_of(paimon_archive, name))

    assert told(report.findings) == findings
    violated = any(finding.severity.value == "ERROR" for finding in report.findings)
    assert report.verdict is (Verdict.VIOLATED if violated else Verdict.PASS)
    for finding in report.findings:
        assert finding.user
        assert finding.timestamp
        assert finding.operation


@pytest.mark.parametrize(
    ("name", "verdict", "operation"),
    [("dv_merge", Verdict.VIOLATED, "MERGE (OVERWRITE)"), ("sort_compact_z", Verdict.UNDETERMINED, "OVERWRITE")],
)
def test_reassigned_row_ids_are_an_error_where_the_caller_says_so_and_undecided_if_not_proven(
    paimon_archive: Path, name: str, verdict: Verdict, operation: str
) -> None:
    report = check(table_of(paimon_archive, f"real_violation/{name}"), fail_on_reassigned=True)

    assert report.verdict is verdict
    [finding] = report.findings
    assert (finding.code, finding.operation) == ("PM13", operation)


def test_merged_manifests_are_no_difference_and_the_only_ones_of_a_base_that_are_read(
    paimon_archive: Path, tmp_path: Path
) -> None:
    table = copy(paimon_archive, "big/p/final", tmp_path)
    table.merge_base(12)
    storage = Storage()

    report = check(table.root, storage)

    assert report.verdict is Verdict.PASS
    assert report.findings == ()
    manifests = [path for path in storage.paths if path.startswith("manifest-") and "list" not in path]
    assert len(manifests) == len(set(manifests))
    assert manifests.count("manifest-merged") == 1


def test_first_snapshot_that_is_kept_answers_for_what_came_before(paimon_archive: Path, tmp_path: Path) -> None:
    table = copy(paimon_archive, "bad/dup_first_row_id", tmp_path)
    body = json.loads((table.root / "snapshot/snapshot-1").read_text())
    base, delta = (body[f"{which}ManifestList"] for which in ("base", "delta"))
    # As it is once the commit has expired: its files are in the base of another.
    (table.root / "snapshot/snapshot-2").write_text(
        json.dumps({**body, "id": 2, "baseManifestList": delta, "deltaManifestList": base, "deltaRecordCount": 0})
    )
    table.mend()
    table.expire(2)

    report = check(table.root)

    assert [(f.code, f.version, f.at_or_before) for f in report.findings] == [("PM08", 2, True)]


class TestMemory:
    @pytest.fixture
    def table(self, paimon_archive: Path, tmp_path: Path) -> EditedTable:
        return copy(paimon_archive, W, tmp_path)

    def _snapshots(self, report: TableReport) -> tuple[Any, Any]:
        evidence = report.evidence or {}
        return evidence["since_snapshot"], evidence["notes"]

    def test_next_check_begins_where_all_was_well(self, table: EditedTable, tmp_path: Path) -> None:
        state = str(tmp_path / "state")
        saved = (table.root / "snapshot/snapshot-4").read_text()
        table.roll_back(3)
        since, [note] = self._snapshots(check(table.root, state_path=state))
        assert since is None
        assert "no earlier check is remembered" in note
        (table.root / "snapshot/snapshot-4").write_text(saved)
        storage = Storage()

        report = check(table.root, storage, state_path=state)

        assert self._snapshots(report) == (3, [])
        assert "snapshot-2" not in storage.paths
        assert report.verdict is Verdict.PASS

    def test_findings_are_reported_if_the_state_cannot_be_saved(self, table: EditedTable, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        state = str(tmp_path / "file" / "state")
        report = check(table.root, state_path=state)
        assert (report.verdict, [finding.code for finding in report.findings]) == (Verdict.PASS, ["FT05"])
        assert str(tmp_path / "file") in report.findings[0].message
        assert report.receipt is None

    def test_violation_is_told_until_it_is_mended(self, table: EditedTable, tmp_path: Path) -> None:
        state = str(tmp_path / "state")
        table.snapshot(4, totalRecordCount=1)
        for _ in range(2):
            assert told(check(table.root, state_path=state).findings) == [("PM11", 4, None)]
        table.snapshot(4, totalRecordCount=2)
        assert check(table.root, state_path=state).verdict is Verdict.PASS

    def test_warning_that_the_next_check_passes_over_is_told_until_that_was_received(
        self, paimon_archive: Path, tmp_path: Path
    ) -> None:
        table, state = copy(paimon_archive, "big/dv/06_call", tmp_path), str(tmp_path / "state")
        reports = [check(table.root, state_path=state, receipt=receipt) for receipt in ("first", "second")]
        assert [self._snapshots(report)[0] for report in reports] == [None, table.snapshot_ids()[-1]]
        assert [told(report.findings) for report in reports] == [[("PM13", 4, None)]] * 2
        assert [report.receipt for report in reports] == ["first", "second"]

        known = {"first": {"another table": None}, "second": None}
        for _ in range(2):
            report = check(table.root, state_path=state, receipt="third", received=known)
            assert (report.verdict, report.findings, report.receipt) == (Verdict.PASS, (), None)
            known = {}

    def test_warning_is_told_once_where_nobody_will_confirm_it(self, paimon_archive: Path, tmp_path: Path) -> None:
        table, state = copy(paimon_archive, "big/dv/06_call", tmp_path), str(tmp_path / "state")
        reports = [check(table.root, state_path=state) for _ in range(2)]
        assert [told(report.findings) for report in reports] == [[("PM13", 4, None)], []]

    def test_warning_waits_while_the_check_does_not_get_on(self, paimon_archive: Path, tmp_path: Path) -> None:
        table, state = copy(paimon_archive, "big/dv/06_call", tmp_path), str(tmp_path / "state")
        newest = table.snapshot_ids()[-1]
        saved = (table.root / f"snapshot/snapshot-{newest}").read_text()
        table.roll_back(newest - 1)
        assert told(check(table.root, state_path=state, receipt="lost").findings) == [("PM13", 4, None)]
        (table.root / f"snapshot/snapshot-{newest}").write_text(saved)
        table.snapshot(newest, totalRecordCount=1)
        for received, expected in (({}, ["PM11", "PM13"]), ({"r1": None}, ["PM11"]), ({}, ["PM11"])):
            report = check(table.root, state_path=state, receipt="r1", received=received)
            assert [code for code, *_ in told(report.findings)] == expected

    def test_rollback_means_a_check_of_all(self, table: EditedTable, tmp_path: Path) -> None:
        state = str(tmp_path / "state")
        check(table.root, state_path=state)
        table.snapshot(4, uuid="of another commit", totalRecordCount=1)

        report = check(table.root, state_path=state)

        since, [note] = self._snapshots(report)
        assert since is None
        assert "rolled back since: all snapshots are checked" in note
        assert told(report.findings) == [("PM11", 4, None)]

    @pytest.mark.parametrize("content", ["{", "[]", '{"paimon_schema_version": 99}', '{"paimon_schema_version": 1}'])
    def test_memory_that_cannot_be_used_means_a_check_of_all(
        self, table: EditedTable, tmp_path: Path, content: str
    ) -> None:
        state = tmp_path / "state"
        check(table.root, state_path=str(state))
        [path] = state.iterdir()
        path.write_text(content)

        since, [note] = self._snapshots(check(table.root, state_path=str(state)))

        assert since is None
        assert "all snapshots are checked" in note

    @pytest.mark.parametrize("since", [9, 1])
    def test_snapshot_to_begin_after_that_is_not_there_means_a_check_of_all(
        self, table: EditedTable, since: int
    ) -> None:
        table.expire(2)

        found, notes = self._snapshots(check(table.root, since_snapshot=since))

        assert found is None
        assert any(f"snapshot {since}, to begin after, is" in note for note in notes)


def test_tags_and_branches_are_said_not_to_be_checked(paimon_archive: Path, tmp_path: Path) -> None:
    table = copy(paimon_archive, "big/p/final", tmp_path)
    (table.root / "branch/branch-dev/snapshot").mkdir(parents=True)

    notes = (check(table.root).evidence or {})["notes"]

    assert notes == ["only the branch main is checked, not dev", "tags are not checked: tg1"]


class Expiring(Storage):
    """While its snapshots are read, the oldest ones expire: first their manifests go, then they."""

    def __init__(self, table: EditedTable) -> None:
        super().__init__()
        self._table: EditedTable | None = table

    def read(self, path: str) -> bytes:
        if self._table is not None and "manifest-list" in path:
            (self._table.root / "manifest" / self._table.list_name(1, "delta")).unlink()
            self._table.expire(2)
            self._table = None
        return super().read(path)


def test_snapshot_that_expires_while_it_is_read_is_no_damage(paimon_archive: Path, tmp_path: Path) -> None:
    table = copy(paimon_archive, W, tmp_path)
    storage = Expiring(table)

    with pytest.raises(SnapshotGoneError, match="snapshot-1"):
        check(table.root, storage)

    assert check(table.root, storage).verdict is Verdict.PASS


class Receding(Storage):
    """Each time that the snapshots were listed, the oldest of them expires."""

    def __init__(self, table: EditedTable) -> None:
        super().__init__()
        self._table = table

    def list_names(self, directory: str) -> list[str]:
        names = super().list_names(directory)
        if directory.endswith("/snapshot"):
            self._table.expire(self._table.snapshot_ids()[1])
        return names


def test_snapshots_that_vanish_faster_than_they_are_read_leave_the_table_undecided(
    paimon_archive: Path, tmp_path: Path
) -> None:
    table = copy(paimon_archive, "big/p/final", tmp_path)
    session = TableSession(Receding(table))
    request = JobRequest((str(table.root),), PaimonCheckRowTrackingOptions())
    begun: list[str] = []

    report = check_paimon_table(session, str(table.root), request, begun.append)

    assert (report.verdict, told(report.findings)) == (Verdict.UNDETERMINED, [("PM17", 0, None)])
    assert sum("starts again" in line for line in begun) == 3


class Written(Storage):
    """While its schemas are read, somebody commits."""

    def __init__(self, table: EditedTable) -> None:
        super().__init__()
        self._table = table
        self._wrote = False

    def read(self, path: str) -> bytes:
        if path.endswith("schema-0") and not self._wrote:
            self._wrote = True
            self._table.commit("OVERWRITE", "TRUNCATE", deleted=self._table.live())
        return super().read(path)


def test_table_that_is_written_while_it_is_read_is_checked_as_it_was(paimon_archive: Path, tmp_path: Path) -> None:
    table = copy(paimon_archive, W, tmp_path)

    report = check(table.root, Written(table))

    assert (report.verdict, report.version) == (Verdict.PASS, 4)
    assert (report.evidence or {})["files"] == 2
    assert check(table.root).version == 5


def test_thousand_snapshots_are_checked_to_the_last(paimon_archive: Path, tmp_path: Path) -> None:
    table = copy(paimon_archive, W, tmp_path)
    table.commit("APPEND", "WRITE")
    table.commit("APPEND", "WRITE")
    body = table.body(6)
    for number in range(7, 1_001):
        body |= {"id": number, "uuid": str(number), "totalRecordCount": 2 + number // 1_000}
        (table.root / f"snapshot/snapshot-{number}").write_text(json.dumps(body))

    report = check(table.root)

    assert told(report.findings) == [("PM11", 1_000, None)]
    assert (report.evidence or {})["snapshots"] == 1_000


def opened(path: str) -> PaimonTable:
    session = TableSession(Storage())
    return open_paimon_table(session, parse_table_name(path))


def test_table_is_known_by_its_schemas_or_its_snapshots(paimon_archive: Path, tmp_path: Path) -> None:
    table = copy(paimon_archive, W, tmp_path)
    assert opened(f"{table.root}/").location == f"file:{table.root}"
    (table.root / "schema/schema-0").unlink()
    assert opened(str(table.root)).source.snapshot_ids() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("file", "code", "says"),
    [
        ("_delta_log/00000000000000000000.json", "RQ43", "is a Delta Lake table, not an Apache Paimon table"),
        ("metadata/v1.metadata.json", "RQ43", "is an Apache Iceberg table, not an Apache Paimon table"),
        ("part-0.parquet", "RQ43", "is not an Apache Paimon table. Name the table's own directory"),
        (None, "RQ01", "no such directory"),
    ],
)
def test_what_is_no_paimon_table_is_refused(tmp_path: Path, file: str | None, code: str, says: str) -> None:
    root = tmp_path / "t"
    if file:
        (root / file).parent.mkdir(parents=True)
        (root / file).touch()

    with pytest.raises(TableError) as raised:
        opened(str(root))

    assert raised.value.finding.code == code
    assert says in raised.value.finding.message


def test_name_in_a_catalog_is_refused_where_files_are_read() -> None:
    with pytest.raises(TableError, match="is a name in a catalog"):
        opened("db.t")


def test_metadata_that_is_too_large_is_not_called_damaged(
    paimon_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "_LEAST", 0)
    monkeypatch.setattr(budget, "_PER_BYTE", 1)

    report = check(copy(paimon_archive, W, tmp_path).root)

    assert report.verdict is Verdict.UNDETERMINED
    assert {finding.code for finding in report.findings} >= {"PM21"}
    assert "PM14" not in {finding.code for finding in report.findings}
    assert "was not read: its values need more than" in report.findings[0].message
