"""Client mode on a Spark standalone cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from demo.airflow_home import AirflowHome
from tests.system.orders_table import orders
from tests.system.spark_cluster import SparkCluster
from tests.tables import log

pytestmark = pytest.mark.nightly


def test_widening_runs_on_the_cluster_and_its_report_comes_back(
    spark: SparkSession,
    airflow: AirflowHome,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    table = orders(spark, tmp_path / "orders")
    with SparkCluster(airflow.environment, tmp_path) as cluster:
        connection = {"conn_type": "spark", "host": "spark://127.0.0.1", "port": cluster.port}
        monkeypatch.setitem(airflow.environment, "AIRFLOW_CONN_SPARK_CLUSTER", json.dumps(connection))
        monkeypatch.setitem(airflow.environment, "SPARK_LOCAL_IP", "127.0.0.1")
        with airflow.runner("dags-on-a-cluster.log") as runner:
            outcome = runner.start("on_a_cluster", table=str(table)).tasks()["widen"]
        names = cluster.finished_applications()
    assert outcome.state == "success"
    summary = outcome.xcoms["return_value"]
    assert (summary["verdict"], summary["changed"]) == ("PASS", True)
    assert [name for name in names if name.startswith("airflow-delta-provider")] == names != []
    assert log.fields(table)["quantity"]["type"] == "long"
    assert log.user_metadata(table, log.newest(table))["task_id"] == "widen"
    assert spark.sql(f"SELECT sum(quantity) FROM delta.`{table}`").first() == (450,)
