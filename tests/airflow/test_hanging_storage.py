"""Storage that does not answer: what waits for it fails in time, and nothing else waits."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from airflow_delta_provider.exceptions import DeltaProviderError
from airflow_delta_provider.sensors.feature import DeltaFeatureSensor
from airflow_delta_provider.triggers.feature import DeltaFeatureTrigger
from airflow_delta_provider.watch import table_watch
from airflow_delta_provider.watch.head_reader import ObjectStorageLog
from airflow_delta_provider.watch.table_watch import SharedPoll, TableWatch, answer_of
from tests.airflow.table_logs import RecordingFileSystem, TableLog, append, attach_store, metadata, protocol
from tests.airflow.test_feature_sensor import context, deferred

WIDENING = metadata({"delta.enableTypeWidening": "true"})


class Store(RecordingFileSystem):
    """A store that answers nothing until it is let go."""

    def __init__(self, answer: threading.Event) -> None:
        super().__init__()
        self._answer = answer
        self.questions = 0
        self.threads: set[threading.Thread] = set()

    def _ask(self) -> None:
        self.questions += 1
        self.threads.add(threading.current_thread())
        self._answer.wait()

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        self._ask()
        return super().ls(path, detail, **kwargs)

    def info(self, path: str, **kwargs: Any) -> Any:
        self._ask()
        return super().info(path, **kwargs)


@pytest.fixture
def answer() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeltaFeatureTrigger, "settling_time", 0.0)
    monkeypatch.setattr(TableWatch, "time_limit", 0.2)


def hanging_table(monkeypatch: pytest.MonkeyPatch, answer: threading.Event) -> tuple[Store, str, str]:
    """A store that hangs, the connection that leads there, and a table in it."""
    store = Store(answer)
    name = attach_store(monkeypatch, store)
    return store, name, f"memory://{name}/t"


def trigger(table: object, conn_id: str | None = None, wait: float = 30.0, poll: float = 0.05) -> DeltaFeatureTrigger:
    return DeltaFeatureTrigger(
        table=str(table),
        features=["typeWidening"],
        state="enabled",
        deadline=time.time() + wait,
        storage_conn_id=conn_id,
        poke_interval=poll,
    )


async def only_event(waiting: DeltaFeatureTrigger) -> dict[str, Any]:
    [event] = [event.payload async for event in waiting.run()]
    return dict(event)


@pytest.mark.parametrize("hanging", [6, 60])
def test_storages_that_hang_delay_no_other_sensor(
    monkeypatch: pytest.MonkeyPatch, answer: threading.Event, tmp_path: Path, hanging: int
) -> None:
    monkeypatch.setattr(TableWatch, "time_limit", 60.0)
    log = TableLog(tmp_path)
    log.commit(0, protocol(), metadata())
    stores = [hanging_table(monkeypatch, answer) for _ in range(hanging)]

    async def wait_for_one_of_all() -> tuple[dict[str, Any], float]:
        others = [asyncio.create_task(only_event(trigger(table, name))) for _, name, table in stores]
        while not all(store.questions for store, _, _ in stores):
            await asyncio.sleep(0.01)
        one = asyncio.create_task(only_event(trigger(tmp_path)))
        await asyncio.sleep(0.2)
        log.commit(1, protocol("typeWidening"), WIDENING)
        began = time.monotonic()
        event = await one
        took = time.monotonic() - began
        for other in others:
            other.cancel()
        ends = await asyncio.gather(*others, return_exceptions=True)
        assert {type(end) for end in ends} == {asyncio.CancelledError}
        return event, took

    began = time.monotonic()
    event, took = asyncio.run(wait_for_one_of_all())
    assert event["version"] == 1
    assert took < 2
    assert time.monotonic() - began < 20, "neither cancelling nor the end of the event loop waits for a thread"


def test_sensor_of_a_storage_that_hangs_fails_in_time_and_may_be_retried(
    monkeypatch: pytest.MonkeyPatch, answer: threading.Event
) -> None:
    store, name, table = hanging_table(monkeypatch, answer)
    began = time.monotonic()
    event = asyncio.run(only_event(trigger(table, name)))
    assert (event["status"], event["retryable"]) == ("failed", True)
    assert "5 times in a row" in event["error"]
    assert "did not answer within 0.2 seconds" in event["error"]
    assert 5 * 0.2 < time.monotonic() - began < 10
    assert (store.questions, len(store.threads)) == (1, 1), "a poll does not ask again what was not answered yet"


def test_retry_of_a_sensor_waits_for_the_poll_that_hangs_already(
    monkeypatch: pytest.MonkeyPatch, answer: threading.Event
) -> None:
    store, name, table = hanging_table(monkeypatch, answer)
    for _ in range(2):
        assert asyncio.run(only_event(trigger(table, name)))["retryable"]
    assert store.questions == 1
    TableLog(f"/{name}/t", RecordingFileSystem()).commit(0, protocol("typeWidening"), WIDENING)
    answer.set()
    assert asyncio.run(only_event(trigger(table, name)))["status"] == "holds"


def test_answer_that_comes_late_counts(monkeypatch: pytest.MonkeyPatch, answer: threading.Event) -> None:
    store, name, table = hanging_table(monkeypatch, answer)
    TableLog(f"/{name}/t", RecordingFileSystem()).commit(0, protocol("typeWidening"), WIDENING)
    threading.Timer(0.5, answer.set).start()
    assert asyncio.run(only_event(trigger(table, name)))["status"] == "holds"
    assert store.calls.count("ls") == 1


def test_connection_that_hangs_delays_no_other_sensor(
    monkeypatch: pytest.MonkeyPatch, answer: threading.Event, tmp_path: Path
) -> None:
    """Before Python 3.12 a cached property is made by one thread at a time, Airflow's filesystems among them."""

    def get_fs(scheme: str, conn_id: str | None = None, *_: Any) -> Any:
        if conn_id == "hangs":
            answer.wait()
        return real(scheme, conn_id)

    from airflow.sdk import io
    from airflow.sdk.io import store as stores

    real = io.get_fs
    monkeypatch.setattr(io, "get_fs", get_fs)
    monkeypatch.setattr(stores, "_STORE_CACHE", {})
    monkeypatch.setenv("AIRFLOW_CONN_HANGS", '{"conn_type": "generic"}')
    TableLog(tmp_path).commit(0, protocol("typeWidening"), WIDENING)

    async def both() -> dict[str, Any]:
        other = asyncio.create_task(only_event(trigger(tmp_path / "other", "hangs")))
        await asyncio.sleep(0.1)
        event = await asyncio.wait_for(only_event(trigger(tmp_path)), 10)
        other.cancel()
        return event

    assert asyncio.run(both())["status"] == "holds"


def test_first_poll_on_the_worker_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch, answer: threading.Event) -> None:
    _, name, table = hanging_table(monkeypatch, answer)
    waiting = DeltaFeatureSensor(task_id="wait", table=table, features="typeWidening", storage_conn_id=name)
    began = time.monotonic()
    deferred(waiting)
    assert time.monotonic() - began < 5


def test_poke_on_the_worker_fails_in_time(monkeypatch: pytest.MonkeyPatch, answer: threading.Event) -> None:
    _, name, table = hanging_table(monkeypatch, answer)
    waiting = DeltaFeatureSensor(
        task_id="wait",
        table=table,
        features="typeWidening",
        storage_conn_id=name,
        deferrable=False,
        mode="poke",
        poke_interval=0.01,
    )
    with pytest.raises(DeltaProviderError, match=r"5 times in a row.*did not answer"):
        waiting.execute(context())


def test_process_ends_while_a_poll_hangs() -> None:
    program = """
        import asyncio, threading, time
        from airflow_delta_provider.watch.table_watch import SharedPoll

        async def poll():
            SharedPoll(lambda: threading.Event().wait).begin(time.monotonic())
            await asyncio.sleep(0.2)

        asyncio.run(poll())
        SharedPoll(lambda: threading.Event().wait).begin(time.monotonic())
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], timeout=60, check=False)
    assert ended.returncode == 0


def test_sensors_of_one_table_share_each_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordingFileSystem()
    name = attach_store(monkeypatch, store)
    log = TableLog(f"/{name}/t", store)
    log.commit(0, protocol(), metadata())
    store.calls.clear()
    store.asked.clear()

    async def wait_together() -> list[dict[str, Any]]:
        triggers = [trigger(f"memory://{name}/t", name, poll=0.3) for _ in range(20)]
        waiting = [asyncio.create_task(only_event(one)) for one in triggers]
        await asyncio.sleep(1.35)
        assert store.calls.count("ls") == 1
        assert 2 * 3 <= len(store.asked) <= 2 * 5 + 1, store.asked
        log.commit(1, protocol("typeWidening"), WIDENING)
        return await asyncio.gather(*waiting)

    events = asyncio.run(wait_together())
    assert [event["version"] for event in events] == [1] * 20
    assert (store.calls.count("ls"), store.calls.count("1.json")) == (1, 1)


def test_sensors_with_other_connections_share_nothing(monkeypatch: pytest.MonkeyPatch, answer: threading.Event) -> None:
    _, name, table = hanging_table(monkeypatch, answer)
    other = attach_store(monkeypatch, RecordingFileSystem())
    TableLog(f"/{name}/t", RecordingFileSystem()).commit(0, protocol("typeWidening"), WIDENING)

    async def both() -> dict[str, Any]:
        hanging = asyncio.create_task(only_event(trigger(table, name)))
        await asyncio.sleep(0.1)
        event = await only_event(trigger(table, other))
        hanging.cancel()
        return event

    assert asyncio.run(both())["status"] == "holds"


class TestSharedPoll:
    def test_poll_that_began_in_time_does_for_all(self) -> None:
        polls = SharedPoll(lambda: lambda: object())
        first = polls.begin(time.monotonic())
        began = time.monotonic()
        assert polls.begin(began - 60).result(5) is first.result(5)
        assert polls.begin(time.monotonic()).result(5) is not first.result(5)

    def test_failure_is_everybodys_and_the_next_poll_is_another(self) -> None:
        answers = iter([OSError("away"), "seen"])

        def read() -> str:
            found = next(answers)
            if isinstance(found, OSError):
                raise found
            return found

        polls = SharedPoll(lambda: read)
        since = time.monotonic()
        with pytest.raises(OSError, match="away"):
            polls.begin(since).result(5)
        with pytest.raises(OSError, match="away"):
            polls.begin(since).result(5)
        assert polls.begin(time.monotonic()).result(5) == "seen"

    def test_poll_that_hangs_for_long_is_given_up_for_one_with_another_reader_later_and_later(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_watch, "GIVEN_UP_AFTER", 0.1)
        made = []
        blocked = threading.Event()

        def new_reader() -> Any:
            made.append(len(made))
            return (lambda number: lambda: blocked.wait() and number)(made[-1])

        polls = SharedPoll(new_reader)
        hanging = {id(polls.begin(time.monotonic()))}
        began = time.monotonic()
        while time.monotonic() - began < 1.0:
            hanging.add(id(polls.begin(time.monotonic())))
            time.sleep(0.01)
        assert 3 <= len(hanging) <= 4
        blocked.set()
        assert polls.begin(0.0).result(5) == made[-1]

    def test_cancelling_one_who_waits_cancels_no_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(table_watch, "run_in_thread", lambda poll: threading.Timer(0.1, poll).start())

        async def wait_together() -> str:
            polls = SharedPoll(lambda: lambda: "seen")
            first = asyncio.wrap_future(polls.begin(time.monotonic()))
            second = asyncio.wrap_future(polls.begin(0.0))
            first.cancel()
            return await second

        assert asyncio.run(wait_together()) == "seen"

    def test_thread_finds_the_event_loop_it_belongs_to(self) -> None:
        """Airflow 3.1 asks for connections through asgiref, in the loop of the triggerer."""

        async def running() -> object:
            return asyncio.get_running_loop()

        async def poll() -> bool:
            found = SharedPoll(lambda: async_to_sync(running)).begin(time.monotonic())
            return await asyncio.wrap_future(found) is asyncio.get_running_loop()

        assert asyncio.run(poll())


def test_spellings_of_one_table_are_one() -> None:
    assert ObjectStorageLog("s3a://b/t", "aws").key == ObjectStorageLog("s3://b//t/", "aws").key
    assert ObjectStorageLog("s3a://b/t", "aws").key != ObjectStorageLog("s3a://b/t", "other").key


def test_table_that_changes_at_every_poll_is_not_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordingFileSystem()
    name = attach_store(monkeypatch, store)
    log = TableLog(f"/{name}/t", store)
    log.commit(0, protocol(), metadata())

    async def someone_writes() -> dict[str, Any]:
        waiting = asyncio.create_task(only_event(trigger(f"memory://{name}/t", name)))
        for version in range(1, 10):
            await asyncio.sleep(0.05)
            log.commit(version, append())
        log.commit(10, WIDENING, protocol("typeWidening"))
        return await waiting

    assert asyncio.run(someone_writes())["version"] == 10
    assert store.calls.count("ls") == 1


@pytest.mark.parametrize("moment", range(6))
def test_cancellation_in_the_moment_of_the_answer_is_not_lost(moment: int) -> None:
    async def cancelled() -> bool:
        poll: Future[int] = Future()
        poll.set_running_or_notify_cancel()
        waiting = asyncio.create_task(answer_of(poll, 60))
        await asyncio.sleep(0)
        poll.set_result(1)
        for _ in range(moment):
            await asyncio.sleep(0)
        took = waiting.cancel()
        await asyncio.wait([waiting])
        return waiting.cancelled() is took

    assert asyncio.run(cancelled())
