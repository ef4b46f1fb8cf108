"""Every kind of job by its operator's submit, sensors and triggers, on tables of one object store by one connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS, load
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.storage.storages import Storages
from airflow_delta_provider.sensors.feature import DeltaFeatureSensor
from airflow_delta_provider.sensors.health import DeltaProtocolHealthSensor
from airflow_delta_provider.sensors.protocol import DeltaProtocolSensor
from airflow_delta_provider.sensors.quiet import DeltaQuietSensor
from airflow_delta_provider.sensors.table_version import DeltaTableVersionSensor
from airflow_delta_provider.triggers.table_event import DeltaTableEventTrigger
from airflow_delta_provider.watch.python_engine import run_here
from tests.airflow.test_feature_sensor import context
from tests.airflow.test_operators import Run
from tests.every_kind import REQUESTS
from tests.stores.emulators import Store
from tests.tables.paimon.archive import table_of, unpack

#: Commits of a table, so many that they are read ahead.
COMMITS = 10
#: What the requests are about, where it is not the table ``orders``.
TABLES = {
    "check-paimon-row-tracking": "paimon",
    "column-mapping-usage": "mapped",
    "disable-column-mapping": "mapped",
    "alter-columns": "mapped",
    "create-table": "new",
}
BY_SPARK = [kind for kind in REQUESTS if KINDS[kind].operator]
BY_PYTHON = [kind for kind in BY_SPARK if KINDS[kind].reading_job]


def make_table(session: SparkDeltaSession, table: str, *, mapped: bool = False) -> str:
    properties = ["'delta.enableRowTracking' = 'true'", "'delta.feature.checkConstraints' = 'supported'"]
    session.sql(
        f"CREATE TABLE delta.`{table}` (id int, quantity int) USING delta TBLPROPERTIES ({', '.join(properties)})"
    )
    for number in range(COMMITS - 1):
        session.sql(f"INSERT INTO delta.`{table}` VALUES ({number}, 1)")
    if mapped:
        session.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    return table


@pytest.fixture(scope="module")
def lake(store: Store, session: SparkDeltaSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URI of a folder with the tables that the requests are about."""
    folder = f"{store.lake}/lake"
    make_table(session, f"{folder}/orders")
    make_table(session, f"{folder}/mapped", mapped=True)
    local = table_of(unpack(tmp_path_factory.mktemp("paimon")), "big/w1/06_delete")
    storages = Storages(store.options)
    for file in filter(Path.is_file, local.rglob("*")):
        storages.write(f"{folder}/paimon/{file.relative_to(local)}", file.read_bytes())
    return folder


@pytest.fixture(scope="module")
def watched(store: Store, session: SparkDeltaSession) -> str:
    """Return the URI of a table that no job changes."""
    return make_table(session, f"{store.lake}/watched")


def known(kind: str, lake: str) -> dict[str, Any]:
    """Return what a request has besides, for these tables."""
    of_kind: dict[str, dict[str, Any]] = {
        "audit": {"state_path": f"{lake}/state"},
        "check-row-tracking": {"compare_to_version": 3, "key_columns": ("id",)},
        "check-paimon-row-tracking": {"state_path": f"{lake}/paimon-state"},
    }
    return of_kind.get(kind, {})


def verdict(kind: str, options: Options, table: str, **arguments: Any) -> str:
    """Run a kind's operator as a task does, and return the verdict of its summary."""
    given = {name: getattr(options, name) for name in options.declared()}
    given = {name: value for name, value in given.items() if value not in (None, (), {})}
    with DAG("d", schedule=None):
        operator = load(KINDS[kind].operator or "")(
            task_id="t", table=table, storage_conn_id="store", **{**given, **arguments}
        )
    return str(operator.execute(Run().context)["verdict"])


@pytest.mark.parametrize("kind", BY_SPARK)
def test_every_kind_of_job_passes_by_its_operators_submit(store: Store, lake: str, kind: str) -> None:
    options = replace(REQUESTS[kind], **known(kind, lake))
    arguments: dict[str, Any] = {**store.connector, "conf": dict(store.settings)}
    if options.changes and store.lake.startswith("s3a:"):
        arguments["allow_unsafe_log_store"] = True
    assert verdict(kind, options, f"{lake}/{TABLES.get(kind, 'orders')}", **arguments) == "PASS"


@pytest.mark.parametrize("kind", BY_PYTHON)
@pytest.mark.parametrize("by", ["connection", "environment"])
def test_jobs_without_spark_pass(store: Store, lake: str, watched: str, kind: str, by: str) -> None:
    options = REQUESTS[kind]
    if hasattr(options, "level"):
        levels = {"audit": "footers", "check-row-tracking": "footers", "check-paimon-row-tracking": "metadata"}
        options = replace(options, level=levels[kind])
    table = f"{lake}/paimon" if "paimon" in kind else watched
    if by == "connection":
        assert verdict(kind, options, table, engine="python") == "PASS"
    else:
        (report,) = run(JobRequest((table,), options), python_session(Storages(store.options))).tables
        assert (report.verdict.value, report.findings) == ("PASS", ())


def test_audit_goes_on_from_what_was_saved_by_the_connection(store: Store, watched: str) -> None:
    request = JobRequest((watched,), AuditOptions(state_path=f"{store.lake}/python-state"))
    commits = []
    for _ in range(2):
        (report,) = run_here(request, "store", logging.getLogger()).tables
        assert report.verdict is Verdict.PASS
        assert report.evidence is not None
        commits.append(report.evidence["commits"])
    assert commits == [COMMITS, 0]


def test_sensors_see_the_table(store: Store, watched: str) -> None:
    common: dict[str, Any] = {"task_id": "wait", "table": watched, "storage_conn_id": "store", "timeout": 60}
    sensors: list[Any] = [
        DeltaFeatureSensor(features="rowTracking", state="enabled", **common),
        DeltaTableVersionSensor(version=COMMITS - 1, **common),
        DeltaProtocolSensor(condition={"schema": {"contains": {"quantity": "int"}}}, **common),
        DeltaQuietSensor(quiet_for=0.1, **common),
        DeltaProtocolHealthSensor(state_path=f"{store.lake}/sensor-state", **common),
    ]
    for sensor in sensors:
        assert sensor.execute(context()) is not None


def test_event_trigger_tells_a_commit(store: Store, session: SparkDeltaSession) -> None:
    table = make_table(session, f"{store.lake}/eventful")
    trigger = DeltaTableEventTrigger(table, "commit", "store", poke_interval=0.2)

    async def told(happens: Callable[[], Any]) -> dict[str, Any]:
        async with aclosing(trigger.run()) as running:
            event = asyncio.ensure_future(anext(running))
            while trigger._position is None:
                await asyncio.sleep(0.1)
            await asyncio.to_thread(happens)
            return dict((await asyncio.wait_for(event, 60)).payload)

    payload = asyncio.run(told(lambda: session.sql(f"INSERT INTO delta.`{table}` VALUES (100, 1)")))
    assert payload["to_version"] == COMMITS
