"""The check of Paimon tables at level metadata, on the archive's tables and on copies with damages of every kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.table_name import TableName
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.paimon_check_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.jobs.delta_session import TableError
from airflow_delta_provider.jobs.paimon import metadata_source
from airflow_delta_provider.jobs.paimon.check import PaimonRowTrackingCheck
from airflow_delta_provider.jobs.paimon.metadata_source import MetadataSource, SnapshotGoneError
from airflow_delta_provider.jobs.paimon.open_table import PaimonTable, open_paimon_table, parse_name
from tests.tables.paimon.archive import HISTORIES, table_of
from tests.tables.paimon.editing import EditedTable, Records
from tests.unit.local_table import LocalStorage
from tests.unit.paimon_tables import CODECS


class Storage(LocalStorage):
    """Local files, and what was read of them."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    def read(self, path: str) -> bytes:
        self.paths.append(path.rsplit("/", 1)[-1])
        return super().read(path)

    def qualify(self, location: str) -> str:
        return f"file:{location}"


def check(root: Path, storage: Storage | None = None, **options: Any) -> TableReport:
    storage = storage or Storage()
    location = f"file:{root}"
    table = PaimonTable(TableName.parse(str(root)), location, MetadataSource(storage, location, CODECS))
    session: Any = SimpleNamespace(storage=storage, spark=None)
    asked = PaimonCheckRowTrackingOptions(**options)
    return PaimonRowTrackingCheck(session, table, asked, lambda _: None).run()


def told(findings: tuple[Finding, ...]) -> list[tuple[str, int | None, int | None]]:
    return sorted((f.code, f.version or 0, f.healed_version) for f in findings)


def copy(archive: Path, name: str, tmp_path: Path) -> EditedTable:
    return EditedTable(table_of(archive, name), tmp_path / "t")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_source, "_EXPIRING", 0.0)


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
        ("bad/dup_first_row_id", [("PM07", 1, None), ("PM08", 1, None)]),
        ("bad/next_row_id_back", [("PM03", 4, None)]),
        ("bad/null_first_row_id", [("PM05", 1, None)]),
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


def test_reassigned_row_ids_are_an_error_where_the_caller_says_so(paimon_archive: Path) -> None:
    report = check(table_of(paimon_archive, "real_violation/sort_compact_z"), fail_on_reassigned=True)

    assert report.verdict is Verdict.VIOLATED
    [finding] = report.findings
    assert (finding.code, finding.operation) == ("PM13", "OVERWRITE")


Edit = Callable[[EditedTable], None]


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


W = "worked/05_delete"
DAMAGES = {
    "M1 off for a while": Damage(W, schemas(False, True), [("PM01", 3, 4)], Verdict.PASS),
    "M1 off since": Damage(W, schemas(False, False), [("PM01", 3, None)]),
    "M1 off in what the next commit uses": Damage(
        W, lambda t: t.schema(1, like=0, options={"row-tracking.enabled": None}), [("PM01", 0, None)]
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
        [("PM02", 0, None), ("PM15", 0, None)],
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
        lambda t: (t.snapshot(3, nextRowId=7), t.snapshot(4, nextRowId=7)),  # type: ignore[arg-type, return-value]
        [("PM04", 3, None)],
        says="by 5; the commit has 1 new rows",
    ),
    "M4 grew without rows": Damage(W, lambda t: t.snapshot(4, nextRowId=4), [("PM04", 4, None)]),
    "M4 and M6 grew too little": Damage(
        W,
        lambda t: (t.snapshot(3, nextRowId=2), t.snapshot(4, nextRowId=2)),  # type: ignore[arg-type, return-value]
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
        [("PM07", 3, 4)],
        Verdict.PASS,
        says="below 2, which were given out before",
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
        says="it has otherwise",
    ),
    "M11 for a while": Damage(W, lambda t: t.snapshot(2, totalRecordCount=9), [("PM11", 2, 3)], Verdict.PASS),
    "M11 since": Damage(W, lambda t: t.snapshot(4, totalRecordCount=1), [("PM11", 4, None)], says="1; the live files"),
    "M12 manifest missing": Damage(W, lambda t: t.manifest(2).unlink(), [("PM12", 2, None)], says="is missing"),
    "M12 manifest of another size": Damage(
        W,
        lambda t: truncate(t.manifest(3), t.manifest(3).stat().st_size - 9),
        [("PM12", 3, None)],
        says="Paimon reads it as empty",
    ),
    "M12 manifest list missing": Damage(
        W, lambda t: (t.root / "manifest" / t.list_name(3, "delta")).unlink(), [("PM12", 3, 4)], Verdict.PASS
    ),
    "M12 recorded size": Damage(
        W, lambda t: t.snapshot(4, deltaManifestListSize=1), [("PM12", 4, None)], says="bytes, not 1"
    ),
    "a manifest cut, its size mended": Damage(
        W,
        lambda t: (truncate(t.manifest(3), t.manifest(3).stat().st_size - 9), t.mend()),  # type: ignore[arg-type, return-value]
        [("PM14", 3, None)],
    ),
    "a snapshot that is none": Damage(
        W,
        lambda t: (t.root / "snapshot/snapshot-3").write_text("{"),
        [("PM14", 0, None)],
        says="snapshot/snapshot-3",  # type: ignore[arg-type, return-value]
    ),
    "a snapshot under another's name": Damage(W, lambda t: t.snapshot(3, id=2), [("PM14", 0, None)]),
    "no schema": Damage(
        "big/p/final", lambda t: (t.root / "schema/schema-0").unlink(), [("PM14", 1, None)], says="Schema 0"
    ),
    "a schema that is none": Damage(
        W,
        lambda t: (t.root / "schema/schema-0").write_text("[]"),
        [("PM14", 1, None)],
        says="Schema 0 cannot be read",  # type: ignore[arg-type, return-value]
    ),
    "not tracked": Damage(
        W,
        lambda t: t.schema(0, options={"row-tracking.enabled": None}),
        [("PM15", 0, None)],
        Verdict.UNDETERMINED,
        says="write the rows into a new one",
    ),
    "not tracked, a primary key": Damage(
        W,
        lambda t: t.schema(0, options={"row-tracking.enabled": None}, primaryKeys=["id"]),
        [("PM15", 0, None)],
        Verdict.UNDETERMINED,
        says="primary key id",
    ),
    "a snapshot of tomorrow": Damage(
        W, lambda t: t.snapshot(3, version=9), [("PM16", 3, None)], Verdict.UNDETERMINED, says="of version 9"
    ),
    "a schema of tomorrow": Damage(
        W, lambda t: t.schema(0, version=9), [("PM16", 1, None)], Verdict.UNDETERMINED, says="of version 9"
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

    def test_violation_is_told_until_it_is_mended(self, table: EditedTable, tmp_path: Path) -> None:
        state = str(tmp_path / "state")
        table.snapshot(4, totalRecordCount=1)
        for _ in range(2):
            assert told(check(table.root, state_path=state).findings) == [("PM11", 4, None)]
        table.snapshot(4, totalRecordCount=2)
        assert check(table.root, state_path=state).verdict is Verdict.PASS

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


def opened(path: str) -> PaimonTable:
    session: Any = SimpleNamespace(storage=Storage(), spark=None)
    return open_paimon_table(session, parse_name(path))


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
