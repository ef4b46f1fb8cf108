"""The command line as one file, as the script of a Spark job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.engine.spark_library import LEAN_JAVA_OPTIONS
from scripts import dist
from tests.system.orders_table import ROW_TRACKING, orders

pytestmark = pytest.mark.nightly


def test_spark_submit_runs_it_where_the_package_is_not_installed(spark: SparkSession, tmp_path: Path) -> None:
    table = orders(spark, tmp_path / "orders", properties=ROW_TRACKING)
    spark.sql(f"UPDATE delta.`{table}` SET id = id + 100 WHERE id = 1")
    dist.main(str(tmp_path / "dist"))
    program, report = tmp_path / "dist" / "delta_provider.py", tmp_path / "report.json"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYSPARK_PYTHON"] = sys.executable
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
    submit += ["--driver-java-options", LEAN_JAVA_OPTIONS, str(program)]

    ran = subprocess.run(
        [*submit, "audit", str(table), "--level", "data", "--format", "json", "--output", str(report)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    [found] = json.loads(report.read_text())["tables"]
    assert (found["verdict"], found["findings"]) == ("PASS", [])
    assert found["evidence"]["materialized_ids_read"] > 0
