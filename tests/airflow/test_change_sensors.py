"""Sensors that wait for versions, conditions and quiet: arguments, polls, triggers, and what is kept between polls."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.providers.common.compat.sdk import AirflowSensorTimeout, BaseSensorOperator, Context, TaskDeferred
from airflow.serialization.serialized_objects import BaseSerialization

from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.sensors.protocol import DeltaProtocolSensor
from airflow_delta_provider.sensors.quiet import DeltaQuietSensor
from airflow_delta_provider.sensors.table_sensor import TableSensor
from airflow_delta_provider.sensors.table_version import DeltaTableVersionSensor
from airflow_delta_provider.triggers.table_trigger import TableTrigger, next_poll, pause_after
from airflow_delta_provider.watch.head_reader import HeadReader, ObjectStorageLog
from airflow_delta_provider.watch.head_watches import QuietWatch
from airflow_delta_provider.watch.metadata_folder import DeltaWatchImpossibleError
from tests.airflow.table_logs import (
    REAL_TABLES,
    Json,
    RecordingFileSystem,
    TableLog,
    append,
    attach_store,
    checkpoint,
    metadata,
    protocol,
)
from tests.airflow.test_feature_sensor import (
    AirflowRescheduleException,
    TaskInstance,
    context,
    without_task_state,
)


class EarlierRun(TaskInstance):
    """A task instance whose task pushed something in an earlier run."""

    map_index = -1

    def __init__(self, pushed: Any) -> None:
        super().__init__()
        self._pushed = pushed

    def xcom_pull(self, *, task_ids: str, map_indexes: int, include_prior_dates: bool) -> Any:
        assert (task_ids, map_indexes, include_prior_dates) == ("wait", -1, True)
        return self._pushed


@pytest.fixture(autouse=True)
def _no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableTrigger, "settling_time", 0.0)


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    """A table of two commits."""
    table = TableLog(tmp_path / "t")
    table.commit(0, protocol(), metadata())
    table.commit(1, append())
    return table


def committed(at: float, **info: Any) -> list[Json]:
    return [{"commitInfo": {"timestamp": int(at * 1000), "operation": "WRITE", **info}}, *append()[1:]]


def version(log: TableLog, **arguments: Any) -> DeltaTableVersionSensor:
    return DeltaTableVersionSensor(task_id="wait", table=log.location, **{"poke_interval": 0.02, **arguments})


def condition(log: TableLog, wanted: Any, **arguments: Any) -> DeltaProtocolSensor:
    arguments = {"poke_interval": 0.02, **arguments}
    return DeltaProtocolSensor(task_id="wait", table=log.location, condition=wanted, **arguments)


def quiet(log: TableLog, quiet_for: Any, **arguments: Any) -> DeltaQuietSensor:
    return DeltaQuietSensor(
        task_id="wait", table=log.location, quiet_for=quiet_for, **{"poke_interval": 0.02, **arguments}
    )


def trigger_of(sensor: TableSensor, given: Context | None = None) -> TableTrigger:
    """The trigger that a sensor hands over to, after a trip through the database."""
    with pytest.raises(TaskDeferred) as raised:
        sensor.execute(given or context())
    path, kwargs = raised.value.trigger.serialize()
    kwargs = BaseSerialization.deserialize(BaseSerialization.serialize(kwargs))
    made = cast(TableTrigger, type(raised.value.trigger)(**kwargs))
    assert made.serialize() == (path, kwargs)
    return made


async def event_of(trigger: TableTrigger, what: Awaitable[None] | None = None) -> dict[str, Any]:
    async def only() -> dict[str, Any]:
        return dict((await anext(trigger.run())).payload)

    event, _ = await asyncio.gather(only(), what or asyncio.sleep(0))
    return event


def resumed(sensor: TableSensor, happens: Any, given: Context | None = None) -> dict[str, Any]:
    """What a sensor returns after it waited for what happens."""
    trigger = trigger_of(sensor, given)

    async def soon() -> None:
        await asyncio.sleep(0.1)
        happens()

    event = asyncio.run(event_of(trigger, soon()))
    return cast("dict[str, Any]", sensor.execute_complete(context(), event))


class TestVersion:
    def test_version_that_is_there_succeeds_at_once(self, log: TableLog) -> None:
        seen = version(log, version=1).execute(context())
        assert seen.pop("digests").keys() == {"protocol", "features", "properties", "schema"}
        assert seen == {
            "table": log.location,
            "version": 1,
            "table_id": "a-table",
            "since_version": None,
            "changed": [],
        }
        assert version(log, after_version="0").execute(context())["since_version"] == 0

    def test_next_commit_after_the_first_poll(self, log: TableLog) -> None:
        seen = resumed(version(log), lambda: log.commit(2, metadata({"owner": "me"})))
        assert (seen["version"], seen["since_version"], seen["changed"]) == (2, 1, ["properties"])

    @pytest.mark.parametrize("wanted", [{"version": 2}, {"after_version": 1}])
    def test_version_that_comes(self, log: TableLog, wanted: dict[str, int]) -> None:
        assert resumed(version(log, **wanted), lambda: log.commit(2, append()))["version"] == 2

    def test_table_that_is_created_is_the_next_commit(self, tmp_path: Path) -> None:
        log = TableLog(tmp_path / "later")
        seen = resumed(version(log), lambda: log.commit(0, protocol(), metadata()))
        assert (seen["version"], seen["since_version"], seen["changed"]) == (0, None, [])

    def test_table_that_was_created_again_is_new_though_its_version_is_lower(self, log: TableLog) -> None:
        def recreate() -> None:
            log.drop()
            log.commit(0, protocol(), metadata(table_id="another"))

        seen = resumed(version(log), recreate)
        assert (seen["version"], seen["since_version"], seen["changed"]) == (0, 1, ["table"])

    def test_run_goes_on_from_what_the_run_before_saw(self, log: TableLog) -> None:
        first = version(log, after_last_seen=True).execute(context(ti=EarlierRun(None)))
        assert (first["version"], first["since_version"]) == (1, None)
        log.commit(2, append())
        log.commit(3, append())
        second = version(log, after_last_seen=True).execute(context(ti=EarlierRun(first)))
        assert (second["version"], second["since_version"]) == (3, 1)
        again = version(log, after_last_seen=True)
        third = resumed(again, lambda: log.commit(4, append()), context(ti=EarlierRun(second)))
        assert (third["version"], third["since_version"]) == (4, 3)

    def test_what_an_earlier_run_saw_of_another_table_does_not_count(self, log: TableLog) -> None:
        other = {"table": "/elsewhere", "version": 99}
        assert version(log, after_last_seen=True).execute(context(ti=EarlierRun(other)))["since_version"] is None

    def test_reschedule_keeps_the_first_poll(self, log: TableLog) -> None:
        kept = context()
        with pytest.raises(AirflowRescheduleException):
            version(log, deferrable=False).execute(kept)
        with pytest.raises(AirflowRescheduleException):
            version(log, deferrable=False).execute(kept)
        log.commit(2, append())
        assert version(log, deferrable=False).execute(kept)["since_version"] == 1

    def test_worker_is_kept_where_nothing_can_be_remembered(self, log: TableLog) -> None:
        waiting = version(log, deferrable=False, timeout=0.1)
        waiting.poke_interval = 0.02
        with pytest.raises(AirflowSensorTimeout):
            waiting.execute(without_task_state())

    @pytest.mark.parametrize(
        ("arguments", "remedy"),
        [
            ({"table": "main.orders"}, "location"),
            ({"version": -1}, "has to be a table version"),
            ({"version": 1, "after_version": 2}, "Give only one"),
            ({"version": 1, "after_last_seen": True}, "Leave those out"),
        ],
    )
    def test_mistake_is_refused_at_construction(self, arguments: dict[str, Any], remedy: str) -> None:
        with pytest.raises(DeltaRequestError, match=remedy):
            DeltaTableVersionSensor(task_id="wait", **{"table": "/d/t", **arguments})

    def test_rendered_mistake_is_refused(self, log: TableLog) -> None:
        waiting = version(log, after_version="{{ params.v }}")
        rendered = context(params={"v": "x"})
        waiting.render_template_fields(rendered)
        with pytest.raises(DeltaRequestError, match="after_version"):
            waiting.execute(rendered)


class TestCondition:
    def test_condition_that_holds_on_a_table_that_spark_wrote(self) -> None:
        waiting = DeltaProtocolSensor(
            task_id="wait",
            table=str(REAL_TABLES / "v2_parquet_checkpoint"),
            condition={
                "features": {"contains": ["rowTracking", "v2Checkpoint"]},
                "schema": {"contains": {"city": "string"}},
                "properties": {"contains": {"delta.enableRowTracking": True}},
                "protocol": {"equals": {"minWriterVersion": 7}},
            },
        )
        assert waiting.execute(context())["version"] == 4

    @pytest.mark.parametrize(
        ("wanted", "commit"),
        [
            ({"properties": {"contains": {"owner": "me"}}}, metadata({"owner": "me"})),
            ({"properties": "changed"}, metadata({"owner": "me"})),
            ({"protocol": "changed"}, protocol("typeWidening")),
            ({"features": {"contains": "typeWidening"}}, protocol("typeWidening")),
        ],
    )
    def test_condition_that_comes_to_hold(self, log: TableLog, wanted: Any, commit: Json) -> None:
        def happen() -> None:
            log.commit(2, append())
            log.commit(3, commit)

        assert resumed(condition(log, wanted), happen)["version"] == 3

    def test_change_since_the_run_before(self, log: TableLog) -> None:
        first = condition(log, {"properties": "changed"}, after_last_seen=True).execute(context(ti=EarlierRun(None)))
        log.commit(2, metadata({"owner": "me"}))
        log.commit(3, append())
        later = condition(log, {"properties": "changed"}, after_last_seen=True)
        seen = later.execute(context(ti=EarlierRun(first)))
        assert (seen["since_version"], seen["version"], seen["changed"]) == (1, 3, ["properties"])

    def test_change_that_is_taken_back_between_two_looks_is_none(self, log: TableLog) -> None:
        waiting = condition(log, {"properties": "changed"}, timeout=0.3)
        trigger = trigger_of(waiting)
        log.commit(2, metadata({"owner": "me"}))
        log.commit(3, metadata())
        assert asyncio.run(event_of(trigger))["status"] == "timed_out"

    def test_catalog_managed_table_is_refused(self, tmp_path: Path) -> None:
        log = TableLog(tmp_path)
        log.commit(0, protocol("catalogManaged"), metadata())
        with pytest.raises(DeltaWatchImpossibleError, match="managed by a catalog"):
            condition(log, {"schema": "changed"}).execute(context())

    def test_mistake_is_refused_at_construction_and_when_rendered(self, log: TableLog) -> None:
        with pytest.raises(DeltaRequestError, match="Did you mean 'schema'"):
            condition(log, {"shema": "changed"})
        waiting = condition(log, {"schema": {"contains": {"id": "{{ params.t }}"}}})
        rendered = context(params={"t": "bigit"})
        waiting.render_template_fields(rendered)
        with pytest.raises(DeltaRequestError, match="Did you mean 'bigint'"):
            waiting.execute(rendered)


@pytest.mark.parametrize(
    "text",
    [
        "{'schema': {'contains': {'id': None}}, 'features': {'contains': []}}",
        '{"schema": {"contains": {"id": null}}, "features": {"contains": []}}',
    ],
    ids=["as Python writes it", "as JSON"],
)
def test_condition_of_a_template_is_read_without_native_rendering(log: TableLog, text: str) -> None:
    waiting = DeltaProtocolSensor(task_id="wait", table=log.location, condition="{{ params.wanted }}")
    rendered = cast(Context, {**cast("dict[str, Any]", context()), "params": {"wanted": text}})
    waiting.render_template_fields(rendered)
    assert waiting.execute(rendered)["version"] == 1


@pytest.mark.parametrize("deferrable", [True, False])
@pytest.mark.parametrize("wrong", ["{'shema': 'changed'}", "nothing", ""])
def test_wrong_request_fails_although_the_sensor_may_be_skipped(log: TableLog, wrong: str, deferrable: bool) -> None:
    waiting = DeltaProtocolSensor(
        task_id="wait", table=log.location, condition="{{ params.wanted }}", soft_fail=True, deferrable=deferrable
    )
    rendered = cast(Context, {**cast("dict[str, Any]", context()), "params": {"wanted": wrong}})
    waiting.render_template_fields(rendered)
    with pytest.raises(DeltaRequestError, match="condition"):
        waiting.execute(rendered)


class TestQuiet:
    def test_table_that_is_quiet_for_long_succeeds_at_once(self, log: TableLog) -> None:
        log.commit(2, *committed(time.time() - 100))
        seen = quiet(log, timedelta(seconds=90)).execute(context())
        assert (seen["version"], seen["table"]) == (2, log.location)
        assert 100 <= seen["quiet_seconds"] < 110
        trigger_of(quiet(log, 300))

    def test_in_commit_timestamp_counts_where_the_table_has_them(self, log: TableLog) -> None:
        with_own = metadata({"delta.enableInCommitTimestamps": "true"})
        log.commit(2, protocol("inCommitTimestamp"), with_own)
        log.commit(3, *committed(time.time() - 1000, inCommitTimestamp=int((time.time() - 5) * 1000)))
        assert quiet(log, 4).execute(context())["quiet_seconds"] < 10
        log.commit(4, protocol(), metadata())
        log.commit(5, *committed(time.time() - 1000, inCommitTimestamp=int((time.time() - 5) * 1000)))
        assert quiet(log, 900).execute(context())["quiet_seconds"] >= 1000

    @pytest.mark.parametrize("slow", [1, 3])
    def test_commit_by_a_slow_clock_is_no_older_than_those_before(self, log: TableLog, slow: int) -> None:
        log.commit(2, *committed(time.time() - 20))
        for version in range(3, 3 + slow):
            log.commit(version, *committed(time.time() - 3600))
        trigger_of(quiet(log, 60))
        assert 20 <= quiet(log, 15).execute(context())["quiet_seconds"] < 40

    def test_earlier_commit_of_the_future_says_nothing_about_the_newest(self, log: TableLog) -> None:
        log.commit(2, *committed(time.time() + 3600))
        log.commit(3, *committed(time.time() - 100))
        assert quiet(log, 60).execute(context())["quiet_seconds"] >= 100

    def test_file_time_counts_where_the_commit_says_none(self, log: TableLog) -> None:
        name = f"{log.location}/_delta_log/{1:020d}.json"
        os.utime(name, (time.time() - 500, time.time() - 500))
        assert 500 <= quiet(log, 400).execute(context())["quiet_seconds"] < 510

    def test_commit_that_arrives_begins_the_wait_anew_whatever_time_it_names(self, log: TableLog) -> None:
        log.commit(2, *committed(time.time()))
        trigger = trigger_of(quiet(log, 0.6))

        async def someone_with_a_slow_clock() -> None:
            await asyncio.sleep(0.3)
            log.commit(3, *committed(time.time() - 3600))

        began = time.monotonic()
        event = asyncio.run(event_of(trigger, someone_with_a_slow_clock()))
        assert (event["status"], event["version"]) == ("holds", 3)
        assert 0.85 < time.monotonic() - began < 5

    def test_commit_of_the_future_counts_from_when_it_was_seen(self, log: TableLog) -> None:
        log.commit(2, *committed(time.time() + 3600))
        began = time.monotonic()
        event = asyncio.run(event_of(trigger_of(quiet(log, 0.3))))
        assert event["status"] == "holds"
        assert 0.3 <= time.monotonic() - began < 5

    def test_wall_clock_that_jumps_makes_no_quiet(self, log: TableLog, monkeypatch: pytest.MonkeyPatch) -> None:
        log.commit(2, *committed(time.time()))
        watch = QuietWatch(log.location, 600)
        assert watch.poll() is None
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 7200)
        assert watch.poll() is None

    @pytest.mark.parametrize("wrong", [0, -1, "60", True, None, timedelta(0), float("nan")])
    def test_wrong_time_is_refused(self, log: TableLog, wrong: Any) -> None:
        with pytest.raises(DeltaRequestError, match="above 0"):
            quiet(log, wrong)


def test_newest_commit_is_known_also_where_the_checkpoint_is_of_its_version(log: TableLog) -> None:
    log.commit(2, *committed(1000.0))
    log.write(f"{2:020d}.checkpoint.parquet", checkpoint(protocol(), metadata()))
    head = HeadReader(ObjectStorageLog(log.location)).read()
    assert head is not None
    assert head.info["timestamp"] == 1_000_000
    log.remove(f"{2:020d}.json")
    head = HeadReader(ObjectStorageLog(log.location)).read()
    assert head is not None
    assert (head.version, head.info, head.written) == (2, {}, None)


def test_sensors_of_one_table_share_each_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = RecordingFileSystem()
    name = attach_store(monkeypatch, filesystem)
    table = TableLog(f"/{name}/t", filesystem)
    table.commit(0, protocol(), metadata())
    shared: dict[str, Any] = {"task_id": "wait", "table": f"memory://{name}/t", "storage_conn_id": name}
    shared |= {"poke_interval": 0.5, "timeout": 3}
    sensors: list[TableSensor] = [
        DeltaTableVersionSensor(version=9, **shared),
        DeltaTableVersionSensor(**shared),
        DeltaProtocolSensor(condition={"schema": "changed"}, **shared),
        DeltaQuietSensor(quiet_for=99, **shared),
    ]
    triggers = [trigger_of(sensor) for sensor in sensors]
    filesystem.calls.clear()
    filesystem.asked.clear()

    async def together() -> list[dict[str, Any]]:
        return await asyncio.gather(*map(event_of, triggers))

    assert {event["status"] for event in asyncio.run(together())} == {"timed_out"}
    # What the sensors listed is still known; each poll is two questions for all of them.
    assert filesystem.calls == []
    assert len(filesystem.asked) < 30  # each for itself, they would ask 56 times


def test_failures_are_followed_by_longer_and_longer_pauses_that_differ() -> None:
    assert pause_after(0, 15.0) == 0.0
    for failures, longest in ((1, 15), (2, 30), (3, 60), (4, 120), (9, 300), (10_000, 300)):
        pauses = {pause_after(failures, 15.0) for _ in range(20)}
        assert len(pauses) > 10
        assert longest / 2 <= min(pauses) <= max(pauses) <= longest


def test_looks_at_one_table_come_at_the_same_time_and_after_the_pause() -> None:
    now = time.monotonic()
    assert abs(next_poll("/t", 100.0) - next_poll("/t", 100.0)) < 1e-6
    assert next_poll("/t", 100.0) <= now + 101
    assert next_poll("/t", 100.0, 50.0) >= now + 50
    assert next_poll("/t", 0.0, 7.0) >= now + 7


def test_storage_that_is_away_for_some_looks_does_not_end_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = RecordingFileSystem()
    name = attach_store(monkeypatch, filesystem)
    table = TableLog(f"/{name}/t", filesystem)
    table.commit(0, protocol(), metadata())
    waiting = DeltaTableVersionSensor(
        task_id="wait", table=f"memory://{name}/t", storage_conn_id=name, version=1, poke_interval=0.02
    )
    trigger = trigger_of(waiting)
    filesystem.failures = 4
    table.commit(1, append())
    assert asyncio.run(event_of(trigger))["version"] == 1


@pytest.mark.parametrize("sensor", [DeltaTableVersionSensor, DeltaProtocolSensor, DeltaQuietSensor])
def test_sensors_can_be_mapped(sensor: type[BaseSensorOperator]) -> None:
    given: dict[str, Any] = {"condition": {"schema": "changed"}} if sensor is DeltaProtocolSensor else {}
    given |= {"quiet_for": 60} if sensor is DeltaQuietSensor else {}
    assert sensor.partial(task_id="mapped", **given).expand(table=["/a", "/b"]).task_id == "mapped"
