"""Jobs from the archive that a submission ships, by the real ``spark-submit``, on storage that is not a local path.

The storage is ViewFs: Hadoop's own, and read through the JVM as any object store is.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.engine.spark_library import LEAN_JAVA_OPTIONS, delta_coordinates
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS
from airflow_delta_provider.hooks.workspace import Workspace
from demo.airflow_home import AirflowHome
from tests.every_kind import REQUESTS
from tests.system.orders_table import ROW_TRACKING, orders
from tests.tables import log
from tests.tables.paimon.archive import table_of, unpack

pytestmark = pytest.mark.nightly

LAKE = "viewfs://lake/tables"
#: Fewer files are read one by one, as on this machine; the copies ahead are for more.
MANY = 8
APPLICATION = """
import json, sys
import airflow_delta_provider
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.session import submitted_session

assert ".zip" in airflow_delta_provider.__file__
session = SparkDeltaSession(submitted_session("elsewhere"))
requests, reports = json.load(open(sys.argv[1])), []
for request in requests:
    reports.append(run(JobRequest.from_json(request), session, progress=print).to_json())
json.dump(reports, open(sys.argv[2], "w"))
"""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    table = orders(
        spark, folder / "orders", properties=f"{ROW_TRACKING}, 'delta.feature.checkConstraints' = 'supported'"
    )
    for number in range(MANY):
        spark.sql(f"INSERT INTO delta.`{table}` (id) VALUES ({100 + number})")
    mapped = shutil.copytree(table, folder / "mapped")
    spark.sql(f"ALTER TABLE delta.`{mapped}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    return folder


def mounted(lake: Path) -> dict[str, str]:
    return {"spark.hadoop.fs.viewfs.mounttable.lake.link./tables": f"file:{lake}"}


def test_every_kind_of_job_runs_from_the_archive_elsewhere(
    lake: Path, airflow: AirflowHome, tmp_path: Path, spark: SparkSession
) -> None:
    table_of(unpack(tmp_path), "big/w1/06_delete").rename(lake / "paimon")
    tables = {
        "check-paimon-row-tracking": f"{LAKE}/paimon",
        "column-mapping-usage": f"{LAKE}/mapped",
        "disable-column-mapping": f"{LAKE}/mapped",
        "alter-columns": f"{LAKE}/mapped",
        "create-table": f"{LAKE}/new",
    }
    known: dict[str, dict[str, Any]] = {
        "audit": {"state_path": f"{LAKE}/state"},
        "check-row-tracking": {"compare_to_version": 3, "key_columns": ("id",)},
        "check-paimon-row-tracking": {"state_path": f"{LAKE}/paimon-state"},
    }
    asked = [
        JobRequest((tables.get(kind, f"{LAKE}/orders"),), replace(options, **known.get(kind, {})))
        for kind, options in REQUESTS.items()
    ]

    reports = submit(asked, lake, airflow, tmp_path, spark)

    outcome = {report["kind"]: (report["tables"][0]["verdict"], report["tables"][0]["findings"]) for report in reports}
    assert outcome == {kind: ("PASS", []) for kind in KINDS}
    assert log.fields(lake / "orders")["quantity"]["type"] == "long"
    assert [path.suffix for path in (lake / "state").iterdir() if not path.name.startswith(".")] == [".json"]


def submit(
    requests: list[JobRequest], lake: Path, airflow: AirflowHome, folder: Path, spark: SparkSession
) -> list[dict[str, Any]]:
    """Run the requests one after the other in one driver, with the code that a submission ships."""
    asked, told, application = folder / "requests.json", folder / "reports.json", folder / "application.py"
    asked.write_text(json.dumps([request.to_json() for request in requests]))
    application.write_text(APPLICATION)
    with Workspace("elsewhere") as workspace:
        command = ["spark-submit", "--master", "local[2]", "--driver-java-options", LEAN_JAVA_OPTIONS]
        command += ["--packages", delta_coordinates(spark.version)]
        for key, value in {**mounted(lake), "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}.items():
            command += ["--conf", f"{key}={value}"]
        command += ["--py-files", str(workspace.archive), str(application), str(asked), str(told)]
        ran = subprocess.run(command, env=airflow.environment, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    reports: list[dict[str, Any]] = json.loads(told.read_text())
    return reports
