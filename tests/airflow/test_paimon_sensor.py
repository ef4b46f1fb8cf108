"""The sensor of Paimon snapshots and its trigger, on snapshots that Paimon wrote."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSensorTimeout, TaskDeferred
from airflow.serialization.serialized_objects import BaseSerialization

from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.sensors.paimon_row_tracking import PaimonRowTrackingSensor
from airflow_delta_provider.triggers.paimon_snapshot import PaimonSnapshotTrigger
from airflow_delta_provider.watch.metadata_folder import DeltaLogUnreadableError, MetadataFolder
from airflow_delta_provider.watch.paimon import NewestSnapshot, SnapshotReader
from tests.airflow.test_feature_sensor import AirflowRescheduleException, StateStore, context, without_task_state
from tests.tables.paimon.archive import table_of, unpack


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("paimon"))


class Table:
    """A table whose snapshots come one by one."""

    def __init__(self, archive: Path, root: Path) -> None:
        self.root = root
        self._whole = table_of(archive, "worked/05_delete") / "snapshot"
        (root / "snapshot").mkdir(parents=True)

    def commit(self, snapshot_id: int, **changes: Any) -> str:
        """Write a snapshot; return its uuid."""
        body = {**json.loads((self._whole / f"snapshot-{snapshot_id}").read_text()), **changes}
        (self.root / "snapshot" / f"snapshot-{snapshot_id}").write_text(json.dumps(body))
        return str(body["uuid"])

    def roll_back(self, snapshot_id: int) -> None:
        (self.root / "snapshot" / f"snapshot-{snapshot_id}").unlink()


@pytest.fixture
def table(archive: Path, tmp_path: Path) -> Table:
    found = Table(archive, tmp_path / "t")
    found.commit(1)
    found.commit(2)
    return found


def sensor(table: Table, **kwargs: Any) -> PaimonRowTrackingSensor:
    return PaimonRowTrackingSensor(**{"task_id": "wait", "table": str(table.root), **kwargs})


def deferred(waiting: PaimonRowTrackingSensor) -> PaimonSnapshotTrigger:
    with pytest.raises(TaskDeferred) as raised:
        waiting.execute(context())
    trigger = raised.value.trigger
    assert isinstance(trigger, PaimonSnapshotTrigger)
    return trigger


def event_of(waiting: PaimonSnapshotTrigger) -> dict[str, Any]:
    async def only() -> dict[str, Any]:
        [event] = [event.payload async for event in waiting.run()]
        return dict(event)

    return asyncio.run(only())


@pytest.fixture(autouse=True)
def settle_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PaimonSnapshotTrigger, "settling_time", 0.0)


def test_snapshot_that_arrives_while_it_waits_is_what_is_checked_next(table: Table) -> None:
    waiting = sensor(table, poke_interval=0.05)
    trigger = deferred(waiting)
    assert trigger.since_snapshot == 2
    uuid = table.commit(3)

    event = event_of(trigger)

    assert event["status"] == "holds"
    wanted = {"table": str(table.root), "snapshot": 3, "uuid": uuid, "since_snapshot": 2}
    assert waiting.execute_complete(context(), event) == wanted


def test_snapshot_after_the_known_one_ends_the_wait_at_once(table: Table) -> None:
    found = sensor(table, since_snapshot="1").execute(context())

    assert (found["snapshot"], found["since_snapshot"]) == (2, 1)
    assert found["uuid"] == json.loads((table.root / "snapshot/snapshot-2").read_text())["uuid"]


def test_table_that_is_not_there_yet_is_waited_for_and_then_checked_whole(archive: Path, tmp_path: Path) -> None:
    table = Table(archive, tmp_path / "new")
    trigger = deferred(sensor(table, poke_interval=0.05))
    table.commit(1)

    event = event_of(trigger)

    assert (event["snapshot"], event["since_snapshot"]) == (1, None)


@pytest.mark.parametrize("again", [{"uuid": "another"}, None])
def test_rollback_is_news_and_asks_for_a_check_of_all(table: Table, again: dict[str, Any] | None) -> None:
    trigger = deferred(sensor(table, poke_interval=0.05))
    table.roll_back(2)
    if again:
        table.commit(2, **again)

    event = event_of(trigger)

    assert (event["status"], event["since_snapshot"]) == ("holds", None)
    assert event["snapshot"] == (2 if again else 1)


def test_rollback_behind_newer_snapshots_asks_for_a_check_of_all(table: Table) -> None:
    trigger = deferred(sensor(table, poke_interval=0.05))
    table.commit(2, uuid="another")
    uuid = table.commit(3)

    event = event_of(trigger)

    assert (event["status"], event["snapshot"], event["uuid"]) == ("holds", 3, uuid)
    assert event["since_snapshot"] is None


def test_known_snapshot_that_has_expired_asks_for_a_check_of_all(table: Table) -> None:
    trigger = deferred(sensor(table, poke_interval=0.05))
    table.roll_back(2)
    table.commit(3)

    assert event_of(trigger)["since_snapshot"] is None


def test_deadline_passes_without_a_snapshot(table: Table) -> None:
    waiting = sensor(table, timeout=0.2, poke_interval=0.05)

    event = event_of(deferred(waiting))

    with pytest.raises(AirflowSensorTimeout, match=r"had no new snapshot within 0\.2 seconds"):
        waiting.execute_complete(context(), event)


def test_snapshot_that_cannot_be_read_fails_the_wait_after_five_looks(table: Table) -> None:
    trigger = deferred(sensor(table, poke_interval=0.01))
    (table.root / "snapshot" / "snapshot-3").write_text("{")

    event = event_of(trigger)

    assert (event["status"], event["retryable"]) == ("failed", True)
    with pytest.raises(DeltaLogUnreadableError, match=r"the snapshots of .* 5 times in a row.*snapshot-3"):
        sensor(table).execute_complete(context(), event)


def test_poll_of_an_unchanged_table_asks_for_two_files(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MetadataFolder(str(table.root), None, "snapshot")
    reader = SnapshotReader(storage, 2, json.loads((table.root / "snapshot/snapshot-2").read_text())["uuid"])
    first = reader.read()
    asked: list[str] = []
    for method in ("names", "read"):
        monkeypatch.setattr(storage, method, None)
    stamp = storage.stamp
    monkeypatch.setattr(storage, "stamp", lambda name: (asked.append(name), stamp(name))[1])
    assert (
        reader.read()
        == first
        == NewestSnapshot(2, json.loads((table.root / "snapshot/snapshot-2").read_text())["uuid"], True)
    )
    assert asked == ["snapshot-2", "snapshot-3"]
    monkeypatch.undo()
    table.commit(3)
    assert (reader.read().snapshot, reader.read().known) == (3, True)
    table.roll_back(3)
    assert (reader.read().snapshot, reader.read().known) == (2, True)


def test_rescheduled_process_knows_what_the_first_one_saw(table: Table) -> None:
    store = StateStore()
    with pytest.raises(AirflowRescheduleException):
        sensor(table, deferrable=False).execute(context(task_state_store=store))
    table.commit(3)

    found = sensor(table, deferrable=False).execute(context(task_state_store=store))

    assert (found["snapshot"], found["since_snapshot"]) == (3, 2)


def test_sensor_that_could_not_remember_what_it_saw_first_stays_in_its_process(table: Table) -> None:
    waiting = sensor(table, deferrable=False, timeout=20)
    waiting.poke_interval = 0.05
    threading.Timer(0.3, table.commit, [3]).start()

    found = waiting.execute(without_task_state())

    assert (found["snapshot"], found["since_snapshot"]) == (3, 2)


def test_sensor_that_was_told_the_known_snapshot_gives_the_worker_back_without_task_state(table: Table) -> None:
    with pytest.raises(AirflowRescheduleException):
        sensor(table, deferrable=False, since_snapshot=2).execute(without_task_state())


def test_serialized_trigger_is_the_same_again(table: Table) -> None:
    made = PaimonSnapshotTrigger(
        table=str(table.root),
        since_snapshot=7,
        deadline=time.time(),
        since_uuid="uuid",
        storage_conn_id="aws",
        poke_interval=7.5,
    )
    path, kwargs = made.serialize()
    sent = BaseSerialization.deserialize(BaseSerialization.serialize(kwargs))
    assert path == "airflow_delta_provider.triggers.paimon_snapshot.PaimonSnapshotTrigger"
    assert PaimonSnapshotTrigger(**sent).serialize() == (path, kwargs)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [({"table": "db.t"}, "is a catalog name"), ({"table": "/t", "since_snapshot": "new"}, "since_snapshot has to be")],
)
def test_arguments_that_make_no_sense_are_refused_at_once(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(DeltaRequestError, match=says):
        PaimonRowTrackingSensor(task_id="wait", **arguments)
