"""Repairs of real tables: planned without Spark, applied by Spark, and proved by audits and two readers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_delta_provider.domain.repair.plan import SET_ASIDE
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyRepairOptions, PlanRepairOptions
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from tests.spark.test_check_row_tracking_damaged import DUPLICATES, IMPOSSIBLE, LOG
from tests.tables import row_tracking_bad_files as bad_files
from tests.tables import row_tracking_damage as damage
from tests.tables.checkpoints import twice_checkpointed
from tests.tables.restoring import TRIED
from tests.tables.row_tracking import operations
from tests.unit.audit.test_audit_history import damaged
from tests.unit.local_table import OnDisk

_HIDDEN = "9999999999999998.50"


def audit(path: Path, level: str = "footers") -> TableReport:
    return run(JobRequest((str(path),), AuditOptions(level=level)), python_session(), lambda _: None).tables[0]


def plan(path: Path, *permit: str, level: str = "footers") -> dict[str, Any]:
    options = PlanRepairOptions(level=level, permit=permit)
    report = run(JobRequest((str(path),), options), python_session(), lambda _: None).tables[0]
    assert report.plan is not None, report
    return dict(report.plan)


def apply(
    session: SparkDeltaSession, path: Path, planned: dict[str, Any], said: list[str] | None = None, **options: Any
) -> TableReport:
    asked = ApplyRepairOptions(plan=(planned,), **options)
    progress = (lambda _: None) if said is None else said.append
    return run(JobRequest((str(path),), asked, labels={"run_id": "r"}), session, progress).tables[0]


@pytest.fixture
def hiding(tmp_path: Path) -> Path:
    """A table of deltalake with default settings whose bounds hide rows."""
    values = [Decimal("9999999999999997.01") + Decimal(i) * Decimal("0.02") for i in range(50)]
    values.append(Decimal("9999999999999999.00"))
    rows = pa.table({"id": pa.array(range(51)), "x": pa.array(values, pa.decimal128(18, 2))})
    path = tmp_path / "hiding"
    write_deltalake(str(path), rows)
    write_deltalake(str(path), rows, mode="append")
    return path


def test_rows_that_bounds_hide_are_found_again(session: SparkDeltaSession, hiding: Path) -> None:
    def found() -> int:
        return session.spark.read.format("delta").load(str(hiding)).where(f"x >= {_HIDDEN}").count()

    assert found() == 0
    said: list[str] = []
    report = apply(session, hiding, plan(hiding), said)
    assert (report.verdict, report.version, report.changed) == (Verdict.PASS, 2, True)
    assert found() == 2
    assert [text for text in said if "reads the same 102 rows" in text] == [
        f"{hiding}: Delta Spark reads the same 102 rows as before",
        f"{hiding}: deltalake reads the same 102 rows as before",
    ]
    assert audit(hiding).verdict is Verdict.PASS


def test_a_damaged_checkpoint_is_moved_aside_and_written_again(session: SparkDeltaSession, hiding: Path) -> None:
    DeltaTable(str(hiding)).create_checkpoint()
    checkpoint = hiding / "_delta_log" / f"{1:020d}.checkpoint.parquet"
    content = checkpoint.read_bytes()[:-8]
    checkpoint.write_bytes(content)
    planned = plan(hiding)
    report = apply(session, hiding, planned)
    assert report.verdict is Verdict.PASS
    kept = list((hiding / SET_ASIDE).rglob(checkpoint.name))
    assert [path.read_bytes() for path in kept] == [content]
    assert not checkpoint.exists()
    assert (hiding / "_delta_log" / f"{2:020d}.checkpoint.parquet").exists()
    assert DeltaTable(str(hiding)).version() == 2


def test_a_repair_is_made_once(session: SparkDeltaSession, hiding: Path) -> None:
    planned = plan(hiding)
    assert apply(session, hiding, planned).version == 2
    again = apply(session, hiding, planned)
    assert (again.verdict, again.version, again.changed) == (Verdict.PASS, 2, False)


def test_a_plan_that_no_longer_fits_is_refused(session: SparkDeltaSession, hiding: Path) -> None:
    planned = plan(hiding)
    write_deltalake(str(hiding), DeltaTable(str(hiding)).to_pyarrow_table().slice(0, 51), mode="append")
    report = apply(session, hiding, planned)
    assert report.verdict is Verdict.REFUSED
    assert [finding.code for finding in report.findings] == ["RQ15"]
    assert DeltaTable(str(hiding)).version() == 2
    assert not (hiding / SET_ASIDE).exists()


def test_a_dry_run_changes_nothing(session: SparkDeltaSession, hiding: Path) -> None:
    asked = ApplyRepairOptions(plan=(plan(hiding),))
    request = JobRequest((str(hiding),), asked, dry_run=True)
    report = run(request, session, lambda _: None).tables[0]
    assert (report.changed, report.plan and report.plan["commits"]) == (False, 1)
    assert DeltaTable(str(hiding)).version() == 1


def test_a_run_that_was_killed_after_files_were_moved_continues(
    session: SparkDeltaSession, hiding: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_delta_provider.jobs.repair import apply as applying

    DeltaTable(str(hiding)).create_checkpoint()
    checkpoint = hiding / "_delta_log" / f"{1:020d}.checkpoint.parquet"
    checkpoint.write_bytes(b"no parquet")
    planned = plan(hiding)

    def killed(*_: Any) -> int:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(applying._Repair, "_commit", killed)
        failed = apply(session, hiding, planned)
    assert failed.verdict is Verdict.FAULT
    assert not checkpoint.exists()
    report = apply(session, hiding, planned)
    assert (report.verdict, report.version) == (Verdict.PASS, 2)
    assert (hiding / "_delta_log" / f"{2:020d}.checkpoint.parquet").exists()


def tracked(session: SparkDeltaSession, path: Path) -> None:
    """Make a table with row tracking whose two files were given the same ids."""
    session.spark.range(10).coalesce(1).write.format("delta").option("delta.enableRowTracking", "true").save(str(path))
    session.spark.range(10, 20).coalesce(1).write.format("delta").mode("append").save(str(path))
    commit = path / "_delta_log" / f"{1:020d}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in lines:
        if "add" in action:
            action["add"]["baseRowId"] = 0
    commit.write_text("\n".join(map(json.dumps, lines)) + "\n")
    for derived in (path / "_delta_log").glob("*.crc"):
        derived.unlink()
    for derived in (path / "_delta_log").glob(".*.crc"):
        derived.unlink()


def test_row_ids_that_were_given_twice_are_given_anew(session: SparkDeltaSession, tmp_path: Path) -> None:
    path = tmp_path / "tracked"
    tracked(session, path)
    found = [finding for finding in audit(path).findings if finding.is_open]
    assert {finding.code for finding in found} == {"RT08", "RT15"}
    assert plan(path)["steps"] == []
    planned = plan(path, *(finding.fingerprint or "" for finding in found))
    said: list[str] = []
    report = apply(session, path, planned, said)
    assert report.verdict is Verdict.PASS, report.findings
    rows = session.spark.read.format("delta").load(str(path)).selectExpr("id", "_metadata.row_id AS row_id").collect()
    assert sorted(row.id for row in rows) == list(range(20))
    assert len({row.row_id for row in rows}) == 20
    assert any("reads the same 20 rows" in text for text in said)


def test_a_file_that_is_gone_is_left_out_with_the_permission_of_its_finding(
    session: SparkDeltaSession, hiding: Path
) -> None:
    gone, *_ = DeltaTable(str(hiding)).file_uris()
    Path(gone).unlink()
    found = [finding for finding in audit(hiding).findings if finding.code == "DF01"]
    left = plan(hiding)["left_open"]
    assert any("51 rows" in each["why"] and "--permit" in each["why"] for each in left)
    report = apply(session, hiding, plan(hiding, *(finding.fingerprint or "" for finding in found)))
    assert report.changed
    assert session.spark.read.format("delta").load(str(hiding)).count() == 51
    assert audit(hiding).verdict is Verdict.PASS


@pytest.mark.parametrize("code", ["MD01", "CM07", "TW09"])
def test_a_table_that_delta_may_refuse_is_repaired(code: str, session: SparkDeltaSession, tmp_path: Path) -> None:
    case = TRIED.get(code) or _first(code)
    table, _ = damaged(case)
    OnDisk(tmp_path / "t", table)
    path = tmp_path / "t"
    assert audit(path, "log").verdict is Verdict.VIOLATED
    planned = plan(path, level="log")
    report = apply(session, path, planned, allow_protocol_upgrade=True)
    assert report.changed, report.findings
    assert audit(path, "log").verdict is Verdict.PASS


def _first(code: str) -> Any:
    from tests.unit.damages import FIRST

    return FIRST[code]


def test_a_read_only_log_is_a_fault_and_nothing_is_lost(
    session: SparkDeltaSession, hiding: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_delta_provider.jobs.changes.commit import LogStore

    planned = plan(hiding)
    copy = tmp_path / "before"
    shutil.copytree(hiding, copy)

    def refused(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(LogStore, "put", refused)
        report = apply(session, hiding, planned)
    assert report.verdict is Verdict.FAULT
    assert names(hiding) == names(copy)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False) if shutil.which("mount") else None
    if done is None or done.returncode:
        pytest.skip("no file system can be mounted here: that needs root")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def with_damaged_checkpoint(hiding: Path, disk: Path) -> tuple[Path, Path]:
    path = Path(shutil.copytree(hiding, disk / "t"))
    DeltaTable(str(path)).create_checkpoint()
    checkpoint = path / "_delta_log" / f"{1:020d}.checkpoint.parquet"
    checkpoint.write_bytes(checkpoint.read_bytes()[:-8])
    return path, checkpoint


def contents(path: Path) -> dict[str, bytes]:
    files = (file for file in path.rglob("*") if file.is_file() and SET_ASIDE not in file.parts)
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


@pytest.mark.nightly
@pytest.mark.parametrize("room", [0, 6000, 12000])
def test_a_full_disk_loses_nothing_and_the_next_run_continues(
    session: SparkDeltaSession, hiding: Path, disk: Path, room: int
) -> None:
    path, checkpoint = with_damaged_checkpoint(hiding, disk)
    planned, before = plan(path), contents(path)
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    with filler.open("r+b") as file:
        file.truncate(filler.stat().st_size - room)
    report = apply(session, path, planned)
    assert report.verdict is Verdict.FAULT, report.findings
    assert {finding.code for finding in report.findings} == {"FT01"}
    after = contents(path)
    assert [name for name in before if name not in after] in ([], [str(checkpoint.relative_to(path))])
    assert [name for name in after if before.get(name, after[name]) != after[name]] == []
    if not checkpoint.exists():
        (kept,) = (path / SET_ASIDE).rglob(checkpoint.name)
        assert kept.read_bytes() == before[str(checkpoint.relative_to(path))]
    filler.unlink()
    report = apply(session, path, planned)
    assert (report.verdict, report.version) == (Verdict.PASS, 2), report.findings
    assert audit(path).verdict is Verdict.PASS


@pytest.mark.nightly
def test_a_read_only_disk_loses_nothing(session: SparkDeltaSession, hiding: Path, disk: Path) -> None:
    path, _ = with_damaged_checkpoint(hiding, disk)
    planned, before = plan(path), contents(path)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert plan(path)["digest"] == planned["digest"]
    report = apply(session, path, planned)
    assert report.verdict is Verdict.FAULT, report.findings
    assert {finding.code for finding in report.findings} == {"FT01"}
    assert contents(path) == before
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert apply(session, path, planned).verdict is Verdict.PASS


def names(path: Path) -> list[str]:
    found: Callable[[Path], str] = lambda file: str(file.relative_to(path))  # noqa: E731
    return sorted(map(found, path.rglob("*.*")))


def test_a_writer_that_is_faster_does_not_lose_its_commit(
    session: SparkDeltaSession, hiding: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_delta_provider.jobs.changes.commit import LogStore

    planned, put = plan(hiding), LogStore.put
    others = iter([True])

    def after_another(store: LogStore, version: int, lines: Any) -> None:
        if next(others, False):
            DeltaTable(str(hiding)).alter.set_table_properties({"owner": "somebody"}, raise_if_not_exists=False)
        put(store, version, lines)

    with monkeypatch.context() as patched:
        patched.setattr(LogStore, "put", after_another)
        report = apply(session, hiding, planned)
    assert (report.verdict, report.version) == (Verdict.PASS, 3)
    assert DeltaTable(str(hiding)).metadata().configuration["owner"] == "somebody"


def test_a_table_goes_back_to_an_earlier_version_if_nothing_else_helps(
    session: SparkDeltaSession, tmp_path: Path
) -> None:
    path = tmp_path / "parts"
    write_deltalake(str(path), pa.table({"id": [1, 2], "p": pa.array([1, 2], pa.int32())}), partition_by=["p"])
    write_deltalake(str(path), pa.table({"id": [3], "p": pa.array([3], pa.int32())}), mode="append")
    commit = path / "_delta_log" / f"{1:020d}.json"
    commit.write_text(commit.read_text().replace('"p":"3"', '"p":"three"'))
    (found,) = [finding for finding in audit(path).findings if finding.code == "AC12"]
    (left,) = [each for each in plan(path)["left_open"] if each["code"] == "AC12"]
    assert "All rows that versions 1 to 1 wrote: 1 data file (1 row of p=3/" in left["why"]
    report = apply(session, path, plan(path, found.fingerprint or ""))
    assert report.changed, report.findings
    assert sorted(row.id for row in session.spark.read.format("delta").load(str(path)).collect()) == [1, 2]
    assert audit(path).verdict is Verdict.PASS


@pytest.mark.soak
def test_killed_at_every_point_a_rerun_makes_the_same_repair_once(session: SparkDeltaSession, hiding: Path) -> None:
    DeltaTable(str(hiding)).create_checkpoint()
    (hiding / "_delta_log" / f"{1:020d}.checkpoint.parquet").write_bytes(b"no parquet")
    point, killed = 0, True
    while killed:
        path = Path(shutil.copytree(hiding, hiding.parent / str(point)))
        planned = plan(path)
        (path.parent / "plan.json").write_text(json.dumps(planned))
        command = [sys.executable, "-m", "tests.spark.killed_repair", str(path), str(path.parent / "plan.json")]
        done = subprocess.run([*command, str(point)], capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode in (0, -9), done.stderr
        killed = done.returncode == -9
        report = apply(session, path, planned)
        assert (report.verdict, report.version) == (Verdict.PASS, 2), (point, report.findings)
        assert audit(path).verdict is Verdict.PASS
        assert session.spark.read.format("delta").load(str(path)).count() == 102
        point += 1
    assert point > 5


def healed_by_all_permissions(session: SparkDeltaSession, path: Path) -> tuple[TableReport, dict[str, Any]]:
    """Repair a table with every permission that its plan asks for. Return the audit afterwards, and the plan."""
    before = audit(path)
    planned = plan(path)
    if planned["needed"]:
        planned = plan(path, *planned["needed"])
        assert planned["needed"] == []
    if planned["steps"]:
        report = apply(session, path, planned, allow_protocol_upgrade=True)
        assert report.changed, report.findings
    after = audit(path)
    assert codes(after) <= codes(before)
    assert {left["code"] for left in planned["left_open"]} == codes(after)
    assert all(". " in left["why"] for left in planned["left_open"])  # a reason, and a remedy
    return after, planned


def codes(report: TableReport) -> set[str]:
    return {finding.code for finding in report.findings if finding.is_open}


#: Damages that no plan repairs: settings of the first version, ids that rows store, row counts of files with row ids.
NOT_REPAIRED = {
    "suspended_as_well": {"RT02"},
    "names_missing": {"RT03"},
    "id_name_missing": {"RT03"},
    "commit_version_name_missing": {"RT03"},
    "name_of_a_column": {"RT04"},
    "name_of_a_column_in_another_case": {"RT04"},
    "names_of_each_other": {"RT04"},
    "id_far_above_mark": {"RT21"},
    "id_negative": {"RT21"},
    "id_most_negative": {"RT21"},
    "fewer_rows_than_said": {"DF03"},
    "more_rows_than_said": {"DF03"},
}
OF_FILES = [
    *(broken for listed in LOG.values() for broken in listed),
    *(damage.added_without_ids, damage.added_again_without_base, *IMPOSSIBLE),
    *(bad_files.file_missing, bad_files.materialized_file_missing, bad_files.file_of_zeros, bad_files.file_not_parquet),
    *(bad_files.fewer_rows_than_said, bad_files.more_rows_than_said),
]


@pytest.mark.soak
@pytest.mark.parametrize("broken", OF_FILES, ids=lambda broken: broken.__name__)
def test_damage_of_real_tables_is_repaired_or_stays_open_with_a_reason(
    session: SparkDeltaSession, table: Any, broken: Any
) -> None:
    path = table(operations)
    broken(path)
    after, _ = healed_by_all_permissions(session, path)
    assert codes(after) == NOT_REPAIRED.get(broken.__name__, set())


@pytest.mark.soak
@pytest.mark.parametrize("broken", DUPLICATES, ids=lambda broken: broken.__name__)
def test_damage_that_only_rows_show_is_left_alone_and_the_plan_says_so(
    session: SparkDeltaSession, table: Any, broken: Any
) -> None:
    path = table(operations)
    broken(path)
    before = names(path)
    _, planned = healed_by_all_permissions(session, path)
    assert planned["steps"] == []
    assert any("--level data" in note for note in planned["notes"])
    assert names(path) == before


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["classic", "multi_part", "v2_json", "v2_parquet"])
@pytest.mark.parametrize("file", ["*.checkpoint.*", "_sidecars/*.parquet"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 50, None], ids=["empty", "garbage", "gone"])
def test_damaged_parts_of_checkpoints_are_replaced(
    session: SparkDeltaSession, table: Any, kind: str, file: str, content: bytes | None
) -> None:
    if "sidecar" in file and not kind.startswith("v2"):
        pytest.skip("no sidecars")
    path = table(twice_checkpointed, kind=kind)
    *_, newest = sorted((path / "_delta_log").glob(file), key=lambda found: found.stat().st_mtime)
    newest.unlink()
    if content is not None:
        newest.write_bytes(content)
    for checksum in newest.parent.glob(".*.crc"):  # Hadoop would compare it
        checksum.unlink()
    after, _ = healed_by_all_permissions(session, path)
    assert (after.verdict, codes(after)) == (Verdict.PASS, set())
    assert session.spark.read.format("delta").load(str(path)).count() == 6
