"""The sensor: arguments, the first poll, the hand-over to its trigger, and what comes back."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.providers.common.compat.sdk import (
    DAG,
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    Context,
    TaskDeferred,
)

from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.sensors.feature import DeltaFeatureSensor
from airflow_delta_provider.triggers.feature import DeltaFeatureTrigger
from airflow_delta_provider.watch.metadata_folder import DeltaLogUnreadableError, DeltaWatchImpossibleError
from tests.airflow.table_logs import (
    REAL_TABLES,
    RecordingFileSystem,
    TableLog,
    append,
    attach_store,
    metadata,
    protocol,
)

try:
    from airflow.sdk.exceptions import AirflowRescheduleException
except ImportError:  # Airflow 3.1
    from airflow.exceptions import AirflowRescheduleException

WIDENING = metadata({"delta.enableTypeWidening": "true"})


class TaskInstance:
    """What the base class asks a task instance for in reschedule mode."""

    def __init__(self, first_reschedule: datetime | None = None) -> None:
        self._first_reschedule = first_reschedule

    def get_first_reschedule_date(self, context: Context) -> datetime | None:
        return self._first_reschedule


class StateStore(dict[str, Any]):
    """A task's state store: a mapping with ``set``."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


def context(**rest: Any) -> Context:
    return cast(Context, {"ti": TaskInstance(), "task_state_store": StateStore(), **rest})


def without_task_state() -> Context:
    """What a task of Airflow before 3.3 gets."""
    return cast(Context, {"ti": TaskInstance()})


def sensor(table: object, **kwargs: Any) -> DeltaFeatureSensor:
    kwargs = {"task_id": "wait", "features": "typeWidening", "state": "enabled", **kwargs}
    return DeltaFeatureSensor(table=str(table), **kwargs)


def deferred(waiting: DeltaFeatureSensor) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as raised:
        waiting.execute(context())
    return raised.value


@pytest.fixture
def plain_table(tmp_path: Path) -> TableLog:
    """A table without any feature."""
    log = TableLog(tmp_path / "t")
    log.commit(0, protocol(), metadata())
    return log


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "remedy"),
        [
            ({"table": "main.sales.orders"}, "location"),
            ({"table": "orders"}, "location"),
            ({"table": "data/orders"}, "absolute path"),
            ({"table": ""}, "does not name a table"),
            ({"features": "typeWidenning"}, "Did you mean 'typeWidening'"),
            ({"features": ["rowTracking", "delettionVectors"]}, "Did you mean 'deletionVectors'"),
            ({"features": ["{{ params.f }}", "rowTraking"]}, "Did you mean 'rowTracking'"),
            ({"features": []}, "features is empty"),
            ({"features": ["rowTracking", "ROWTRACKING"]}, "more than once"),
            ({"features": ["rowTracking", ""]}, "not the name of a table feature"),
            ({"features": "catalogManaged"}, "catalog"),
            ({"state": "enable"}, "Did you mean 'enabled'"),
        ],
    )
    def test_literal_mistake_is_refused_at_construction(self, arguments: dict[str, Any], remedy: str) -> None:
        with pytest.raises(DeltaRequestError, match=remedy):
            DeltaFeatureSensor(task_id="wait", **{"table": "/d/t", "features": "typeWidening", **arguments})

    @pytest.mark.parametrize(
        ("arguments", "remedy"),
        [
            ({"table": "{{ params.table }}"}, "location"),
            ({"features": "{{ params.feature }}"}, "Did you mean 'typeWidening'"),
            ({"features": ["{{ params.feature }}"]}, "Did you mean 'typeWidening'"),
        ],
    )
    def test_templated_mistake_is_refused_when_rendered(self, arguments: dict[str, Any], remedy: str) -> None:
        waiting = DeltaFeatureSensor(task_id="wait", **{"table": "/d/t", "features": "typeWidening", **arguments})
        rendered = context(params={"table": "main.orders", "feature": "typeWidenin"})
        waiting.render_template_fields(rendered)
        with pytest.raises(DeltaRequestError, match=remedy):
            waiting.execute(rendered)

    def test_rendered_arguments_are_used(self, tmp_path: Path) -> None:
        TableLog(tmp_path / "orders").commit(0, protocol("typeWidening", "domainMetadata"), WIDENING)
        waiting = sensor(
            f"{tmp_path}/{{{{ params.name }}}}",
            features="{{ params.features }}",
            storage_conn_id="{{ params.none or '' }}",
        )
        rendered = context(params={"name": "orders", "features": ["TypeWidening", "domainMetadata"], "none": None})
        waiting.render_template_fields(rendered)
        assert waiting.execute(rendered) == {
            "table": f"{tmp_path}/orders",
            "version": 0,
            "features": {"typeWidening": "enabled", "domainMetadata": "enabled"},
        }

    def test_it_can_be_mapped_and_put_in_a_dag(self) -> None:
        with DAG("d", schedule=None):
            mapped = DeltaFeatureSensor.partial(task_id="mapped", features="rowTracking").expand(table=["/a", "/b"])
            single = sensor("/a")
        assert mapped.task_id == "mapped"
        assert single.mode == "poke"

    @pytest.mark.parametrize(
        ("arguments", "mode"),
        [({}, "poke"), ({"deferrable": False}, "reschedule"), ({"deferrable": False, "mode": "poke"}, "poke")],
    )
    def test_mode_is_reschedule_where_it_cannot_be_deferred(self, arguments: dict[str, Any], mode: str) -> None:
        assert sensor("/t", **arguments).mode == mode


class TestAllowedLocations:
    @pytest.mark.parametrize("table", ["s3a://other/t", "/lake/../etc/t", "/lakehouse/t"])
    def test_table_outside_is_refused_before_storage_is_touched(
        self, monkeypatch: pytest.MonkeyPatch, table: str
    ) -> None:
        monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__ALLOWED_LOCATIONS", "s3://ours/, /lake")
        with pytest.raises(DeltaRequestError, match="allowed_locations") as raised:
            sensor(table).execute(context())
        assert isinstance(raised.value, AirflowFailException)

    def test_table_inside_is_read(self, monkeypatch: pytest.MonkeyPatch, plain_table: TableLog) -> None:
        allowed = Path(plain_table.location).parent
        monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__ALLOWED_LOCATIONS", f"s3://ours,{allowed}")
        assert sensor(f"file://{plain_table.location}", state="absent").execute(context())["version"] == 0


class TestDeferrable:
    @pytest.mark.parametrize("state", ["supported", "enabled"])
    def test_state_that_holds_already_succeeds_without_deferring(self, state: str) -> None:
        table = REAL_TABLES / "checksums"
        assert sensor(table, state=state, features=["rowTracking"]).execute(context()) == {
            "table": str(table),
            "version": 3,
            "features": {"rowTracking": "enabled"},
        }

    def test_supported_is_not_enabled(self, tmp_path: Path) -> None:
        TableLog(tmp_path).commit(0, protocol("typeWidening"), metadata())
        assert sensor(tmp_path, state="supported").execute(context())["features"] == {"typeWidening": "supported"}
        deferred(sensor(tmp_path, state="enabled"))
        deferred(sensor(tmp_path, state="absent"))

    def test_every_feature_has_to_reach_the_state(self, tmp_path: Path) -> None:
        TableLog(tmp_path).commit(0, protocol("typeWidening"), WIDENING)
        deferred(sensor(tmp_path, features=["typeWidening", "rowTracking"]))
        deferred(sensor(tmp_path, features=["typeWidening", "rowTracking"], state="absent"))

    def test_suspended_row_tracking_is_supported_and_not_enabled(self, tmp_path: Path) -> None:
        suspended = metadata({"delta.enableRowTracking": "true", "delta.rowTrackingSuspended": "true"})
        TableLog(tmp_path).commit(0, protocol("rowTracking", "domainMetadata"), suspended)
        seen = sensor(tmp_path, features="rowTracking", state="supported").execute(context())
        assert seen["features"] == {"rowTracking": "suspended"}
        deferred(sensor(tmp_path, features="rowTracking", state="enabled"))

    def test_trigger_gets_the_arguments_and_an_absolute_deadline(self, plain_table: TableLog) -> None:
        started = time.time()
        waiting = sensor(plain_table.location, timeout=600, poke_interval=timedelta(seconds=7), features="TYPEWIDENING")
        handed = deferred(waiting)
        assert isinstance(handed.trigger, DeltaFeatureTrigger)
        _, kwargs = handed.trigger.serialize()
        assert started + 600 <= kwargs.pop("deadline") <= time.time() + 600
        assert kwargs == {
            "table": plain_table.location,
            "features": ["typeWidening"],
            "state": "enabled",
            "storage_conn_id": None,
            "poke_interval": 7.0,
        }
        assert handed.method_name == "execute_complete"
        assert handed.timeout is not None
        assert handed.timeout > timedelta(seconds=600)

    def test_whole_way_from_deferral_to_xcom(self, plain_table: TableLog, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(DeltaFeatureTrigger, "settling_time", 0.0)
        waiting = sensor(plain_table.location, poke_interval=0.02)
        handed = deferred(waiting)
        plain_table.commit(1, protocol("typeWidening"), WIDENING)

        async def first_event() -> dict[str, Any]:
            async for event in cast(DeltaFeatureTrigger, handed.trigger).run():
                return dict(event.payload)
            raise AssertionError

        event = asyncio.run(first_event())
        seen = waiting.resume_execution(handed.method_name, {"event": event}, context())
        assert seen == {"table": plain_table.location, "version": 1, "features": {"typeWidening": "enabled"}}

    def test_table_that_does_not_exist_yet_is_waited_for(self, tmp_path: Path) -> None:
        deferred(sensor(tmp_path / "later"))
        deferred(sensor(tmp_path / "later", state="absent"))

    def test_connection_that_does_not_exist_fails_at_the_first_poll(self, tmp_path: Path) -> None:
        with pytest.raises(DeltaLogUnreadableError, match="'nowhere' does not exist"):
            sensor(tmp_path, storage_conn_id="nowhere").execute(context())

    def test_storage_error_of_the_first_poll_is_left_to_the_trigger(self, monkeypatch: pytest.MonkeyPatch) -> None:
        filesystem = RecordingFileSystem()
        name = attach_store(monkeypatch, filesystem)
        filesystem.failures = 1
        handed = deferred(sensor(f"memory://{name}/t", storage_conn_id=name))
        assert cast(DeltaFeatureTrigger, handed.trigger).storage_conn_id == name

    def test_catalog_managed_table_fails_at_the_first_poll(self, tmp_path: Path) -> None:
        TableLog(tmp_path).commit(0, protocol("catalogManaged"), metadata())
        with pytest.raises(AirflowFailException, match="managed by a catalog"):
            sensor(tmp_path).execute(context())

    def test_timeout_of_zero_looks_once(self, plain_table: TableLog) -> None:
        with pytest.raises(AirflowSensorTimeout, match="typeWidening did not become enabled"):
            sensor(plain_table.location, timeout=0).execute(context())
        with pytest.raises(AirflowSkipException):
            sensor(plain_table.location, timeout=0, soft_fail=True).execute(context())

    def test_refusal_of_the_first_poll_is_a_skip_with_soft_fail(self, tmp_path: Path) -> None:
        TableLog(tmp_path).commit(0, protocol("catalogManaged"), metadata())
        with pytest.raises(AirflowSkipException, match="managed by a catalog"):
            sensor(tmp_path, soft_fail=True).execute(context())


class TestWhatTheTriggerSays:
    TIMED_OUT = ({"status": "timed_out"}, AirflowSensorTimeout)
    UNREADABLE = ({"status": "failed", "error": "no bytes", "retryable": True}, DeltaLogUnreadableError)
    IMPOSSIBLE = ({"status": "failed", "error": "no pyarrow", "retryable": False}, DeltaWatchImpossibleError)

    @pytest.mark.parametrize(("event", "error"), [TIMED_OUT, UNREADABLE, IMPOSSIBLE])
    def test_bad_end_is_raised(self, event: dict[str, Any], error: type[Exception]) -> None:
        with pytest.raises(error, match=event.get("error", "within 60 seconds")):
            sensor("/t", timeout=60).resume_execution("execute_complete", {"event": event}, context())

    @pytest.mark.parametrize(("event", "error"), [TIMED_OUT, UNREADABLE, IMPOSSIBLE])
    @pytest.mark.parametrize("policy", ["soft_fail", "never_fail"])
    def test_bad_end_is_a_skip_where_the_sensor_may_not_fail(
        self, event: dict[str, Any], error: type[Exception], policy: str
    ) -> None:
        with pytest.raises(AirflowSkipException):
            sensor("/t", **{policy: True}).resume_execution("execute_complete", {"event": event}, context())

    def test_only_what_a_retry_may_mend_is_retried(self) -> None:
        assert issubclass(DeltaLogUnreadableError, AirflowException)
        assert not issubclass(DeltaLogUnreadableError, AirflowFailException)
        assert issubclass(DeltaWatchImpossibleError, AirflowFailException)

    def test_deferral_that_airflow_ends_is_a_timeout(self) -> None:
        with pytest.raises(AirflowSensorTimeout):
            sensor("/t").resume_execution("__fail__", {"error": "Trigger timeout"}, context())


class TestNotDeferrable:
    def test_reschedule_gives_the_worker_back_until_the_state_holds(self, plain_table: TableLog) -> None:
        with pytest.raises(AirflowRescheduleException):
            sensor(plain_table.location, deferrable=False).execute(context())
        plain_table.commit(1, protocol("typeWidening"), WIDENING)
        seen = sensor(plain_table.location, deferrable=False).execute(context())
        assert seen["version"] == 1

    def test_reschedule_does_not_come_back_before_its_worker_has_ended(self, plain_table: TableLog) -> None:
        with pytest.raises(AirflowRescheduleException) as raised:
            sensor(plain_table.location, deferrable=False, poke_interval=1).execute(context())
        assert raised.value.reschedule_date > datetime.now(timezone.utc) + timedelta(seconds=9)

    def test_poke_mode_polls_in_the_worker(self, plain_table: TableLog) -> None:
        waiting = sensor(plain_table.location, deferrable=False, mode="poke", poke_interval=0.01, timeout=0.05)
        with pytest.raises(AirflowSensorTimeout):
            waiting.execute(context())

    def test_reschedule_times_out_from_the_first_start(self, plain_table: TableLog) -> None:
        earlier = TaskInstance(datetime.now(timezone.utc) - timedelta(seconds=61))
        with pytest.raises(AirflowSensorTimeout):
            sensor(plain_table.location, deferrable=False, timeout=60).execute(context(ti=earlier))

    def test_reschedule_counts_failures_over_its_processes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        filesystem = RecordingFileSystem()
        name = attach_store(monkeypatch, filesystem)
        shared = context()

        def one_process() -> None:
            sensor(f"memory://{name}/t", storage_conn_id=name, deferrable=False).execute(shared)

        for failures in (4, 0, 4):
            filesystem.failures = failures
            for _ in range(max(failures, 1)):
                with pytest.raises(AirflowRescheduleException):
                    one_process()
        filesystem.failures = 1
        with pytest.raises(DeltaLogUnreadableError, match="5 times in a row"):
            one_process()
        filesystem.failures = 1
        with pytest.raises(AirflowRescheduleException):
            one_process()

    @pytest.mark.parametrize("failures", [0, 4])
    def test_reschedule_without_task_state_sees_failures_out_before_it_gives_the_worker_back(
        self, monkeypatch: pytest.MonkeyPatch, failures: int
    ) -> None:
        monkeypatch.setattr(DeltaFeatureSensor, "longest_pause", 0.01)
        filesystem = RecordingFileSystem()
        name = attach_store(monkeypatch, filesystem)
        filesystem.failures = failures
        with pytest.raises(AirflowRescheduleException):
            sensor(f"memory://{name}/t", storage_conn_id=name, deferrable=False).execute(without_task_state())
        assert filesystem.calls == ["ls"] * (failures + 1)

    def test_reschedule_without_task_state_fails_after_five_looks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(DeltaFeatureSensor, "longest_pause", 0.01)
        filesystem = RecordingFileSystem()
        name = attach_store(monkeypatch, filesystem)
        filesystem.failures = 1000
        with pytest.raises(DeltaLogUnreadableError, match="5 times in a row"):
            sensor(f"memory://{name}/t", storage_conn_id=name, deferrable=False).execute(without_task_state())
        assert filesystem.failures == 995

    def test_append_in_between_does_not_matter(self, plain_table: TableLog) -> None:
        plain_table.commit(1, append())
        with pytest.raises(AirflowRescheduleException):
            sensor(plain_table.location, deferrable=False).execute(context())
