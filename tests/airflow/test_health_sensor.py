"""The gate before readers: what verdicts lead to, and that later looks audit only what is new."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)

from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.sensors.health import DeltaProtocolHealthSensor
from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch import health
from airflow_delta_provider.watch.health import Auditor, AuditScope
from airflow_delta_provider.watch.metadata_folder import UnhealthyTableError
from tests.airflow.table_logs import (
    REAL_TABLES,
    Json,
    RecordingFileSystem,
    TableLog,
    attach_store,
    metadata,
    protocol,
)
from tests.airflow.test_change_sensors import event_of, resumed, trigger_of
from tests.airflow.test_feature_sensor import context

PLAIN = protocol(reader=1, writer=2)
#: Column mapping is on, which this protocol does not support: CM01.
BROKEN = metadata({"delta.columnMapping.mode": "name"})


@pytest.fixture(autouse=True)
def _no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableTrigger, "settling_time", 0.0)


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    """A table with which nothing is wrong."""
    table = TableLog(tmp_path / "t")
    commit(table, 0, PLAIN, metadata())
    return table


def commit(log: TableLog, version: int, *actions: Json) -> None:
    info: Json = {"commitInfo": {"timestamp": 1_700_000_000_000 + version * 1000, "operation": "SET TBLPROPERTIES"}}
    log.commit(version, info, *actions)


def sensor(table: object, **arguments: Any) -> DeltaProtocolHealthSensor:
    arguments = {"poke_interval": 0.02, **arguments}
    return DeltaProtocolHealthSensor(task_id="wait", table=str(getattr(table, "location", table)), **arguments)


def test_table_that_spark_wrote_passes_at_once() -> None:
    table = str(REAL_TABLES / "checksums")
    assert sensor(table).execute(context()) == {"table": table, "version": 3, "verdict": "PASS", "codes": []}


def test_violation_fails_the_task_and_names_the_findings(log: TableLog) -> None:
    commit(log, 1, BROKEN)
    with pytest.raises(UnhealthyTableError, match=r"(?s)at version 1: VIOLATED:.*CM01 \(version 1\)") as raised:
        sensor(log).execute(context())
    assert isinstance(raised.value, AirflowFailException)
    with pytest.raises(AirflowSkipException, match="CM01"):
        sensor(log, soft_fail=True).execute(context())


def test_violation_that_arrives_while_it_waits_fails_the_task(log: TableLog) -> None:
    log.remove(f"{0:020d}.json")
    with pytest.raises(AirflowFailException, match="CM01"):
        resumed(sensor(log), lambda: [commit(log, 0, PLAIN, BROKEN)])


def test_violation_is_waited_for_until_a_later_version_fixes_it(log: TableLog) -> None:
    commit(log, 1, BROKEN)
    seen = resumed(sensor(log, on_violation="wait"), lambda: commit(log, 2, metadata()))
    assert seen == {"table": log.location, "version": 2, "verdict": "PASS", "codes": []}


@pytest.mark.parametrize("answer", ["wait", "fail", "pass"])
def test_undetermined_leads_to_what_the_argument_says(answer: Any) -> None:
    waiting = sensor(REAL_TABLES / "classic_checkpoint", on_undetermined=answer, timeout=0.5)
    if answer == "pass":
        seen = waiting.execute(context())
        assert (seen["verdict"], seen["codes"]) == ("UNDETERMINED", ["LG01"])
    elif answer == "fail":
        with pytest.raises(UnhealthyTableError, match="LG01"):
            waiting.execute(context())
    else:
        assert asyncio.run(event_of(trigger_of(waiting)))["status"] == "timed_out"


def test_warning_counts_where_it_is_asked_for(log: TableLog) -> None:
    log.commit(1, {"commitInfo": {"timestamp": 1_700_000_001_000, "operation": ""}}, metadata())
    assert sensor(log).execute(context())["codes"] == ["MD12"]
    with pytest.raises(UnhealthyTableError, match="MD12"):
        sensor(log, fail_on="warning").execute(context())


def test_waived_finding_does_not_count(log: TableLog) -> None:
    commit(log, 1, BROKEN)
    waiver = {"code": "CM01", "owner": "me", "reason": "known", "expires": "2999-01-01"}
    seen = sensor(log, waivers=[waiver]).execute(context())
    assert (seen["verdict"], seen["codes"]) == ("PASS", [])


def test_table_that_does_not_exist_yet_is_waited_for(tmp_path: Path) -> None:
    log = TableLog(tmp_path / "later")
    assert resumed(sensor(log), lambda: commit(log, 0, PLAIN, metadata()))["version"] == 0


def test_time_out_says_that_there_is_no_table_or_names_the_findings(log: TableLog, tmp_path: Path) -> None:
    commit(log, 1, BROKEN)
    for table, said in ((tmp_path / "none", "There is no Delta table at"), (log, r"(?s)VIOLATED:.*CM01")):
        waiting = sensor(table, on_violation="wait", timeout=0.5)
        event = asyncio.run(event_of(trigger_of(waiting)))
        with pytest.raises(AirflowSensorTimeout, match=said):
            waiting.execute_complete(context(), event)


@pytest.mark.parametrize("arguments", [{}, {"on_violation": "wait"}, {"deferrable": False, "mode": "reschedule"}])
def test_task_leaves_no_folder_behind(
    log: TableLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = set(tmp_path.iterdir())
    commit(log, 1, BROKEN)
    with pytest.raises((UnhealthyTableError, TaskDeferred)):
        sensor(log, **arguments).execute(context())
    assert set(tmp_path.iterdir()) == kept


def test_log_with_a_gap_is_a_violation(log: TableLog) -> None:
    commit(log, 2, metadata())
    with pytest.raises(UnhealthyTableError, match="LG02"):
        sensor(log).execute(context())


def test_unchanged_table_is_not_audited_again_and_a_changed_one_from_where_the_audit_ended(
    log: TableLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []
    real = health.audit

    def noted(*args: Any, **kwargs: Any) -> Any:
        reports.append(real(*args, **kwargs))
        return reports[-1]

    monkeypatch.setattr(health, "audit", noted)
    for version in range(1, 20):
        commit(log, version, metadata({"a": str(version)}))
    reader = Auditor(log.location, None, AuditScope())
    for _ in range(3):
        assert reader.read() is reports[0]
    commit(log, 20, metadata({"a": "20"}))
    assert reader.read() is reports[1]
    assert [report.evidence["commits"] for report in reports] == [20, 1]


def test_what_cannot_be_decided_is_said_by_later_looks_too(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    source = REAL_TABLES / "classic_checkpoint" / "_delta_log"
    for file in source.iterdir():
        log.write(file.name, file.read_bytes())
    reader = Auditor(log.location, None, AuditScope())
    first = reader.read()
    log.commit(
        5, {"commitInfo": {"timestamp": 1_800_000_000_000, "operation": "X"}}, {"txn": {"appId": "a", "version": 1}}
    )
    second = reader.read()
    assert first is not None
    assert second is not None
    assert (first.version, second.version) == (4, 5)
    assert first.verdict == second.verdict == "UNDETERMINED"


def test_state_path_lets_the_next_run_go_on(log: TableLog, tmp_path: Path) -> None:
    state = tmp_path / "state"
    sensor(log, state_path=str(state)).execute(context())
    assert len(list(state.iterdir())) == 1
    commit(log, 1, metadata({"a": "1"}))
    assert sensor(log, state_path=str(state)).execute(context())["version"] == 1


def test_storage_error_in_the_audit_counts_as_a_failed_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()

    class Store(RecordingFileSystem):
        def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
            threads.add(threading.current_thread())
            return super().ls(path, detail, **kwargs)

    filesystem = Store()
    name = attach_store(monkeypatch, filesystem)
    table = TableLog(f"/{name}/t", filesystem)
    commit(table, 0, PLAIN, metadata())
    filesystem.failures = 3
    trigger = trigger_of(sensor(f"memory://{name}/t", storage_conn_id=name))
    assert asyncio.run(event_of(trigger))["verdict"] == "PASS"
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"table": "main.orders"}, "location"),
        ({"on_violation": "ignore"}, "'fail' or 'wait'"),
        ({"on_undetermined": "ignore"}, "'wait' or 'fail' or 'pass'"),
        ({"fail_on": "info"}, "fail_on"),
        ({"waivers": [{"code": "CM01"}]}, "owner"),
    ],
)
def test_mistake_is_refused_at_construction(arguments: dict[str, Any], remedy: str) -> None:
    with pytest.raises(DeltaRequestError, match=remedy):
        DeltaProtocolHealthSensor(task_id="wait", **{"table": "/d/t", **arguments})


def test_state_path_outside_the_allowed_locations_is_refused(
    log: TableLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__ALLOWED_LOCATIONS", log.location)
    assert sensor(log).execute(context())["verdict"] == "PASS"
    with pytest.raises(DeltaRequestError, match="allowed_locations"):
        sensor(log, state_path=str(tmp_path / "state")).execute(context())
