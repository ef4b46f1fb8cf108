"""Events of tables: each once it was stored, none lost, whatever happens to log, storage and triggerer."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import Asset
from airflow.serialization.serialized_objects import BaseSerialization

from airflow_delta_provider.triggers import table_event, table_poll
from airflow_delta_provider.triggers.table_event import DeltaTableEventTrigger, TriggerArgumentError
from airflow_delta_provider.triggers.table_poll import ticks
from airflow_delta_provider.triggers.table_trigger import next_poll
from airflow_delta_provider.watch import log_follower
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

PLAIN = protocol(reader=1, writer=2)
#: Column mapping is on, which this protocol does not support: CM01.
BROKEN = metadata({"delta.columnMapping.mode": "name"})


class Store:
    """What Airflow keeps with an asset: a trigger's own view of it, without the API."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.failures = 0

    async def aget(self, key: str) -> Any:
        if self.failures:
            self.failures -= 1
            raise OSError("the API is away")
        return json.loads(self.kept.get(key, "null"))

    async def aset(self, key: str, value: Any) -> None:
        self.kept[key] = json.dumps(value)

    @property
    def version(self) -> int:
        (kept,) = self.kept.values()
        return int(json.loads(kept)["version"])


class Accessors:
    def __init__(self, store: Store) -> None:
        self._by_name = {"table": store}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_poll, "BACKOFF", 0.01)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    """A table with which nothing is wrong."""
    table = TableLog(tmp_path / "t")
    commit(table, 0, PLAIN, metadata())
    return table


def commit(log: TableLog, version: int, *actions: Json, **info: Any) -> None:
    said = {"timestamp": 1_700_000_000_000 + version * 1000, "operation": "WRITE", "engineInfo": "Test/1", **info}
    log.commit(version, {"commitInfo": said}, *actions)


def schema(*names: str) -> Json:
    found = metadata()
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in names]
    found["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    return found


def _transaction(log: TableLog, version: int) -> None:
    commit(log, version, {"txn": {"appId": "a", "version": version}})


def trigger(log: TableLog | str, on: str = "commit", store: Store | None = None, **more: Any) -> DeltaTableEventTrigger:
    made = DeltaTableEventTrigger(str(getattr(log, "location", log)), on, **{"poke_interval": 0.03, **more})
    path, kwargs = made.serialize()
    assert path == "airflow_delta_provider.triggers.table_event.DeltaTableEventTrigger"
    again = DeltaTableEventTrigger(**BaseSerialization.deserialize(BaseSerialization.serialize(kwargs)))
    again.asset_state_store = Accessors(store) if store else None  # type: ignore[assignment]  # what it needs of it
    return again


Happening = Callable[[], Any]


class Polls:
    """Counts the polls that begin: with each, the one before it has been dealt with."""

    def __init__(self) -> None:
        self.begun = 0

    def next_poll(self, *args: Any) -> float:
        self.begun += 1
        return next_poll(*args)

    async def go_by(self, seconds: float) -> None:
        """Wait so long, and further until a poll that began meanwhile has been dealt with, if that takes no more than
        three seconds: while a poll hangs, there is none."""
        begun, latest = self.begun, time.monotonic() + 3
        await asyncio.sleep(seconds)
        while self.begun < begun + 2 and time.monotonic() < latest:
            await asyncio.sleep(0.01)


def told(made: DeltaTableEventTrigger, *happenings: Happening, seconds: float = 0.25) -> list[dict[str, Any]]:
    """The events of a trigger that runs while things happen, one after the other, and is killed then.

    :param seconds: that pass at least after each of them
    """
    events: list[dict[str, Any]] = []
    polls = Polls()

    async def listen() -> None:
        async with aclosing(made.run()) as running:
            async for event in running:
                events.append(dict(event.payload))

    async def play() -> None:
        listening = asyncio.create_task(listen())
        await polls.go_by(seconds)
        for happen in happenings:
            happen()
            await polls.go_by(seconds)
        assert not listening.done(), listening
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_poll, "next_poll", polls.next_poll)
        asyncio.run(play())
    return events


def ranges(events: list[dict[str, Any]]) -> list[tuple[int | None, int]]:
    return [(event["from_version"], event["to_version"]) for event in events]


class TestWhatIsTold:
    def test_commit_with_everything_about_it(self, log: TableLog) -> None:
        happen = [lambda: commit(log, 1, protocol(reader=1, writer=4), schema("id", "b"), userName="ann")]
        (event,) = told(trigger(log), *happen)
        assert event == {
            "key": "commit:a-table:0:1",
            "on": "commit",
            "table": log.location,
            "table_id": "a-table",
            "previous_table_id": "a-table",
            "from_version": 0,
            "to_version": 1,
            "commits": 1,
            "partitions": None,
            "recreated": False,
            "gap": False,
            "timestamp": "2023-11-14T22:13:21.000+00:00",
            "operation": "WRITE",
            "engine": "Test/1",
            "user": "ann",
            "protocol": {
                "before": {"minReaderVersion": 1, "minWriterVersion": 2},
                "after": {"minReaderVersion": 1, "minWriterVersion": 4},
                "features_added": ["changeDataFeed", "checkConstraints", "generatedColumns"],
                "features_removed": [],
            },
            "schema": {
                "compared": True,
                "columns": [
                    {"change": "retyped", "column": "id", "from": "int", "to": "bigint"},
                    {"change": "added", "column": "b", "type": "bigint"},
                ],
                "more": 0,
                "partitioned_by": {"before": [], "after": []},
            },
            "properties": {"set": {}, "unset": [], "more": 0},
            "codes": [],
        }
        json.dumps(event)

    def test_partitions_whose_rows_commits_changed(self, log: TableLog) -> None:
        """The table becomes a partitioned one, which is a commit; the next two are polled together."""
        metadata = json.loads(json.dumps(schema("id", "day")))
        metadata["metaData"]["partitionColumns"] = ["day"]

        def two() -> None:
            commit(log, 2, {"add": {"path": "a", "partitionValues": {"day": "1"}, "dataChange": True}})
            commit(log, 3, {"add": {"path": "b", "partitionValues": {"day": ""}, "dataChange": True}})

        one = lambda: commit(log, 1, metadata)  # noqa: E731
        first, second = told(trigger(log), one, two)
        assert first["partitions"] == {"changed": [], "more": 0}
        assert second["partitions"] == {"changed": [{"day": "1"}, {"day": None}], "more": 0}

    def test_only_what_was_asked_for(self, log: TableLog) -> None:
        def happen() -> None:
            commit(log, 1, *append())
            commit(log, 2, protocol(reader=1, writer=3))
            commit(log, 3, schema("id", "a"))
            commit(log, 4, metadata({"owner": "me"}))
            commit(log, 5, *append())

        commits = told(trigger(log), happen)
        assert (commits[0]["from_version"], commits[-1]["to_version"]) == (0, 5)
        log.drop()
        commit(log, 0, PLAIN, metadata())
        assert ranges(told(trigger(log, "protocol"), happen)) == [(0, 2)]
        log.drop()
        commit(log, 0, PLAIN, metadata())
        events = told(trigger(log, "schema"), happen)
        assert [event["to_version"] for event in events] == [3, 4]
        assert [c["change"] for c in events[1]["schema"]["columns"]] == ["dropped", "retyped"]

    def test_change_that_is_taken_back_between_two_polls_is_told(self, log: TableLog) -> None:
        def happen() -> None:
            log.write(f"{2:020d}.json", json.dumps(metadata()) + "\n")
            log.write(f"{1:020d}.json", json.dumps(schema("x")) + "\n")

        assert [event["to_version"] for event in told(trigger(log, "schema"), happen)] == [1, 2]

    def test_commits_that_break_rules_with_their_codes(self, log: TableLog) -> None:
        def happen() -> None:
            commit(log, 2, BROKEN, userName="bob")
            commit(log, 1, metadata({"owner": "me"}))

        (event,) = told(trigger(log, "violation"), happen, seconds=1.0)
        assert (event["from_version"], event["to_version"]) == (0, 2)
        assert (event["codes"], event["user"]) == (["CM01"], "bob")
        (found,) = event["findings"]
        assert (found["code"], found["version"]) == ("CM01", 2)

    def test_violation_is_told_once_though_it_stands(self, log: TableLog, store: Store) -> None:
        happen = (lambda: commit(log, 1, BROKEN), lambda: _transaction(log, 2))
        first = told(trigger(log, "violation", store), *happen, seconds=1.0)
        assert [event["codes"] for event in first] == [["CM01"]]
        assert told(trigger(log, "violation", store), lambda: _transaction(log, 3), seconds=1.0) == []
        assert store.version == 3

    def test_audit_that_takes_longer_than_a_poll_is_waited_for_and_no_other_begun(
        self, log: TableLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun: list[Any] = []
        running: list[int] = []
        real = table_event.audit

        def slow(*args: Any, **kwargs: Any) -> Any:
            begun.append((kwargs["since_version"], kwargs["version"]))
            running.append(1)
            time.sleep(0.7)
            assert len(running) == 1
            running.pop()
            return real(*args, **kwargs)

        monkeypatch.setattr(table_event, "audit", slow)
        monkeypatch.setattr(table_event, "_PATIENCE", 0.4)
        happen = [lambda: commit(log, 1, BROKEN), *(partial(_transaction, log, version) for version in (2, 3, 4))]
        (event,) = told(trigger(log, "violation"), *happen, lambda: None, lambda: None, seconds=0.5)
        assert (event["from_version"], event["to_version"], event["codes"]) == (0, 1, ["CM01"])
        assert begun[0] == (0, 1)
        # On a slow machine the log itself may not answer in time. Then the same commits are audited again.
        for audited, following in pairwise(begun):
            assert following[0] in audited

    def test_first_start_tells_nothing_and_a_new_table_is_news(self, tmp_path: Path) -> None:
        log = TableLog(tmp_path / "later")
        for on in ("commit", "schema", "protocol"):
            events = told(trigger(log, on), lambda: commit(log, 0, PLAIN, metadata()))
            assert ranges(events) == [(None, 0)]
            assert [column["change"] for column in events[0]["schema"]["columns"]] == ["added"]
            assert told(trigger(log, on)) == []
            log.drop()


class TestPlace:
    def test_restart_tells_what_happened_meanwhile(self, log: TableLog, store: Store) -> None:
        assert ranges(told(trigger(log, "commit", store), lambda: commit(log, 1, *append()))) == [(0, 1)]
        for version in range(2, 7):
            commit(log, version, *append())
        assert ranges(told(trigger(log, "commit", store))) == [(1, 6)]
        assert told(trigger(log, "commit", store)) == []

    def test_triggers_of_other_kinds_keep_places_of_their_own(self, log: TableLog, store: Store) -> None:
        told(trigger(log, "commit", store))
        told(trigger(log, "schema", store))
        commit(log, 1, schema("x"))
        assert ranges(told(trigger(log, "commit", store))) == [(0, 1)]
        assert ranges(told(trigger(log, "schema", store))) == [(0, 1)]

    def test_place_moves_only_after_the_event_was_taken(self, log: TableLog, store: Store) -> None:
        told(trigger(log, "commit", store))
        commit(log, 1, *append())

        async def dies_with_the_event_in_hand() -> dict[str, Any]:
            running = trigger(log, "commit", store).run()
            event = await anext(running)
            assert store.version == 0
            await running.aclose()
            return dict(event.payload)

        first = asyncio.run(dies_with_the_event_in_hand())
        assert store.version == 0
        (again,) = told(trigger(log, "commit", store))
        assert again == first
        assert store.version == 1

    def test_two_hundred_commits_between_two_polls(self, log: TableLog, store: Store) -> None:
        told(trigger(log, "schema", store))

        def happen() -> None:
            for version in range(200, 0, -1):  # none is to be seen before all are there
                commit(log, version, *([schema(f"c{version}")] if version % 50 == 0 else append()))

        events = told(trigger(log, "schema", store), happen, seconds=0.6)
        assert ranges(events) == [(0, 50), (50, 100), (100, 150), (150, 200)]
        assert store.version == 200

    def test_long_backlog_is_read_in_parts_without_a_gap(
        self, log: TableLog, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_follower, "MOST_AT_ONCE", 7)
        told(trigger(log, "commit", store))
        for version in range(1, 31):
            commit(log, version, *append())
        events = told(trigger(log, "commit", store))
        assert ranges(events)[0] == (0, 7)  # the rest as the poll has it, if it is still there from before
        assert [last for _, last in ranges(events)] == [*(first for first, _ in ranges(events)[1:]), 30]
        assert sum(event["commits"] for event in events) == 30

    def test_place_that_cannot_be_read_is_asked_for_again(self, log: TableLog, store: Store) -> None:
        told(trigger(log, "commit", store))
        commit(log, 1, *append())
        store.failures = 1
        assert ranges(told(trigger(log, "commit", store), seconds=1.4)) == [(0, 1)]

    def test_place_that_is_damaged_is_begun_anew(self, log: TableLog, store: Store) -> None:
        told(trigger(log, "commit", store))
        store.kept = dict.fromkeys(store.kept, '{"a": 1}')
        assert ranges(told(trigger(log, "commit", store), lambda: commit(log, 1, *append()))) == [(0, 1)]


class TestFaults:
    def test_log_that_is_cleaned_up_while_the_triggerer_is_down(self, log: TableLog, store: Store) -> None:
        for on in ("commit", "schema"):
            told(trigger(log, on, store))
        for version in range(1, 11):
            commit(log, version, *([schema("x")] if version == 4 else append()))
        log.write(f"{8:020d}.checkpoint.parquet", checkpoint(PLAIN, schema("x")))
        for version in range(8):
            log.remove(f"{version:020d}.json")
        for on in ("commit", "schema"):
            (event,) = told(trigger(log, on, store))
            assert (event["from_version"], event["to_version"]) == (0, 10 if on == "commit" else 8)
            assert (event["gap"], event["recreated"]) == (True, False)
            assert event["schema"]["compared"] is False
        assert told(trigger(log, "schema", store)) == []

    def test_log_that_is_cleaned_up_under_the_watch(self, log: TableLog) -> None:
        def clean_up() -> None:
            commit(log, 1, *append())
            log.write(f"{1:020d}.checkpoint.parquet", checkpoint(PLAIN, metadata()))
            log.remove(f"{0:020d}.json")
            log.remove(f"{1:020d}.json")
            commit(log, 2, schema("x"))

        (event,) = told(trigger(log, "schema"), clean_up)
        assert (event["to_version"], event["recreated"]) == (2, False)

    def test_table_that_is_deleted_and_created_again_is_said_to_be_another(self, log: TableLog, store: Store) -> None:
        def recreate() -> None:
            commit(log, 0, PLAIN, metadata(table_id="another"))

        commit(log, 1, *append())
        for on in ("commit", "schema", "protocol"):
            (event,) = told(trigger(log, on, store), log.drop, recreate)
            assert (event["recreated"], event["from_version"], event["to_version"]) == (True, 1, 0)
            assert (event["table_id"], event["previous_table_id"]) == ("another", "a-table")
            log.drop()
            commit(log, 0, PLAIN, metadata())
            commit(log, 1, *append())

    @pytest.mark.parametrize("commits", [1, 2, 3])
    def test_table_that_is_created_again_while_the_triggerer_is_down(
        self, log: TableLog, store: Store, commits: int
    ) -> None:
        commit(log, 1, *append())
        told(trigger(log, "commit", store))
        log.drop()
        commit(log, 0, PLAIN, metadata(table_id="another"))
        for version in range(1, commits):
            commit(log, version, *append(), userName="other")
        (event,) = told(trigger(log, "commit", store))
        assert (event["recreated"], event["to_version"]) == (True, commits - 1)

    def test_table_that_is_created_again_with_the_same_id(self, log: TableLog, store: Store) -> None:
        told(trigger(log, "commit", store))
        log.drop()
        commit(log, 0, PLAIN, metadata(), userName="who restored it")
        commit(log, 1, *append())
        (event,) = told(trigger(log, "commit", store))
        assert event["recreated"] is True

    def test_table_that_is_replaced_by_a_commit_goes_on(self, log: TableLog) -> None:
        replaced = metadata(table_id="another")
        replaced["metaData"]["schemaString"] = schema("x")["metaData"]["schemaString"]
        (event,) = told(trigger(log, "schema"), lambda: commit(log, 1, replaced, operation="REPLACE TABLE"))
        assert (event["recreated"], event["operation"]) == (False, "REPLACE TABLE")
        assert (event["table_id"], event["previous_table_id"]) == ("another", "a-table")

    def test_commit_that_is_not_whole_yet_is_told_when_it_is(self, log: TableLog, store: Store) -> None:
        def begins() -> None:
            log.write(f"{2:020d}.json", '{"commitInfo":{"times')
            commit(log, 1, *append())

        events = told(trigger(log, "commit", store), begins, lambda: commit(log, 2, schema("x")))
        assert ranges(events) == [(0, 1), (1, 2)]
        assert events[1]["schema"]["columns"]

    def test_storage_that_is_away_and_comes_back(self, monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
        filesystem = RecordingFileSystem()
        name = attach_store(monkeypatch, filesystem)
        log = TableLog(f"/{name}/t", filesystem)
        commit(log, 0, PLAIN, metadata())
        away = False
        real = filesystem.info

        def info(path: str, **kwargs: Any) -> Any:
            if away:
                raise OSError("the store is away")
            return real(path, **kwargs)

        monkeypatch.setattr(filesystem, "info", info)

        def leave() -> None:
            nonlocal away
            away = True
            filesystem.failures = 10_000
            commit(TableLog(f"/{name}/t", RecordingFileSystem()), 1, *append())

        def come_back() -> None:
            nonlocal away
            away = False
            filesystem.failures = 0

        made = trigger(f"memory://{name}/t", "commit", store, storage_conn_id=name)
        assert ranges(told(made, leave, come_back, lambda: None, seconds=0.5)) == [(0, 1)]

    def test_clock_that_jumps_changes_nothing(self, log: TableLog, monkeypatch: pytest.MonkeyPatch) -> None:
        real = time.time

        def jump(by: float) -> None:
            monkeypatch.setattr(time, "time", lambda: real() + by)

        events = told(
            trigger(log), lambda: jump(86_400), lambda: commit(log, 1, *append()), lambda: jump(-86_400),
            lambda: commit(log, 2, *append()),
        )  # fmt: skip
        assert ranges(events) == [(0, 1), (1, 2)]

    def test_catalog_managed_table_is_said_and_watched_on(
        self, log: TableLog, caplog: pytest.LogCaptureFixture
    ) -> None:
        def give_it_back() -> None:
            commit(log, 2, PLAIN)

        events = told(trigger(log), lambda: commit(log, 1, protocol("catalogManaged")), give_it_back)
        assert ranges(events) == [(0, 2)]

    def test_files_of_a_big_table_are_not_loaded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Store
    ) -> None:
        log = TableLog(tmp_path / "big")
        log.write(f"{5:020d}.checkpoint.parquet", checkpoint(PLAIN, metadata(), files=200_000))
        commit(log, 5, *append())
        import tracemalloc

        tracemalloc.start()
        try:
            events = told(
                trigger(log, "protocol", store), lambda: commit(log, 6, protocol(reader=1, writer=3)), seconds=1
            )
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert ranges(events) == [(5, 6)]
        assert peak < 20_000_000

    def test_table_that_spark_wrote(self, tmp_path: Path, store: Store) -> None:
        table = Path(shutil.copytree(REAL_TABLES / "checksums", tmp_path / "t"))
        held = [table / "_delta_log" / f"{3:020d}.{end}" for end in ("json", "crc")]
        kept = [file.read_bytes() for file in held]
        for file in held:
            file.unlink()
        assert told(trigger(str(table), "commit", store)) == []
        for file, content in zip(held, kept):
            file.write_bytes(content)
        (event,) = told(trigger(str(table), "commit", store))
        assert (event["from_version"], event["to_version"]) == (2, 3)
        assert event["operation"]
        assert event["engine"].startswith("Apache-Spark/")


class TestSharing:
    """With the manager that a triggerer of Airflow 3.3 runs."""

    @pytest.fixture(autouse=True)
    def _shares(self) -> None:
        pytest.importorskip("airflow.triggers.shared_stream", reason="Airflow shares streams since 3.3")

    @asynccontextmanager
    async def subscribed(
        self, *made: DeltaTableEventTrigger, stores: Callable[[], bool] = lambda: True
    ) -> AsyncIterator[Any]:
        """Run triggers as a triggerer does; events are confirmed as stored while ``stores`` holds."""
        from airflow.triggers.shared_stream import SharedStreamManager

        manager = SharedStreamManager()
        events: list[tuple[int, dict[str, Any]]] = []

        async def run(number: int, one: DeltaTableEventTrigger) -> None:
            key = one.shared_stream_key()
            assert key is not None
            stream = manager.subscribe(trigger_id=number, trigger=one, key=key)
            async for event in one.filter_shared_stream(stream):
                events.append((number, dict(event.payload)))
                seq = manager.bind_pending_event(trigger_id=number, key=key)
                assert seq is not None
                if stores():
                    manager.confirm_persisted([seq])

        tasks = [asyncio.create_task(run(number, one)) for number, one in enumerate(made)]
        await asyncio.sleep(0.3)
        assert len(manager._groups) == 1
        yield events
        assert not any(task.done() for task in tasks), tasks
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await manager.stop_all()

    def test_all_triggers_of_a_table_share_one_poll(self, monkeypatch: pytest.MonkeyPatch) -> None:
        filesystem = RecordingFileSystem()
        name = attach_store(monkeypatch, filesystem)
        log = TableLog(f"/{name}/t", filesystem)
        commit(log, 0, PLAIN, metadata())

        async def watch() -> list[tuple[int, dict[str, Any]]]:
            kinds = ("commit", "schema", "protocol", "commit")
            stores = [Store() for _ in kinds]
            made = [
                trigger(f"memory://{name}/t", on, kept, storage_conn_id=name, poke_interval=0.1)
                for on, kept in zip(kinds, stores)
            ]
            async with self.subscribed(*made) as events:
                filesystem.asked.clear()
                filesystem.calls.clear()
                await asyncio.sleep(1)
                assert len(filesystem.asked) <= 24  # two a poll; 80 if each polled for itself
                commit(log, 1, schema("x"))
                await asyncio.sleep(0.4)
                assert filesystem.calls.count("1.json") == 1
            assert [kept.version for kept in stores] == [1] * 4
            return list(events)

        events = asyncio.run(watch())
        assert sorted(number for number, _ in events) == [0, 1, 3]

    def test_place_moves_only_after_airflow_stored_the_event(self, log: TableLog, store: Store) -> None:
        async def watch(stores: bool) -> list[Any]:
            async with self.subscribed(trigger(log, "commit", store), stores=lambda: stores) as events:
                if not stores:
                    commit(log, 1, *append())
                await asyncio.sleep(0.4)
            return list(events)

        assert len(asyncio.run(watch(stores=False))) == 1
        assert store.version == 0
        ((_, again),) = asyncio.run(watch(stores=True))
        assert (again["from_version"], again["to_version"], store.version) == (0, 1, 1)

    @pytest.mark.parametrize("on", ["commit", "schema"])
    def test_restart_repeats_the_events_of_one_poll_as_they_were(
        self, log: TableLog, store: Store, on: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made, polls = 0, Polls()
        monkeypatch.setattr(table_poll, "next_poll", polls.next_poll)

        def change() -> None:
            nonlocal made
            made += 1
            commit(log, made, schema(f"c{made}"))

        async def until(holds: Callable[[], bool]) -> None:
            while not holds():
                change()
                await asyncio.sleep(0.02)

        async def dies_before_the_last_are_stored() -> list[dict[str, Any]]:
            confirmed = True
            async with self.subscribed(trigger(log, on, store), stores=lambda: confirmed) as events:
                await until(lambda: store.kept != {} and store.version > 0)
                confirmed, known = False, len(events)
                await until(lambda: len(events) > known)
                change()
                await polls.go_by(0.1)
            return [event for _, event in events]

        async def starts_again() -> list[dict[str, Any]]:
            async with self.subscribed(trigger(log, on, store)) as events:
                while store.version < made:
                    await asyncio.sleep(0.02)
            return [event for _, event in events]

        first = asyncio.run(dies_before_the_last_are_stored())
        sent = [event for event in first if event["to_version"] > store.version]
        again = asyncio.run(starts_again())
        assert sent
        assert again[: len(sent)] == sent
        covered = [*first[: -len(sent)], *again]
        assert [event["from_version"] for event in covered] == [0, *(event["to_version"] for event in covered[:-1])]
        assert len({event["key"] for event in covered}) == len(covered)

    def test_event_that_cannot_be_stored_does_not_stop_the_next(self, log: TableLog, store: Store) -> None:
        async def watch() -> list[dict[str, Any]]:
            async with self.subscribed(trigger(log, "commit", store)) as events:
                store.aset = unreachable  # type: ignore[method-assign]  # the store fails from here on
                for version in (1, 2):
                    commit(log, version, *append())
                    await asyncio.sleep(0.3)
            return [event for _, event in events]

        async def unreachable(key: str, value: Any) -> None:
            raise OSError(f"the API is away for {key}")

        assert ranges(asyncio.run(watch())) == [(0, 1), (1, 2)]

    def test_one_who_joins_late_goes_on_from_its_own_place(self, log: TableLog) -> None:
        first, second = Store(), Store()
        told(trigger(log, "commit", first))
        told(trigger(log, "commit", second))
        commit(log, 1, *append())

        async def watch() -> list[Any]:
            async with self.subscribed(trigger(log, "commit", first)):
                commit(log, 2, *append())
                await asyncio.sleep(0.2)
            async with self.subscribed(trigger(log, "commit", first), trigger(log, "commit", second)) as events:
                await asyncio.sleep(0.3)
            return list(events)

        ((number, event),) = asyncio.run(watch())
        assert (number, event["from_version"], event["to_version"]) == (1, 0, 2)


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "remedy"),
        [
            ({"table": "main.orders"}, "location"),
            ({"on": "commits"}, "Did you mean 'commit'"),
            ({"on": None}, "it is one of"),
            ({"poke_interval": 0}, "above 0"),
            ({"poke_interval": "60"}, "above 0"),
        ],
    )
    def test_mistake_is_refused_by_an_error_that_a_triggerer_survives(
        self, arguments: dict[str, Any], remedy: str
    ) -> None:
        with pytest.raises(TriggerArgumentError, match=remedy) as raised:
            DeltaTableEventTrigger(**{"table": "/d/t", **arguments})
        assert isinstance(raised.value, TypeError)

    def test_it_is_a_watcher_of_an_asset(self) -> None:
        from airflow.sdk import AssetWatcher

        asset = Asset("orders", watchers=[AssetWatcher(name="w", trigger=DeltaTableEventTrigger("s3://lake/orders"))])
        assert asset.watchers[0].trigger.serialize()[1]["on"] == "commit"

    def test_table_outside_the_allowed_locations_is_not_read(
        self, log: TableLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__ALLOWED_LOCATIONS", "/elsewhere")
        assert told(trigger(log), lambda: commit(log, 1, *append())) == []


def test_polls_go_on_after_errors_of_any_kind(log: TableLog) -> None:
    async def mend() -> None:
        await asyncio.sleep(0.3)
        commit(log, 1, *append())

    async def newest(number: int) -> list[int]:
        found: list[int] = []
        async for tick in ticks(log.location, None, 0.02):
            found.append(tick.followed.heads[-1].version)
            if len(found) == number:
                break
            log.write(f"{1:020d}.json", "[]\n")
            mending = asyncio.create_task(mend())
        await mending
        return found

    assert asyncio.run(newest(2)) == [0, 1]
