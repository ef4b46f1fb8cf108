"""What jobs without Spark do to tables in an object store: the same as to local ones, with few requests, and faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.report.report import JobReport, TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions, CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import ColumnMappingUsageOptions, DetailOptions, Options
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.storages import Storages
from benchmarks.object_store import LogOfFiles, served
from benchmarks.protocol_logs import RowTrackedLog, write_log
from tests.small_s3 import RESET, SILENCE, SmallS3
from tests.unit.checkpoint_builder import as_parquet, classic_name, reconciled

pytest.importorskip("obstore")

LAKE = "s3a://lake"
COMMITS = 12


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallS3]:
    with SmallS3().running() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("airflow_delta_provider.jobs.storage.remote_storage.WAITS", (0.0, 0.0))
        yield server


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table with row tracking, on this machine."""
    table = tmp_path_factory.mktemp("lake") / "tracked"
    write_log(table, COMMITS, "row tracking")
    return table


def reported(options: Options, *tables: str) -> JobReport:
    return run(JobRequest(tables, options), python_session())


def told(report: TableReport) -> object:
    """Return what a report says, apart from where the table is and how long it took."""
    json = report.to_json()
    for name in ("table", "timings", "receipt"):
        json.pop(name, None)
    if json.get("detail"):
        json["detail"].pop("location", None)
    return json


@pytest.mark.parametrize("name", ["tracked", "a b%20c/Groß+#1"])
@pytest.mark.parametrize(
    "options",
    [AuditOptions(), CheckRowTrackingOptions(level="log"), ColumnMappingUsageOptions(), DetailOptions()],
    ids=lambda options: options.kind,
)
def test_reports_are_those_of_local_tables(server: SmallS3, table: Path, options: Options, name: str) -> None:
    server.load(table, name)
    (here,) = reported(options, str(table)).tables
    (there,) = reported(options, f"{LAKE}/{name}").tables
    assert told(there) == told(here)
    assert there.table == f"{LAKE}/{name}"


def test_an_audit_asks_for_what_is_new_only(server: SmallS3, table: Path) -> None:
    server.load(table, "t")
    newest = f"t/_delta_log/{COMMITS - 1:020}.json"
    content = server.objects[newest]
    server.remove(newest)
    options = AuditOptions(state_path=f"{LAKE}/state")
    requests = []
    for step, commits in enumerate((COMMITS - 1, 1, 0)):
        if step == 1:
            server.put(newest, content)
        server.asked.clear()
        (report,) = reported(options, f"{LAKE}/t").tables
        assert (report.verdict, report.evidence and report.evidence["commits"]) == (Verdict.PASS, commits)
        requests.append(sum(server.asked.values()))
    assert requests == [COMMITS - 1 + 3, 5, 3]


@pytest.fixture(scope="module")
def with_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table whose data files are there, wide enough for footers of more than 32 KiB; without a checkpoint."""
    pa = pytest.importorskip("pyarrow")
    deltalake = pytest.importorskip("deltalake")
    table = tmp_path_factory.mktemp("lake") / "files"
    columns = {"part": pa.array(range(FILES), pa.int32())} | {f"column_{n}": pa.array([n] * FILES) for n in range(250)}
    for _ in range(3):
        deltalake.write_deltalake(table, pa.table(columns), partition_by=["part"], mode="append")
    return table


FILES = 40


def test_an_audit_of_footers_asks_for_each_commit_and_each_file_once(server: SmallS3, with_files: Path) -> None:
    server.load(with_files, "t")
    server.delay = 0.05
    (report,) = reported(AuditOptions(level="footers"), f"{LAKE}/t").tables
    assert report.verdict is Verdict.PASS
    asked = {method: {key: n for (of, key), n in server.asked.items() if of == method} for method in ("GET", "LIST")}
    commits = {key: n for key, n in asked["GET"].items() if "_delta_log" in key}
    assert commits == {f"t/_delta_log/{version:020}.json": 1 for version in range(3)}
    files = {key: n for key, n in asked["GET"].items() if key.endswith(".parquet")}
    assert len(files) == 3 * FILES
    assert list(files.values()).count(2) <= 96  # those that are read at once at first show how long the footers are
    assert set(files.values()) <= {1, 2}
    assert sum(asked["LIST"].values()) <= 3


def test_a_commit_that_does_not_fit_is_read_again(
    server: SmallS3, with_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.load(with_files, "t")
    monkeypatch.setattr("airflow_delta_provider.jobs.delta.table_log._MOST_KEPT", 1)
    (report,) = reported(AuditOptions(level="footers"), f"{LAKE}/t").tables
    (here,) = reported(AuditOptions(level="footers"), str(with_files)).tables
    assert told(report) == told(here)
    assert {n for (_, key), n in server.asked.items() if key.endswith(".json")} == {2}


@pytest.mark.usefixtures("server")  # which restores the environment
def test_a_benchmark_ends_when_its_server_has_ended() -> None:
    with served() as other:
        other.put({"t/a": b"1"})
        other.process.kill()
        with pytest.raises(SystemExit, match="ended with exit code -9"):
            other.asked()


def test_no_table_hides_what_is_wrong_with_another(server: SmallS3, table: Path) -> None:
    names = [f"t{number}" for number in range(20)]
    for name in names:
        server.load(table, name)
    commit = f"{5:020}.json"
    server.put(f"t3/_delta_log/{commit}", b'{"add": ')

    def fault(method: str, key: str) -> tuple[int, str] | None:
        if key == f"t7/_delta_log/{commit}":
            return 403, "AccessDenied"
        if key.startswith("t9/") and method == "GET":
            return 404, "NoSuchKey"
        return None

    server.fault = fault
    report = reported(AuditOptions(), *(f"{LAKE}/{name}" for name in (*names, "none")), "s3://other/t", "hopsfs://x/t")
    by_name = {table.table.removeprefix(f"{LAKE}/"): table for table in report.tables}
    assert [table.table for table in report.tables][:20] == [f"{LAKE}/{name}" for name in names]
    assert {name for name, table in by_name.items() if table.verdict is Verdict.PASS} == {*names} - {"t3", "t7", "t9"}
    assert by_name["t3"].verdict is not Verdict.PASS

    def said(name: str) -> tuple[Verdict, bool, str]:
        (finding,) = by_name[name].findings
        assert "\n" not in finding.message
        return by_name[name].verdict, by_name[name].retryable, finding.message

    verdict, retryable, message = said("t7")
    assert (verdict, retryable) == (Verdict.FAULT, False)
    assert f"{LAKE}/t7/_delta_log/{commit}: no permission (AccessDenied)" in message
    verdict, retryable, message = said("t9")
    assert (verdict, retryable) == (Verdict.REFUSED, True)
    assert "is missing" in message
    assert said("none")[0] is Verdict.REFUSED
    assert "no such bucket" in said("s3://other/t")[2]
    assert "nothing here reads hopsfs://" in said("hopsfs://x/t")[2]


FAULTS = {"busy": (503, "SlowDown"), "reset": RESET, "silent": SILENCE}
KINDS = [AuditOptions(level="footers", since_version=4), CheckRowTrackingOptions(level="footers")]
READ = [".checkpoint.parquet", "-c000.snappy.parquet", f"{5:020}.json"]


class TrackedLog(LogOfFiles, RowTrackedLog):
    """Appends of files with row ids."""


@pytest.fixture(scope="module")
def checkpointed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table with row tracking and its data files that is read from a checkpoint."""
    table = tmp_path_factory.mktemp("lake") / "checkpointed"
    written = TrackedLog(6)
    written.write(table)
    for path in written.paths:
        (table / path).write_bytes(written.content)
    log = table / "_delta_log"
    commits = [list(map(dict, parse_commit("", (log / f"{version:020}.json").read_bytes()))) for version in range(5)]
    (log / classic_name(4)).write_bytes(as_parquet(reconciled(commits)))
    for version in range(4):
        (log / f"{version:020}.json").unlink()
    return table


@pytest.fixture(params=["whole", "in parts"])
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Read checkpoints as a whole, or in parts as large ones. Return a number of requests after which more follow."""
    if request.param == "in parts":
        monkeypatch.setattr("airflow_delta_provider.jobs.delta.checkpoint_files._MOST_WHOLE", 0)
        monkeypatch.setattr("airflow_delta_provider.jobs.storage.storage._BLOCK", 1000)
    return 6 if request.param == "in parts" else 1


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("options", KINDS, ids=lambda options: options.kind)
@pytest.mark.parametrize("of", READ)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_that_fails_once_changes_nothing(
    server: SmallS3, checkpointed: Path, options: Options, of: str, fault: str
) -> None:
    server.load(checkpointed, "t")
    (here,) = reported(options, str(checkpointed)).tables
    failed: set[tuple[str, str]] = set()

    def once(method: str, key: str) -> tuple[int, str] | None:
        if not key.endswith(of) or (method, key) in failed:
            return None
        failed.add((method, key))
        return FAULTS[fault]

    server.fault = once
    session = python_session(Storages({"timeout": "500ms"}))
    (there,) = run(JobRequest((f"{LAKE}/t",), options), session).tables
    assert failed
    assert told(there) == told(here)
    assert there.verdict is Verdict.PASS


@pytest.mark.parametrize("options", KINDS, ids=lambda options: options.kind)
@pytest.mark.parametrize("of", READ)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_that_goes_on_failing_is_no_verdict_about_the_table(
    server: SmallS3, checkpointed: Path, options: Options, of: str, fault: str, reading: int
) -> None:
    for name in ("t", "other"):
        server.load(checkpointed, name)
    passed = dict.fromkeys(server.objects, reading if of == READ[0] else 0)

    def failing(_: str, key: str) -> tuple[int, str] | None:
        if not (key.startswith("t/") and key.endswith(of)):
            return None
        passed[key] -= 1
        return FAULTS[fault] if passed[key] < 0 else None

    server.fault = failing
    session = python_session(Storages({"timeout": "300ms"}))
    there, other = run(JobRequest((f"{LAKE}/t", f"{LAKE}/other"), options), session).tables
    assert (there.verdict, there.retryable, other.verdict) == (Verdict.FAULT, True, Verdict.PASS)
    assert {finding.code[:2] for finding in there.findings} == {"FT"}


def test_patterns_that_fit_nothing_say_so(server: SmallS3, table: Path) -> None:
    nothing, bucket = reported(AuditOptions(), f"{LAKE}/none/**", "s3://other/**").tables
    assert (nothing.verdict, nothing.findings[0].message) == (
        Verdict.REFUSED,
        f"No Delta table matches {LAKE}/none/**. Check the pattern.",
    )
    assert "no such bucket" in bucket.findings[0].message
    assert "_delta_log" not in bucket.findings[0].message


def test_where_nothing_answers_all_tables_say_so(server: SmallS3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    report = reported(AuditOptions(), *(f"{LAKE}/t{number}" for number in range(40)))
    for table in report.tables:
        assert (table.verdict, table.retryable) == (Verdict.FAULT, True)
        assert "cannot be reached" in table.findings[0].message


def test_a_bucket_that_answers_slowly_is_waited_for_by_all_tables_at_once(server: SmallS3, table: Path) -> None:
    names = [f"t{number}" for number in range(32)]
    for name in names:
        server.load(table, name)
    server.delay = 0.05
    report = reported(AuditOptions(), *(f"{LAKE}/{name}" for name in names))
    assert report.verdict is Verdict.PASS
    assert server.most_at_once > 30


def test_a_store_that_never_answers_is_not_waited_for_by_each_table(
    server: SmallS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_delta_provider.jobs.storage.object_storage._PATIENCE", 0.2)
    server.delay = 60
    session = python_session(Storages({"timeout": "300ms"}))
    tables = tuple(f"{LAKE}/t{number}" for number in range(500))
    report = run(JobRequest(tables, AuditOptions()), session)
    assert {(table.verdict, table.retryable) for table in report.tables} == {(Verdict.FAULT, True)}
    assert sum(server.asked.values()) < 100
    server.delay = 0
    assert all("cannot be reached" in table.findings[0].message for table in report.tables[200:])
