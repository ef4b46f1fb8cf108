"""Audits of many tables in Spark's tasks: reports and states are those of an audit in one process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import JobReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark import table_tasks
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.table_tasks import TABLES_ON_DRIVER
from tests.both_engines import compared
from tests.spark.webhdfs import WebHdfs
from tests.tables import row_tracking
from tests.unit.audit.test_audit_log_files import AT, history
from tests.unit.audits_in_parts import Kept
from tests.unit.checkpoint_builder import classic_name
from tests.unit.damages import FIRST
from tests.unit.log_builder import Table


@pytest.fixture(autouse=True)
def in_tasks(session: SparkDeltaSession) -> Iterator[None]:
    session.spark.conf.set(TABLES_ON_DRIVER, "1")
    yield
    session.spark.conf.unset(TABLES_ON_DRIVER)


def write(path: Path, table: Table, *, newest: int | None = None, clean_until: int | None = None) -> str:
    """Write the log of a table up to a version, with a checkpoint if it was cleaned up."""
    storage = Kept(table.commits if newest is None else table.commits[: newest + 1])
    if clean_until is not None:
        storage.clean_up(table, clean_until)
    for name, content in storage.files.items():
        (path / "_delta_log").mkdir(parents=True, exist_ok=True)
        (path / "_delta_log" / name).write_bytes(content)
    return str(path)


def audited(
    session: SparkDeltaSession, tables: Sequence[str], by_tasks: int, lines: list[str] | None = None, **options: Any
) -> JobReport:
    """Audit tables; as many as ``by_tasks`` are audited in tasks."""
    lines = [] if lines is None else lines
    report = run(JobRequest(tuple(tables), AuditOptions(**options)), session, lines.append)
    assert lines[-1].startswith(f"Spark's tasks audited {by_tasks} of {len(tables)} tables.")
    return report


def test_damaged_tables_are_reported_as_by_one_process(session: SparkDeltaSession, tmp_path: Path) -> None:
    tables = [str(tmp_path / "none")]
    for code, case in FIRST.items():
        table = case.before()
        first = table.version
        case.step(table.damaged(case.damage))
        tables.append(write(tmp_path / f"t{code}", table))
        if first >= 0:
            tables.append(write(tmp_path / f"c{code}", table, clean_until=first))
    lines: list[str] = []
    report = run(JobRequest(tuple(tables), AuditOptions()), session, lines.append)
    alone = run(JobRequest(tuple(tables), AuditOptions()), python_session())
    assert compared(report) == compared(alone)
    left = sum(table.verdict in (Verdict.REFUSED, Verdict.FAULT) for table in alone.tables)
    assert lines[-1].startswith(f"Spark's tasks audited {len(tables) - left} of {len(tables)} tables.")


def test_footers_are_read_in_tasks(session: SparkDeltaSession, built: Any, tmp_path: Path) -> None:
    tables = [str(built(row_tracking.clustered)), str(built(row_tracking.mapped, mode="id"))]
    report = audited(session, tables, 2, level="footers")
    assert compared(report) == compared(run(JobRequest(tuple(tables), AuditOptions(level="footers")), python_session()))
    rows = JobRequest(tuple(tables), AuditOptions(level="data"))
    lines: list[str] = []
    run(rows, session, lines.append)
    assert not any("tasks" in line for line in lines)


def test_states_are_saved_and_findings_stay_new_until_they_are_received(
    session: SparkDeltaSession, tmp_path: Path
) -> None:
    damaged = FIRST["MD08"].before()
    FIRST["MD08"].step(damaged.damaged(FIRST["MD08"].damage))
    good = history()
    requests = {
        name: JobRequest(
            (str(tmp_path / "damaged"), str(tmp_path / "good")),
            AuditOptions(state_path=str(tmp_path / f"state-{name}")),
            receipt="first",
        )
        for name in ("spark", "python")
    }
    for newest, received in ((good.version - 1, {}), (good.version, {}), (good.version, {"first": "x"})):
        write(tmp_path / "damaged", damaged)
        write(tmp_path / "good", good, newest=newest)
        reports = [
            run(replace(requests["spark"], received=received), session),
            run(replace(requests["python"], received=received), python_session()),
        ]
        assert compared(reports[0]) == compared(reports[1])
        assert states(tmp_path / "state-spark") == states(tmp_path / "state-python") != {}
        assert all(table.receipt == reports[1].tables[0].receipt for table in reports[0].tables[:1])


def states(folder: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_bytes()) for path in folder.iterdir()}


def test_state_that_cannot_be_saved_is_reported(session: SparkDeltaSession, tmp_path: Path) -> None:
    tables = [write(tmp_path / name, history()) for name in ("a", "b")]
    (tmp_path / "file").write_text("")
    options = AuditOptions(state_path=str(tmp_path / "file"))
    report = run(JobRequest(tuple(tables), options), session)
    assert compared(report) == compared(run(JobRequest(tuple(tables), options), python_session()))


def test_driver_audits_a_table_whose_checkpoint_is_damaged(session: SparkDeltaSession, tmp_path: Path) -> None:
    tables = [write(tmp_path / name, history(), clean_until=AT) for name in ("a", "b", "c")]
    name = tmp_path / "b/_delta_log" / classic_name(AT)
    name.write_bytes(name.read_bytes()[:-20] + b"x" * 20)
    report = audited(session, tables, 2)
    assert compared(report) == compared(run(JobRequest(tuple(tables), AuditOptions()), python_session()))


def test_limits_of_locations_hold_in_tasks(session: SparkDeltaSession, tmp_path: Path) -> None:
    tables = [write(tmp_path / name, history()) for name in ("lake/a", "lake/b", "elsewhere")]
    (tmp_path / "lake/link").symlink_to(tmp_path / "elsewhere")
    request = JobRequest(
        (*tables, str(tmp_path / "lake/link")), AuditOptions(), allowed_locations=(str(tmp_path / "lake"),)
    )
    report = run(request, session)
    assert [table.verdict for table in report.tables] == [*[Verdict.PASS] * 2, *[Verdict.REFUSED] * 2]
    assert compared(report) == compared(run(request, python_session()))


def test_catalog_names_are_looked_up_by_the_driver(session: SparkDeltaSession, tmp_path: Path) -> None:
    session.sql("CREATE SCHEMA IF NOT EXISTS shared_among_tasks")
    try:
        for name in ("a", "b"):
            path = tmp_path / name
            session.sql(f"CREATE TABLE shared_among_tasks.{name} (id int) USING delta LOCATION '{path}'")
        report = audited(session, ["shared_among_tasks.a", "shared_among_tasks.b", "shared_among_tasks.c"], 2)
        assert [table.table for table in report.tables] == [f"shared_among_tasks.{name}" for name in "abc"]
        assert [table.verdict for table in report.tables] == [Verdict.PASS, Verdict.PASS, Verdict.REFUSED]
    finally:
        session.sql("DROP SCHEMA shared_among_tasks CASCADE")


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[WebHdfs]:
    """A store with three tables; the third one is damaged."""
    damaged = FIRST["MD08"].before()
    FIRST["MD08"].step(damaged.damaged(FIRST["MD08"].damage))
    for name, table in (("a", history()), ("b", history()), ("c", damaged)):
        write(tmp_path / "store" / name, table)
    with WebHdfs(tmp_path / "store").running() as store:
        yield store


def in_store(function: Callable[..., Any], store: str) -> Callable[..., Any]:
    """Return a function for tasks that knows how Python reaches a store."""

    def reaching(*arguments: object) -> object:  # pickled by value, as it is local
        from urllib.parse import urlsplit

        from fsspec.config import conf

        conf["webhdfs"] = {"host": urlsplit(store).hostname, "port": urlsplit(store).port}
        return function(*arguments)

    return reaching


@pytest.mark.parametrize("is_local", [True, False], ids=["local", "elsewhere"])
def test_tables_of_a_store_are_audited_in_tasks_that_read_it(
    session: SparkDeltaSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: WebHdfs, is_local: bool
) -> None:
    monkeypatch.setattr(table_tasks, "is_local_master", lambda _: is_local)
    local = write(tmp_path / "local", history())
    tables = [local, *(f"{remote.uri}/{name}" for name in "abc")]
    session.spark.conf.set(TABLES_ON_DRIVER, "9")
    alone = run(JobRequest(tuple(tables), AuditOptions()), session)
    session.spark.conf.set(TABLES_ON_DRIVER, "1")
    for name in ("_outcomes", "_digest"):
        monkeypatch.setattr(table_tasks, name, in_store(getattr(table_tasks, name), remote.uri))
    report = audited(session, tables, 4 if is_local else 3)
    assert compared(report) == compared(alone)
    assert [table.verdict for table in report.tables] == [*[Verdict.PASS] * 3, Verdict.VIOLATED]


def test_states_in_a_store_are_those_of_the_driver(
    session: SparkDeltaSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: WebHdfs
) -> None:
    tables = [f"{remote.uri}/{name}" for name in "abc"]
    request = JobRequest(tuple(tables), AuditOptions(state_path=f"{remote.uri}/states/driver"))
    session.spark.conf.set(TABLES_ON_DRIVER, "9")
    alone = [run(request, session) for _ in range(2)]
    session.spark.conf.set(TABLES_ON_DRIVER, "1")
    for name in ("_outcomes", "_digest"):
        monkeypatch.setattr(table_tasks, name, in_store(getattr(table_tasks, name), remote.uri))
    reports = [audited(session, tables, 3, state_path=f"{remote.uri}/states/tasks") for _ in range(2)]
    assert list(map(compared, reports)) == list(map(compared, alone))
    assert states(tmp_path / "store/states/tasks") == states(tmp_path / "store/states/driver") != {}


@pytest.mark.parametrize("why", ["unreachable", "another file"])
def test_driver_audits_the_tables_of_a_store_that_tasks_do_not_read(
    session: SparkDeltaSession, monkeypatch: pytest.MonkeyPatch, remote: WebHdfs, why: str
) -> None:
    digest = in_store(table_tasks._digest, "webhdfs://127.0.0.1:9")
    if why == "another file":
        digest = lambda path, _: f"digest of another {path}"  # noqa: E731
    monkeypatch.setattr(table_tasks, "_digest", digest)
    lines: list[str] = []
    report = audited(session, [f"{remote.uri}/{name}" for name in "abc"], 0, lines)
    assert [table.verdict for table in report.tables] == [*[Verdict.PASS] * 2, Verdict.VIOLATED]
    (line,) = (line for line in lines if line.startswith(f"The driver audits the tables in {remote.uri}"))
    assert ("they read another file there" in line) == (why == "another file")


def test_lost_process_fails_its_own_table_alone(
    session: SparkDeltaSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [write(tmp_path / name, history()) for name in ("a", "lethal", "c")]

    def outcomes(work: Any, located: dict[str, str], _: object) -> Any:  # pickled by value, as it is local
        if any(name.endswith("lethal") for name in located):
            os.kill(os.getpid(), signal.SIGKILL)
        return work.outcomes(located)

    monkeypatch.setattr(table_tasks, "_outcomes", outcomes)
    lines: list[str] = []
    report = audited(session, tables, 3, lines)
    assert [table.verdict for table in report.tables] == [Verdict.PASS, Verdict.FAULT, Verdict.PASS]
    (finding,) = report.tables[1].findings
    assert report.tables[1].retryable
    assert "ended before it answered" in finding.message
    assert TABLES_ON_DRIVER in (finding.remedy or "")
    assert lines[-1].endswith("repeated for each table: 1.")


def test_driver_audits_all_if_tasks_do_not_find_the_package(
    session: SparkDeltaSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [write(tmp_path / name, history()) for name in ("a", "b")]

    def version_there(_: object) -> Any:
        raise ModuleNotFoundError("No module named 'airflow_delta_provider'")

    monkeypatch.setattr(table_tasks, "_version_there", version_there)
    lines: list[str] = []
    report = run(JobRequest(tuple(tables), AuditOptions()), session, lines.append)
    assert [table.verdict for table in report.tables] == [Verdict.PASS] * 2
    (line,) = (line for line in lines if line.startswith("The driver audits all tables"))
    assert "No module named 'airflow_delta_provider'" in line


def test_driver_audits_all_if_tasks_have_another_version_of_the_package(
    session: SparkDeltaSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_tasks, "_version_there", lambda _: "0.0.1")
    tables = [write(tmp_path / name, history()) for name in ("a", "b")]
    lines: list[str] = []
    run(JobRequest(tuple(tables), AuditOptions()), session, lines.append)
    assert any("they have its version 0.0.1" in line for line in lines)
    assert not any("tasks audited" in line for line in lines)


@pytest.mark.parametrize("text", ["many", "-1", "1.5"])
def test_setting_that_is_no_number_is_refused(session: SparkDeltaSession, tmp_path: Path, text: str) -> None:
    session.spark.conf.set(TABLES_ON_DRIVER, text)
    with pytest.raises(RequestError, match=f"{TABLES_ON_DRIVER} is '{text}'"):
        run(JobRequest((str(tmp_path),), AuditOptions()), session)
