"""Sensors that submit a job for each new version: when they do, what they wait for, and what reaches spark-submit."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.providers.common.compat.sdk import (
    DAG,
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)
from airflow.serialization.serialized_objects import BaseSerialization

from airflow_delta_provider.domain.report.pages import REPORT_KEY, TABLES_KEY
from airflow_delta_provider.exceptions import (
    DeltaFaultError,
    DeltaJobError,
    DeltaRequestError,
    DeltaRetryableError,
)
from airflow_delta_provider.links.report import DeltaReportLink
from airflow_delta_provider.sensors.health import DeltaProtocolHealthSensor
from airflow_delta_provider.sensors.job_sensor import JobSensor
from airflow_delta_provider.sensors.row_tracking import DeltaRowTrackingSensor
from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.metadata_folder import UnhealthyTableError
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.table_logs import REAL_TABLES, TableLog, append, metadata, protocol
from tests.airflow.test_change_sensors import event_of
from tests.airflow.test_feature_sensor import AirflowRescheduleException, StateStore

__all__ = ["spark_submit"]

#: The verdicts of the fake jobs: violated at version 0, passed at any later one.
AFTER_VERSION_0 = (
    "import glob\n"
    "newest = len(glob.glob(request['tables'][0] + '/_delta_log/*.json')) - 1\n"
    "table = TableReport(request['tables'][0], Verdict.PASS if newest else Verdict.VIOLATED, version=newest)\n"
    "document = JobReport(request['kind'], '2026-01-01T00:00:00+00:00', '2026-01-01T00:00:01+00:00', (table,), {})\n"
    "send('report', document.to_json())"
)


@pytest.fixture(autouse=True)
def _no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableTrigger, "settling_time", 0.0)


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    table = TableLog(tmp_path / "t")
    table.commit(0, protocol(), metadata())
    return table


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of reports."""
    monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__REPORT_PATH", str(tmp_path / "reports"))
    return tmp_path / "reports"


def context(store: StateStore | None = None, try_number: int = 1, **instance: Any) -> Any:
    names = {"dag_id": "d", "run_id": "r", "task_id": "t", "map_index": -1, "try_number": try_number}
    instance = {"xcom_push": lambda key, value: None, **instance}
    first: dict[str, Any] = {"get_first_reschedule_date": lambda context: None}
    return {"ti": SimpleNamespace(**names, **first, **instance), "task_state_store": store}


def tracking(table: object, **arguments: Any) -> DeltaRowTrackingSensor:
    arguments = {"poke_interval": 0.02, "delta_jars": "provided", **arguments}
    return DeltaRowTrackingSensor(task_id="t", table=str(getattr(table, "location", table)), **arguments)


def health(table: object, **arguments: Any) -> DeltaProtocolHealthSensor:
    arguments = {"poke_interval": 0.02, "delta_jars": "provided", "engine": "spark", **arguments}
    return DeltaProtocolHealthSensor(task_id="t", table=str(getattr(table, "location", table)), **arguments)


def stored(value: Any) -> Any:
    return BaseSerialization.deserialize(BaseSerialization.serialize(value))


def through_triggerer(
    start: Callable[[], Any], new: Callable[[], JobSensor], happens: Callable[[], None] = lambda: None
) -> Any:
    """Defer as ``start`` does, let it happen, and resume in a new process: a sensor that knows only what was stored."""
    with pytest.raises(TaskDeferred) as raised:
        start()
    trigger = raised.value.trigger
    made = cast(TableTrigger, type(trigger)(**stored(trigger.serialize()[1])))

    async def soon() -> None:
        await asyncio.sleep(0.1)
        happens()

    event = asyncio.run(event_of(made, soon()))
    assert raised.value.method_name == "execute_complete"
    return new().execute_complete(context(), stored(event), **stored(raised.value.kwargs))


def test_version_that_passes_ends_the_wait_with_one_job(log: TableLog, spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does("report()")
    assert tracking(log).execute(context())["verdict"] == "PASS"
    assert len(spark_submit.calls) == 1


def test_violation_fails_or_waits_for_a_later_version_that_gets_a_job_of_its_own(
    log: TableLog, spark_submit: FakeSparkSubmit
) -> None:
    spark_submit.does(AFTER_VERSION_0)
    with pytest.raises(UnhealthyTableError, match="at version 0: VIOLATED") as raised:
        tracking(log).execute(context())
    assert isinstance(raised.value, AirflowFailException)
    waiting = lambda: tracking(log, on_violation="wait")  # noqa: E731
    seen = through_triggerer(lambda: waiting().execute(context()), waiting, lambda: log.commit(1, append()))
    assert seen == {"table": log.location, "version": 1, "verdict": "PASS", "codes": []}
    assert len(spark_submit.calls) == 3


@pytest.mark.parametrize(
    ("outcome", "ends"), [("PASS", None), ("VIOLATED", UnhealthyTableError), ("FAULT", DeltaFaultError)]
)
def test_whole_report_of_a_job_is_kept_and_pushed_whatever_the_outcome(
    log: TableLog, spark_submit: FakeSparkSubmit, reports: Path, outcome: str, ends: type[Exception] | None
) -> None:
    spark_submit.does(f"report({outcome!r})")
    pushed: dict[str, Any] = {}
    checking = tracking(log)
    with nullcontext() if ends is None else pytest.raises(ends):
        checking.execute(context(xcom_push=lambda key, value: pushed.update({key: value})))
    assert pushed.keys() == {"findings", REPORT_KEY, TABLES_KEY}
    (kept,) = [path for path in reports.rglob("*") if path.is_file()]
    assert checking.kept_report is not None
    assert checking.kept_report.place.path == str(kept)
    assert checking.kept_report.report.tables[0].verdict.value == outcome
    instance = SimpleNamespace(log_url="http://airflow/dags/d/runs/r/tasks/t")
    assert DeltaReportLink().get_link(checking, ti_key=instance) == f"{instance.log_url}/xcom"


def test_row_ids_are_compared_with_an_earlier_version_and_by_keys(
    log: TableLog, spark_submit: FakeSparkSubmit, tmp_path: Path
) -> None:
    place = tmp_path / "request.json"
    spark_submit.does(f"open({str(place)!r}, 'w').write(json.dumps(request)); report()")
    checking = tracking(log, compare_to_version="{{ params.since }}", key_columns=["id"])
    checking.render_template_fields(cast(Any, {"params": {"since": "3"}}))
    checking.execute(context())
    options = json.loads(place.read_text())["options"]
    assert (options["compare_to_version"], options["key_columns"]) == (3, ["id"])


def test_version_that_did_not_pass_is_not_checked_again(log: TableLog, spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does(AFTER_VERSION_0)
    waiting = lambda: tracking(log, on_violation="wait", timeout=0.5)  # noqa: E731
    with pytest.raises(AirflowSensorTimeout, match=r"passed a check .* at level data within 0\.5 seconds.*VIOLATED"):
        through_triggerer(lambda: waiting().execute(context()), waiting)
    assert len(spark_submit.calls) == 1


def test_version_that_the_job_saw_itself_is_not_checked_again(log: TableLog, spark_submit: FakeSparkSubmit) -> None:
    """A commit between the look and the job belongs to the job."""
    spark_submit.does(AFTER_VERSION_0.replace("if newest else", "if newest > 1 else"))
    first = tracking(log, on_violation="wait")
    with pytest.raises(TaskDeferred) as raised:
        first.execute(context())
    assert raised.value.trigger.since["version"] == 0
    log.commit(1, append())
    seen = {"table": log.location, "version": 0, "table_id": "a-table", "digests": {}}
    with pytest.raises(TaskDeferred) as raised:
        tracking(log, on_violation="wait").execute_complete(
            context(), {"status": "holds", **seen}, deadline=time.time() + 60
        )
    assert raised.value.trigger.since["version"] == 1


def test_second_wait_ends_at_the_deadline_of_the_first(log: TableLog, spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does("report('VIOLATED')")
    with pytest.raises(TaskDeferred) as raised:
        tracking(log, on_violation="wait", timeout=100).execute(context())
    deadline = raised.value.kwargs["deadline"]
    seen = {"table": log.location, "version": 1, "table_id": "a-table", "digests": {}}
    with pytest.raises(TaskDeferred) as again:
        tracking(log, on_violation="wait", timeout=100).execute_complete(
            context(), {"status": "holds", **seen}, **raised.value.kwargs
        )
    assert again.value.trigger.deadline == deadline == again.value.kwargs["deadline"]
    assert deadline == pytest.approx(time.time() + 100, abs=60)
    with pytest.raises(AirflowSensorTimeout, match="VIOLATED"):
        tracking(log, on_violation="wait").execute_complete(context(), {"status": "holds", **seen}, deadline=1.0)


@pytest.mark.parametrize("answer", ["wait", "pass", "fail"])
def test_undetermined_leads_to_what_the_argument_says(
    log: TableLog, spark_submit: FakeSparkSubmit, answer: Any
) -> None:
    spark_submit.does("report('UNDETERMINED')")
    waiting = tracking(log, on_undetermined=answer)
    if answer == "pass":
        assert waiting.execute(context())["verdict"] == "UNDETERMINED"
    else:
        with pytest.raises(TaskDeferred if answer == "wait" else UnhealthyTableError):
            waiting.execute(context())


def test_table_that_does_not_exist_yet_gets_no_job_before_its_first_commit(
    tmp_path: Path, spark_submit: FakeSparkSubmit
) -> None:
    later = TableLog(tmp_path / "later")
    new = lambda: tracking(later)  # noqa: E731
    seen = through_triggerer(lambda: new().execute(context()), new, lambda: later.commit(0, protocol(), metadata()))
    assert seen["verdict"] == "PASS"
    assert len(spark_submit.calls) == 1


class TestWithoutTriggerer:
    def test_mode_poke_checks_each_version_once(self, log: TableLog, spark_submit: FakeSparkSubmit) -> None:
        spark_submit.does(AFTER_VERSION_0)
        waiting = tracking(log, deferrable=False, mode="poke", on_violation="wait")
        assert [bool(waiting.poke(context())) for _ in range(3)] == [False] * 3
        assert len(spark_submit.calls) == 1
        log.commit(1, append())
        assert waiting.execute(context())["version"] == 1
        assert len(spark_submit.calls) == 2

    def test_each_process_of_mode_reschedule_knows_the_version_that_was_checked(
        self, log: TableLog, spark_submit: FakeSparkSubmit
    ) -> None:
        spark_submit.does("report('VIOLATED')")
        store = StateStore()
        for _ in range(3):
            with pytest.raises(AirflowRescheduleException):
                tracking(log, deferrable=False, on_violation="wait").execute(context(store))
        assert len(spark_submit.calls) == 1
        assert json.loads(json.dumps(store)) == store
        log.commit(1, append())
        with pytest.raises(AirflowRescheduleException):
            tracking(log, deferrable=False, on_violation="wait").execute(context(store))
        assert len(spark_submit.calls) == 2

    def test_another_try_starts_over(self, log: TableLog, spark_submit: FakeSparkSubmit) -> None:
        spark_submit.does("report('VIOLATED')")
        store = StateStore()
        for number in (1, 2, 2):
            with pytest.raises(AirflowRescheduleException):
                tracking(log, deferrable=False, on_violation="wait").execute(context(store, try_number=number))
        assert len(spark_submit.calls) == 2

    def test_airflow_without_task_state_stays_in_its_process(
        self, log: TableLog, spark_submit: FakeSparkSubmit
    ) -> None:
        spark_submit.does(AFTER_VERSION_0)
        log.commit(1, append())
        waiting = tracking(log, deferrable=False, on_violation="wait")
        assert waiting.execute(context())["version"] == 1
        assert waiting.mode == "poke"


class TestFailures:
    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("report('FAULT', retryable=True)", DeltaRetryableError),
            ("report('FAULT')", DeltaFaultError),
            ("sys.exit(1)", DeltaJobError),
        ],
    )
    def test_job_that_fails_fails_the_task(
        self, log: TableLog, spark_submit: FakeSparkSubmit, code: str, error: type[Exception]
    ) -> None:
        spark_submit.does(code)
        with pytest.raises(error):
            tracking(log, on_violation="wait").execute(context())

    def test_soft_fail_skips_on_violation_and_timeout_but_not_on_a_wrong_argument(
        self, log: TableLog, spark_submit: FakeSparkSubmit
    ) -> None:
        spark_submit.does("report('VIOLATED')")
        with pytest.raises(AirflowSkipException, match="VIOLATED"):
            tracking(log, soft_fail=True).execute(context())
        with pytest.raises(AirflowSkipException, match="VIOLATED"):
            tracking(log, soft_fail=True, on_violation="wait", timeout=0).execute(context())
        seen = {"status": "holds", "table": log.location, "version": 1, "table_id": "a-table", "digests": {}}
        with pytest.raises(AirflowSkipException):
            tracking(log, soft_fail=True, on_violation="wait").resume_execution(
                "execute_complete", {"event": seen, "deadline": 1.0}, context()
            )
        wrong = tracking(log, soft_fail=True, level="{{ params.level }}")
        wrong.level = "rows"
        with pytest.raises(DeltaRequestError, match="level"):
            wrong.execute(context())

    def test_location_that_is_not_allowed_gets_no_job(
        self, log: TableLog, spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__ALLOWED_LOCATIONS", log.location)
        with pytest.raises(DeltaRequestError, match="allowed_locations"):
            tracking(log, result_path=str(tmp_path / "elsewhere")).execute(context())
        with pytest.raises(DeltaRequestError, match="allowed_locations"):
            health(log, state_path=str(tmp_path / "elsewhere")).execute(context())
        with pytest.raises(DeltaRequestError, match="allowed_locations"):
            tracking(log, report_path=str(tmp_path / "elsewhere")).execute(context())
        assert spark_submit.calls == []
        spark_submit.does(f"report('PASS' if request['allowed_locations'] == [{log.location!r}] else 'VIOLATED')")
        assert tracking(log).execute(context())["verdict"] == "PASS"

    @pytest.mark.parametrize(
        ("kind", "arguments", "remedy"),
        [
            (DeltaRowTrackingSensor, {"table": "main.orders"}, "location"),
            (DeltaRowTrackingSensor, {"level": "rows"}, "level"),
            (DeltaRowTrackingSensor, {"key_columns": ["id"]}, "without compare_to_version"),
            (DeltaRowTrackingSensor, {"level": "log", "compare_to_version": 1}, "reads no row ids"),
            (DeltaRowTrackingSensor, {"report_path": "reports"}, "report_path"),
            (DeltaRowTrackingSensor, {"engine": "duckdb"}, "'spark' or 'python'"),
            (DeltaRowTrackingSensor, {"engine": "python"}, "reads no rows"),
            (DeltaRowTrackingSensor, {"on_violation": "warn"}, "'fail' or 'wait'"),
            (DeltaRowTrackingSensor, {"on_undetermined": "warn"}, "'wait' or 'fail' or 'pass'"),
            (DeltaRowTrackingSensor, {"delta_jars": "here"}, "delta_jars"),
            (DeltaRowTrackingSensor, {"application": "a.py"}, "application is set by this provider"),
            (DeltaProtocolHealthSensor, {"level": "data"}, "reads no rows"),
            (DeltaProtocolHealthSensor, {"engine": "spark", "state_path": "states"}, "relative to the folder"),
        ],
    )
    def test_mistake_is_refused_at_construction(self, kind: Any, arguments: dict[str, Any], remedy: str) -> None:
        with pytest.raises(DeltaRequestError, match=remedy):
            kind(task_id="t", **{"table": "/d/t", **arguments})


class TestArguments:
    def test_submit_gets_the_request_and_the_arguments(
        self, log: TableLog, spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "spark", "host": "local[3]"}))
        place = tmp_path / "request.json"
        spark_submit.does(f"open({str(place)!r}, 'w').write(json.dumps(request)); report()")
        waiting = health(
            log,
            level="data",
            fail_on="warning",
            state_path=str(tmp_path / "state"),
            conn_id="other",
            conf={"spark.ui.enabled": "{{ params.ui }}"},
            driver_memory="2g",
        )
        waiting.render_template_fields(cast(Any, {"params": {"ui": "false"}}))
        waiting.execute(context())
        request = json.loads(place.read_text())
        assert (request["kind"], request["tables"]) == ("audit", [log.location])
        assert request["options"]["level"] == "data"
        assert request["options"]["fail_on"] == "warning"
        assert request["options"]["state_path"] == str(tmp_path / "state")
        (call,) = spark_submit.calls
        assert call[call.index("--master") + 1] == "local[3]"
        assert call[call.index("--name") + 1] == "airflow-delta-provider audit"
        assert call[call.index("--driver-memory") + 1] == "2g"
        assert spark_submit.settings[0]["spark.ui.enabled"] == "false"

    def test_default_arguments_and_partial_reach_them(self) -> None:
        with DAG("d", schedule=None, default_args={"conn_id": "other", "driver_memory": "2g"}):
            own = DeltaRowTrackingSensor(task_id="own", table="/d/t", driver_memory="3g")
            mapped = DeltaRowTrackingSensor.partial(task_id="mapped", conn_id="third").expand(table=["/d/t", "/d/u"])
        assert own.spark_submit == {"conn_id": "other", "driver_memory": "3g"}
        assert mapped.partial_kwargs["conn_id"] == "third"
        with pytest.raises(TypeError, match="unexpected keyword argument 'con_id'"):
            DeltaRowTrackingSensor.partial(task_id="mapped", con_id="third").expand(table=["/d/t"])

    def test_secrets_of_settings_are_masked_before_they_are_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        hidden: list[str] = []
        monkeypatch.setattr("airflow_delta_provider.hooks.command.mask_secret", hidden.append)
        waiting = tracking("/d/t", conf={"spark.hadoop.fs.s3a.secret.key": "{{ params.key }}"})
        waiting.render_template_fields(cast(Any, {"params": {"key": "h1dden"}}))
        assert hidden == ["h1dden"]

    def test_task_that_is_killed_kills_its_job(
        self, log: TableLog, spark_submit: FakeSparkSubmit, tmp_path: Path
    ) -> None:
        spark_submit.does("time.sleep(600)")
        waiting = tracking(log)

        def kill(after: float) -> None:
            deadline = time.monotonic() + after
            while time.monotonic() < deadline and not spark_submit.calls:
                time.sleep(0.05)
            waiting.on_kill()

        killer = threading.Thread(target=kill, args=(30,))
        killer.start()
        with pytest.raises(DeltaJobError):
            waiting.execute(context())
        killer.join()


def test_python_checks_row_tracking_without_a_submit(log: TableLog, spark_submit: FakeSparkSubmit) -> None:
    log.commit(
        1,
        protocol("rowTracking", "domainMetadata"),
        metadata(
            {
                "delta.enableRowTracking": "true",
                "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-a",
                "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-a",
            }
        ),
    )
    seen = tracking(log, level="log", engine="python").execute(context())
    assert (seen["verdict"], seen["version"]) == ("PASS", 1)
    assert spark_submit.calls == []


def test_python_waits_for_row_tracking_to_be_enabled(log: TableLog) -> None:
    with pytest.raises(TaskDeferred) as raised:
        tracking(log, level="log", engine="python").execute(context())
    assert raised.value.trigger.since["version"] == 0
    assert "UNDETERMINED" in raised.value.kwargs["said"]
    assert tracking(REAL_TABLES / "checksums", level="log", engine="python").execute(context())["version"] == 3


def test_health_at_level_footers_reads_the_files_in_the_look_itself(
    log: TableLog, spark_submit: FakeSparkSubmit
) -> None:
    waiting = health(log, engine="python", level="footers")
    assert waiting.execute(context())["verdict"] == "PASS"
    log.commit(
        1,
        {"commitInfo": {"timestamp": 1, "operation": "WRITE"}},
        {"add": {"path": "gone.parquet", "partitionValues": {}, "size": 10, "modificationTime": 1, "dataChange": True}},
    )
    with pytest.raises(UnhealthyTableError, match=r"gone\.parquet"):
        health(log, engine="python", level="footers").execute(context())
    with pytest.raises(TaskDeferred) as raised:
        health(log, engine="python", level="footers", on_violation="wait").execute(context())
    assert raised.value.trigger.serialize()[1]["level"] == "footers"
    assert health(log, engine="python", level="log").execute(context())["verdict"] == "PASS"
    assert spark_submit.calls == []


def test_time_stays_within_the_deferral(log: TableLog, spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does("report('VIOLATED')")
    with pytest.raises(TaskDeferred) as raised:
        tracking(log, on_violation="wait", timeout=100).execute(context())
    assert raised.value.timeout is not None
    assert raised.value.timeout.total_seconds() == pytest.approx(400, abs=60)
