"""The sensor for types of columns: what it waits for, what it pushes, and what it does not wait for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSensorTimeout, AirflowSkipException

from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.sensors.column_types import DeltaTypesSensor
from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.metadata_folder import DeltaWatchImpossibleError
from tests.airflow.table_logs import Json, TableLog, metadata, protocol
from tests.airflow.test_change_sensors import event_of, resumed, trigger_of
from tests.airflow.test_feature_sensor import context


@pytest.fixture(autouse=True)
def _no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableTrigger, "settling_time", 0.0)


def columns(**types: str) -> Json:
    action = metadata()
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()]
    action["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    return action


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    table = TableLog(tmp_path / "t")
    table.commit(0, protocol(), columns(id="integer"))
    return table


def sensor(table: object, **arguments: Any) -> DeltaTypesSensor:
    arguments = {"columns": {"id": "bigint"}, "poke_interval": 0.02, **arguments}
    return DeltaTypesSensor(task_id="wait", table=str(getattr(table, "location", table)), **arguments)


def test_type_that_is_there_succeeds_at_once(log: TableLog) -> None:
    seen = sensor(log, columns={"ID": "smallint"}).execute(context())
    assert seen == {"table": log.location, "version": 0, "types": {"ID": "int"}}


def test_widening_is_waited_for_and_so_is_one_that_goes_further(log: TableLog) -> None:
    assert resumed(sensor(log), lambda: log.commit(1, columns(id="long")))["types"] == {"id": "bigint"}
    wider = sensor(log, columns={"id": "decimal(20,0)"})
    assert resumed(wider, lambda: log.commit(2, columns(id="decimal(24,2)")))["types"] == {"id": "decimal(24,2)"}


def test_table_and_column_that_do_not_exist_yet_are_waited_for(log: TableLog, tmp_path: Path) -> None:
    seen = resumed(
        sensor(log, columns={"price": "double"}), lambda: log.commit(1, columns(id="integer", price="double"))
    )
    assert (seen["version"], seen["types"]) == (1, {"price": "double"})
    later = TableLog(tmp_path / "later")
    assert resumed(sensor(later), lambda: later.commit(0, protocol(), columns(id="long")))["version"] == 0


def test_type_out_of_reach_fails_the_task_at_once_and_while_it_waits(log: TableLog) -> None:
    with pytest.raises(
        DeltaWatchImpossibleError, match="id is int, and no widening leads from there to string"
    ) as raised:
        sensor(log, columns={"id": "string"}).execute(context())
    assert isinstance(raised.value, AirflowFailException)
    with pytest.raises(AirflowSkipException, match="no widening"):
        sensor(log, columns={"id": "string"}, soft_fail=True).execute(context())
    with pytest.raises(AirflowFailException, match=r"at version 1: id is double, and no widening leads from there to"):
        resumed(sensor(log), lambda: log.commit(1, columns(id="double")))


def test_damaged_schema_fails_the_task_with_its_version(log: TableLog) -> None:
    damaged = metadata()
    damaged["metaData"]["schemaString"] = "{"
    log.commit(1, damaged)
    with pytest.raises(DeltaWatchImpossibleError, match="at version 1: the schema in the metaData action is damaged"):
        sensor(log).execute(context())


def test_time_out_names_the_types_that_are_missing(log: TableLog) -> None:
    waiting = sensor(log, columns={"id": "bigint", "prize": "int"}, timeout=0.3)
    event = asyncio.run(event_of(trigger_of(waiting)))
    with pytest.raises(AirflowSensorTimeout, match=r"id is int; wanted: bigint or wider\. There is no column 'prize'"):
        waiting.execute_complete(context(), event)


def test_each_process_of_mode_reschedule_looks_once(log: TableLog) -> None:
    waiting = sensor(log, deferrable=False)
    assert waiting.mode == "reschedule"
    assert not waiting.poke(context())
    log.commit(1, columns(id="long"))
    assert sensor(log, deferrable=False).poke(context()).xcom_value["version"] == 1


def test_types_come_through_a_template_or_as_columns_of_a_table(log: TableLog) -> None:
    for given in ('{"id": "int"}', [{"name": "id", "type": "int"}]):
        assert sensor(log, columns=given).execute(context())["types"] == {"id": "int"}


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"table": "main.orders"}, "location"),
        ({"columns": {}}, "give the types of columns"),
        ({"columns": {"id": "bigintt"}}, "Did you mean 'bigint'"),
        ({"columns": {"lines": "array<int>"}}, "name the parts"),
    ],
)
def test_mistake_is_refused_at_construction(arguments: dict[str, Any], remedy: str) -> None:
    with pytest.raises(DeltaRequestError, match=remedy):
        DeltaTypesSensor(task_id="wait", **{"table": "/d/t", "columns": {"id": "int"}, **arguments})
