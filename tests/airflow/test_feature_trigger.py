"""The trigger on real logs, in a real event loop."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from airflow.serialization.serialized_objects import BaseSerialization

from airflow_delta_provider.triggers.feature import DeltaFeatureTrigger
from tests.airflow.table_logs import (
    REAL_TABLES,
    RecordingFileSystem,
    TableLog,
    append,
    attach_store,
    metadata,
    protocol,
)

WIDENING = metadata({"delta.enableTypeWidening": "true"})


@pytest.fixture(autouse=True)
def settle_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeltaFeatureTrigger, "settling_time", 0.0)


def trigger(table: object, state: str = "enabled", wait: float = 20.0, **kwargs: Any) -> DeltaFeatureTrigger:
    kwargs = {"features": ["typeWidening"], "poke_interval": 0.05, **kwargs}
    return DeltaFeatureTrigger(table=str(table), state=state, deadline=time.time() + wait, **kwargs)


async def only_event(waiting: DeltaFeatureTrigger) -> dict[str, Any]:
    events = [event.payload async for event in waiting.run()]
    assert len(events) == 1
    return dict(events[0])


async def event_during(waiting: DeltaFeatureTrigger, what: Awaitable[None]) -> dict[str, Any]:
    event, _ = await asyncio.gather(only_event(waiting), what)
    return event


def run(waiting: DeltaFeatureTrigger) -> dict[str, Any]:
    return asyncio.run(only_event(waiting))


def test_serialize_round_trip_gives_the_same_trigger() -> None:
    made = trigger("s3://b/t", storage_conn_id="aws", poke_interval=7.5)
    path, kwargs = made.serialize()
    assert path == "airflow_delta_provider.triggers.feature.DeltaFeatureTrigger"
    sent = BaseSerialization.deserialize(BaseSerialization.serialize(kwargs))
    again = DeltaFeatureTrigger(**sent)
    assert again.serialize() == (path, kwargs)
    names = set(DeltaFeatureTrigger.__init__.__code__.co_varnames[1 : 1 + len(kwargs)])
    assert names == set(kwargs)


@pytest.mark.parametrize("table", ["checksums", "v2_parquet_checkpoint"])
def test_real_table_in_the_wanted_state_fires(table: str) -> None:
    event = run(trigger(REAL_TABLES / table, features=["typeWidening", "rowTracking"]))
    assert event["status"] == "holds"
    assert event["features"] == {"typeWidening": "enabled", "rowTracking": "enabled"}


def test_commit_that_arrives_while_it_waits_fires(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol(), metadata())

    async def someone_enables_it() -> None:
        await asyncio.sleep(0.15)
        log.commit(1, append())
        await asyncio.sleep(0.15)
        log.commit(2, protocol("typeWidening"))
        await asyncio.sleep(0.15)
        log.commit(3, WIDENING)

    event = asyncio.run(event_during(trigger(tmp_path), someone_enables_it()))
    assert event == {
        "status": "holds",
        "table": str(tmp_path),
        "version": 3,
        "features": {"typeWidening": "enabled"},
    }


def test_table_that_is_made_while_it_waits_fires(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = TableLog(tmp_path / "t")

    async def someone_makes_it() -> None:
        await asyncio.sleep(0.2)
        log.commit(0, protocol("typeWidening"), WIDENING)

    with caplog.at_level(logging.INFO):
        event = asyncio.run(event_during(trigger(tmp_path / "t"), someone_makes_it()))
    assert event["status"] == "holds"
    assert caplog.text.count("There is no Delta table") == 1


def test_feature_that_is_dropped_while_it_waits_fires_absent(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol("typeWidening"), WIDENING)

    async def someone_drops_it() -> None:
        await asyncio.sleep(0.15)
        log.commit(1, protocol(), metadata())

    event = asyncio.run(event_during(trigger(tmp_path, state="absent"), someone_drops_it()))
    assert (event["version"], event["features"]) == (1, {"typeWidening": "absent"})


def test_object_storage_is_read_in_a_thread_through_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()

    class Store(RecordingFileSystem):
        def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
            threads.add(threading.current_thread())
            return super().ls(path, detail, **kwargs)

    name = attach_store(monkeypatch, Store())
    TableLog(f"/{name}/t", Store()).commit(0, protocol("typeWidening"), WIDENING)
    event = run(trigger(f"memory://{name}/t", storage_conn_id=name))
    assert event["status"] == "holds"
    assert threads
    assert threading.main_thread() not in threads


def test_deadline_ends_the_wait(tmp_path: Path) -> None:
    TableLog(tmp_path).commit(0, protocol(), metadata())
    started = time.monotonic()
    assert run(trigger(tmp_path, wait=0.3, poke_interval=60.0))["status"] == "timed_out"
    assert 0.25 < time.monotonic() - started < 5


def test_deadline_outlives_a_restart_of_the_triggerer(tmp_path: Path) -> None:
    TableLog(tmp_path).commit(0, protocol(), metadata())
    _, kwargs = trigger(tmp_path, wait=2).serialize()
    time.sleep(2)
    started = time.monotonic()
    assert run(DeltaFeatureTrigger(**kwargs))["status"] == "timed_out"
    assert time.monotonic() - started < 1.5  # it would be two seconds if the wait began again


def test_first_look_comes_after_a_sleep_even_past_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeltaFeatureTrigger, "settling_time", 0.3)
    TableLog(tmp_path).commit(0, protocol("typeWidening"), WIDENING)
    started = time.monotonic()
    assert run(trigger(tmp_path, wait=-1))["status"] == "holds"
    assert time.monotonic() - started >= 0.3


def failing_store(monkeypatch: pytest.MonkeyPatch, failures: int) -> tuple[RecordingFileSystem, str, str]:
    filesystem = RecordingFileSystem()
    name = attach_store(monkeypatch, filesystem)
    TableLog(f"/{name}/t", filesystem).commit(0, protocol("typeWidening"), WIDENING)
    filesystem.failures = failures
    return filesystem, name, f"memory://{name}/t"


def test_storage_that_fails_four_times_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _, name, table = failing_store(monkeypatch, 4)
    with caplog.at_level(logging.WARNING):
        event = run(trigger(table, storage_conn_id=name))
    assert event["status"] == "holds"
    assert caplog.text.count("trying again at the next poll") == 4


def test_storage_that_fails_five_times_in_a_row_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem, name, table = failing_store(monkeypatch, 1000)
    event = run(trigger(table, storage_conn_id=name))
    assert (event["status"], event["retryable"]) == ("failed", True)
    assert "5 times in a row" in event["error"]
    assert "OSError: the store is away" in event["error"]
    assert filesystem.failures == 995


def test_truncated_commit_that_is_mended_does_not_end_the_wait(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol(), metadata())
    log.write(f"{1:020d}.json", '{"protocol":{"minRea')

    async def the_writer_goes_on() -> None:
        await asyncio.sleep(0.12)
        log.commit(1, protocol("typeWidening"), WIDENING)

    assert asyncio.run(event_during(trigger(tmp_path), the_writer_goes_on()))["version"] == 1


def test_truncated_commit_that_stays_so_ends_the_wait(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol(), metadata())
    log.write(f"{1:020d}.json", '{"protocol":{"minRea')
    event = run(trigger(tmp_path, poke_interval=0.01))
    assert (event["status"], event["retryable"]) == ("failed", True)
    assert "00000000000000000001.json" in event["error"]
    assert "truncated" in event["error"]


def test_gap_in_the_log_ends_the_wait(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol(), metadata())
    log.commit(2, append())
    assert "00000000000000000001.json" in run(trigger(tmp_path, poke_interval=0.01))["error"]


@pytest.mark.parametrize("feature", ["catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview"])
def test_catalog_managed_table_ends_the_wait(tmp_path: Path, feature: str) -> None:
    TableLog(tmp_path).commit(0, protocol("typeWidening", feature), WIDENING)
    event = run(trigger(tmp_path))
    assert (event["status"], event["retryable"]) == ("failed", False)
    assert feature in event["error"]


def test_missing_pyarrow_ends_the_wait_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    event = run(trigger(REAL_TABLES / "classic_checkpoint"))
    assert (event["status"], event["retryable"]) == ("failed", False)
    assert "airflow-delta-provider[sensor]" in event["error"]
