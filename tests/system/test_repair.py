"""A repair through a real scheduler: planned, asked about, answered over Airflow's API, applied, audited."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import PlanRepairOptions
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.process import silent
from airflow_delta_provider.jobs.run.runner import run
from tests.system.airflow_services import AirflowServices
from tests.system.approver import answered
from tests.system.orders_table import orders, with_shared_row_ids
from tests.tables import log

pytestmark = pytest.mark.nightly
TASKS = ("plan", "approve", "apply", "verify")


def test_example_repairs_what_it_may_and_only_once_it_is_approved(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    table = with_shared_row_ids(spark, tmp_path / "shared row ids")
    before = log.contents(table)
    refused = services.trigger("repair_table", table=str(table))
    assert answered(refused) == {}
    assert refused.states()["delta_repair.plan"] == ["failed"]
    assert log.contents(table) == before
    planned = run(JobRequest((str(table),), PlanRepairOptions()), python_session(), silent).tables[0].plan or {}
    rejected = services.trigger("repair_table", table=str(table), permit=planned["needed"])
    assert list(answered(rejected, {"delta_repair.approve": "Reject"})) == ["delta_repair.approve"]
    assert log.contents(table) == before
    allowed = services.trigger("repair_table", table=str(table), permit=planned["needed"])
    (question,) = answered(allowed).values()
    assert "Row ids of" in question.body
    assert allowed.states() == {f"delta_repair.{task}": ["success"] for task in TASKS}
    assert spark.sql(f"SELECT count(*), count(DISTINCT _metadata.row_id) FROM delta.`{table}`").first() == (20, 20)


def test_example_asks_nobody_if_there_is_nothing_to_repair(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "sound")
    sound = services.trigger("repair_table", table=str(table))
    assert answered(sound) == {}
    assert sound.state == "success"
    assert log.newest(table) == 1
