"""Through a real scheduler, triggerer and executor."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.system.airflow_services import AirflowServices
from tests.system.nights import Nights
from tests.system.orders_table import changed, copies_of, is_enabled, orders
from tests.system.process_tree import names_of, running, wait_for, with_descendants
from tests.tables import log


def test_wait_for_feature_is_deferred_and_goes_on_when_somebody_enables_it(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders")
    run = services.trigger("wait_for_feature", table=str(table), columns={"quantity": "bigint"})
    wait_for(lambda: run.task_state("wait_for_type_widening") == "deferred", "the sensor deferred", 120, every=1)
    assert services.tree.below("SparkSubmit") == []
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    wait_for(lambda: run.state in ("success", "failed"), "the end of the run", 180, every=1)
    states = {task_id: run.task_state(task_id) for task_id in ("wait_for_type_widening", "widen_columns")}
    assert states == {"wait_for_type_widening": "success", "widen_columns": "success"}
    assert log.fields(table)["quantity"]["type"] == "long"
    assert log.user_metadata(table, log.newest(table))["dag_id"] == "wait_for_feature"


def test_task_that_is_marked_failed_leaves_no_process_and_no_half_changed_table(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    tables = copies_of(orders(spark, tmp_path / "orders"), 500)
    run = services.trigger("long_job", tables=[str(table) for table in tables])
    wait_for(lambda: changed(tables), "the first table changed", 120)
    job = with_descendants(services.tree.below("SparkSubmit", "delta_provider_job"))
    assert {"java", "python"} <= {name.rstrip("0123456789.") for name in names_of(job)}
    run.mark_failed("enable")
    wait_for(lambda: not running(job), "the end of the job's processes", 60)
    assert run.task_state("enable") == "failed"
    assert services.tree.below("SparkSubmit") == []
    assert 0 < len(changed(tables)) < len(tables)
    assert [table for table in changed(tables) if not is_enabled(table)] == []


@pytest.mark.skipif(
    version("apache-airflow").split(".")[:2] in (["3", "1"], ["3", "2"]),
    reason="Airflow keeps no task state before 3.3",
)
def test_retry_does_only_the_table_that_failed_and_a_cleared_task_does_all(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders")
    nowhere = "hdfs://localhost:9/orders"  # nobody listens on the discard port
    run = services.trigger("job_that_retries", tables=[str(table), nowhere])
    wait_for(lambda: run.state in ("success", "failed"), "the end of the run", 180, every=1)
    earlier = "1 of 2 tables were done by an earlier try"
    assert [earlier in run.task_log("enable", attempt) for attempt in (1, 2)] == [False, True]
    assert log.newest(table) == 2
    run.clear()
    wait_for(lambda: "The job failed on a table" in run.task_log("enable", 3), "the try after clearing", 120, every=1)
    assert earlier not in run.task_log("enable", 3)


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
