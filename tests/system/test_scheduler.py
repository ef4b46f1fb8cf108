"""Through a real scheduler, triggerer and executor."""

from __future__ import annotations

import random
import shutil
import time
from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.system.airflow_services import AirflowServices
from tests.system.nights import Nights
from tests.system.orders_table import ROW_TRACKING, changed, copies_of, is_enabled, orders, with_shared_row_ids
from tests.system.process_tree import names_of, running, wait_for, with_descendants
from tests.system.watched_table import BROKEN, Record, WatchedTable, metadata
from tests.tables import log

before_3_3 = version("apache-airflow").split(".")[:2] in (["3", "1"], ["3", "2"])


@pytest.mark.nightly
def test_wait_for_feature_is_deferred_and_goes_on_when_somebody_enables_it(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders")
    run = services.trigger("wait_for_feature", table=str(table), columns={"quantity": "bigint"})
    wait_for(lambda: run.task_state("wait_for_type_widening") == "deferred", "the sensor deferred", every=1)
    assert services.tree.below("SparkSubmit") == []
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    run.wait_for_end()
    states = {task_id: run.task_state(task_id) for task_id in ("wait_for_type_widening", "widen_columns")}
    assert states == {"wait_for_type_widening": "success", "widen_columns": "success"}
    assert log.fields(table)["quantity"]["type"] == "long"
    assert log.user_metadata(table, log.newest(table))["dag_id"] == "wait_for_feature"


@pytest.mark.nightly
def test_wait_for_types_is_deferred_and_goes_on_when_somebody_widens_further(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders", properties="'delta.enableTypeWidening' = 'true'")
    run = services.trigger("wait_for_types", table=str(table), columns={"quantity": "bigint"})
    wait_for(lambda: run.task_state("wide_enough") == "deferred", "the sensor deferred", every=1)
    spark.sql(f"ALTER TABLE delta.`{table}` ALTER COLUMN quantity TYPE decimal(20,0)")
    run.wait_for_end()
    assert {name: run.task_state(name) for name in ("wide_enough", "read")} == {
        "wide_enough": "success",
        "read": "success",
    }
    assert run.result("wide_enough") == {
        "table": str(table),
        "version": log.newest(table),
        "types": {"quantity": "decimal(20,0)"},
    }


@pytest.mark.nightly
def test_wait_for_row_tracking_submits_once_per_new_version_and_holds_no_worker_between(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders")
    run = services.trigger("wait_for_row_tracking", table=str(table))
    task = "row_ids_are_unique"
    wait_for(lambda: run.task_state(task) == "deferred", "the sensor deferred", 120, every=1)
    wait_for(lambda: services.tree.below("SparkSubmit") == [], "the end of the job's processes", every=1)
    assert (log.newest(table), _submits(run.task_log(task, 1))) == (1, 1)
    time.sleep(25)  # two polls of an unchanged table
    assert (run.task_state(task), _submits(run.task_log(task, 1))) == ("deferred", 1)
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ({ROW_TRACKING})")
    run.wait_for_end()
    assert {name: run.task_state(name) for name in (task, "read")} == {task: "success", "read": "success"}
    result = run.result(task)
    assert (result["version"], result["verdict"]) == (log.newest(table), "PASS")
    # The change is several commits, and a job between them finds the table unfinished.
    assert 2 <= _submits(run.task_log(task, 1)) <= 1 + log.newest(table) - 1


@pytest.mark.nightly
def test_guard_the_rows_stays_closed_until_a_version_passes(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    table = with_shared_row_ids(spark, tmp_path / "orders")
    run = services.trigger("guard_the_rows", table=str(table), state_path=str(tmp_path / "audits"))
    wait_for(lambda: run.task_state("healthy") == "deferred", "the sensor deferred", 120, every=1)
    assert "VIOLATED" in run.task_log("healthy", 1)
    spark.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF 1")
    run.wait_for_end()
    assert {name: run.task_state(name) for name in ("healthy", "read")} == {"healthy": "success", "read": "success"}
    assert run.result("healthy")["version"] == log.newest(table)
    assert _submits(run.task_log("healthy", 1)) == 2


def _submits(task_log: str) -> int:
    return task_log.count("Spark-Submit cmd")


@pytest.mark.nightly
def test_nightly_audit_of_a_schema_tells_what_is_new_once(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    lake, memory = tmp_path / "sales", tmp_path / "memory"
    sound = orders(spark, lake / "sound")
    broken = Path(shutil.copytree(sound, lake / "broken"))

    def night(tells: str) -> dict[str, str]:
        """Run the audit until its callback has told something; return the verdicts by table."""
        run = services.trigger("nightly_audit", tables=[f"{lake}/*"], state_path=str(memory))
        run.wait_for_end()
        assert run.state == "success"
        wait_for(lambda: tells in run.task_log("audit", 1), tells, every=1)
        return {row["table"]: row["verdict"] for row in run.result("audit")["tables"]}

    log.commit(broken, {"metaData": {**log.last(broken, "metaData"), "id": "another"}})
    verdicts = night(f"Versions 0 to {log.newest(broken)} of {broken}")
    assert verdicts == {str(sound): "PASS", str(broken): "VIOLATED"}
    added = Path(shutil.copytree(sound, lake / "added"))
    verdicts = night("1 unchanged: nothing is sent")
    assert verdicts == {str(added): "PASS", str(sound): "PASS", str(broken): "VIOLATED"}
    assert len(list(memory.iterdir())) == 3


def test_task_that_is_marked_failed_leaves_no_process_and_no_half_changed_table(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    tables = copies_of(orders(spark, tmp_path / "orders"), 500)
    run = services.trigger("long_job", tables=[str(table) for table in tables])
    wait_for(lambda: changed(tables), "the first table changed")
    job = with_descendants(services.tree.below("SparkSubmit", "delta_provider_job"))
    assert {"java", "python"} <= {name.rstrip("0123456789.") for name in names_of(job)}
    run.mark_failed("enable")
    wait_for(lambda: not running(job), "the end of the job's processes", 60)
    assert run.task_state("enable") == "failed"
    assert services.tree.below("SparkSubmit") == []
    assert 0 < len(changed(tables)) < len(tables)
    assert [table for table in changed(tables) if not is_enabled(table)] == []


@pytest.mark.skipif(before_3_3, reason="Airflow keeps no task state before 3.3")
def test_retry_does_only_the_table_that_failed_and_a_cleared_task_does_all(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders")
    nowhere = "hdfs://localhost:9/orders"  # nobody listens on the discard port
    run = services.trigger("job_that_retries", tables=[str(table), nowhere])
    run.wait_for_end()
    earlier = "1 of 2 tables were done by an earlier try"
    assert [earlier in run.task_log("enable", attempt) for attempt in (1, 2)] == [False, True]
    assert log.newest(table) == 2
    run.clear()
    wait_for(lambda: "The job failed on a table" in run.task_log("enable", 3), "the try after clearing", every=1)
    assert earlier not in run.task_log("enable", 3)


@pytest.mark.nightly
@pytest.mark.soak
@pytest.mark.parametrize("point", ["driver remembered", "worker remembered"])
def test_audit_that_is_killed_with_its_spark_loses_no_alert(
    spark: SparkSession, services: AirflowServices, tmp_path: Path, point: str
) -> None:
    source = orders(spark, tmp_path / "orders")
    tables = [Path(shutil.copytree(source, tmp_path / f"copy-{number}")) for number in range(6)]
    for table in tables:
        log.commit(table, {"metaData": {**log.last(table, "metaData"), "id": "another"}})
    nights = Nights(services, "warn", tmp_path, tables)
    nights.audit(dies_after=point)
    nights.audit()
    nights.check_told("new", 2)
    told = nights.told()
    nights.audit()
    assert nights.told() == told


@pytest.mark.skipif(before_3_3, reason="Airflow keeps no state of assets before 3.3")
@pytest.mark.parametrize(
    ("commits", "kills"), [(12, 1), pytest.param(1_000, 25, marks=pytest.mark.soak)], ids=["short", "long"]
)
def test_every_commit_is_audited_and_told_once_though_the_triggerer_is_killed(
    services: AirflowServices, commits: int, kills: int
) -> None:
    place = Path(f"{services.environment['WATCHED_TABLE']}-while-killed")
    for left in (place, Path(f"{place}-state")):
        shutil.rmtree(left, ignore_errors=True)
    Path(f"{place}.jsonl").unlink(missing_ok=True)
    table, record = WatchedTable(place), Record(Path(f"{place}.jsonl"))
    table.create()
    waiting = services.trigger("wait_for_version", version=commits)
    wait_for(lambda: waiting.task_state("wait") == "deferred", "the sensor deferred", every=1)
    table.commit(breaks=True)
    wait_for(lambda: record.told, "the first alert", every=1)
    for kill in range(kills):
        for _ in range(random.randrange(1, max(2, (commits - table.version) // (kills - kill)))):
            table.commit()
            time.sleep(random.random() * 0.3)
        services.kill("triggerer")
        table.commit(breaks=kill % 2 == 0)
        services.start("triggerer")
        time.sleep(random.random() * 25 if kills > 1 else 0)
    while table.version < commits:
        table.commit()
    last = table.version
    wait_for(lambda: last in record.audited, "the audit of the last commit", every=1)
    wait_for(lambda: waiting.state in ("success", "failed"), "the end of the sensor", every=1)
    assert waiting.state == "success"
    assert sorted(set(record.audited)) == list(range(last + 1))
    # Not by the runs that they started: Airflow leaves an event that comes while it starts one to the next.
    events = services.asset_events("watched commits")
    ranges = [(event["from_version"] or 0, event["to_version"]) for event in events]  # it may begin with version 0
    assert {v for before, after in ranges for v in range(before + 1, after + 1)} == set(range(1, last + 1))
    news = [version for what, code, version in record.told if (what, code) == ("new", "CM01")]
    assert len(record.told) == len(set(record.told)), record.told
    assert set(news) <= set(table.broken), (news, table.broken)
    # What is fixed before the next poll is no event, and no alert.
    assert table.broken[0] in news
    wait_for(lambda: table.broken[0] in _broken(record), "the event of the first violation", every=1)
    assert _broken(record) <= set(table.broken)


def _broken(record: Record) -> set[int]:
    return {version for one in record.of("broken") for _, version in one}


@pytest.mark.nightly
@pytest.mark.skipif(before_3_3, reason="Airflow keeps no state of assets before 3.3")
def test_asset_watched_examples_react_to_a_schema_change_and_audit_each_commit(services: AirflowServices) -> None:
    table = WatchedTable(Path(services.environment["WATCHED_TABLE"]))
    table.create()
    for dag_id in ("audit_each_commit", "react_to_schema_change"):  # an event that comes before its run has begun waits
        wait_for(lambda dag_id=dag_id: services.runs(dag_id), f"{dag_id} of the table's first version", every=1)
    table.write(metadata("sku"), user="ann")

    def changes() -> list[str]:
        runs = services.runs("react_to_schema_change")
        return [line for run in runs for line in run.result("tell") or ()]

    wait_for(lambda: "version 1, ann: added sku" in changes(), "the reaction", every=1)
    wait_for(lambda: all(run.state == "success" for run in services.runs("audit_each_commit")), "the audits", every=1)


@pytest.mark.nightly
def test_gate_before_readers_opens_once_the_table_passes(services: AirflowServices, tmp_path: Path) -> None:
    table = WatchedTable(tmp_path / "t")
    arguments = {"table": str(table.path), "state_path": str(tmp_path / "state")}
    run = services.trigger("guard_a_table", **arguments)
    wait_for(lambda: run.task_state("healthy") == "deferred", "the gate deferred", every=1)
    table.create()
    run.wait_for_end()
    assert (run.task_state("healthy"), run.result("read")) == ("success", 0)
    table.write(metadata(properties=BROKEN))
    run = services.trigger("guard_a_table", **arguments)
    run.wait_for_end()
    assert (run.task_state("healthy"), run.task_state("read")) == ("failed", "upstream_failed")
