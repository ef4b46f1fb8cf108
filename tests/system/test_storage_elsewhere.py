"""Jobs from the archive that a submission ships, by the real ``spark-submit``, on storage that is not a local path.

The storage is ViewFs: Hadoop's own, and read through the JVM as any object store is.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.engine.session_profile import LEAN_JAVA_OPTIONS, delta_coordinates
from airflow_delta_provider.domain.request.alter_columns import AlterColumnsOptions
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.check_paimon_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.check_row_tracking import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.column_mapping_usage import ColumnMappingUsageOptions
from airflow_delta_provider.domain.request.create_table import CreateTableOptions
from airflow_delta_provider.domain.request.detail import DetailOptions
from airflow_delta_provider.domain.request.disable_column_mapping import DisableColumnMappingOptions
from airflow_delta_provider.domain.request.drop_feature import DropFeatureOptions
from airflow_delta_provider.domain.request.enable_feature import EnableFeatureOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import OPTIONS
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from airflow_delta_provider.hooks.workspace import Workspace
from demo.airflow_home import AirflowHome
from tests.system.orders_table import ROW_TRACKING, orders
from tests.tables import log
from tests.tables.paimon.archive import table_of, unpack

LAKE = "viewfs://lake/tables"
#: Fewer files are read one by one, as on this machine; the copies ahead are for more.
MANY = 8
APPLICATION = """
import json, sys
import airflow_delta_provider
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.session.spark_session import submitted_session

assert ".zip" in airflow_delta_provider.__file__
session = DeltaSession(submitted_session("elsewhere"))
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
    mapped, tracked = f"{LAKE}/mapped", f"{LAKE}/orders"
    asked: list[tuple[str, Options]] = [
        (tracked, DetailOptions()),
        (tracked, CheckRowTrackingOptions(compare_to_version=3, key_columns=("id",))),
        (tracked, EnableFeatureOptions(features=("typeWidening",), allow_protocol_upgrade=True)),
        (tracked, WidenTypesOptions(columns={"quantity": "bigint"})),
        (tracked, DropFeatureOptions(features=("checkConstraints",))),
        (tracked, AuditOptions(level="data", state_path=f"{LAKE}/state")),
        (mapped, ColumnMappingUsageOptions()),
        (mapped, DisableColumnMappingOptions()),
        (mapped, AlterColumnsOptions(add={"note": "string"})),
        (f"{LAKE}/new", CreateTableOptions(columns={"id": "int"}, acknowledge_writer_lockout=True)),
        (f"{LAKE}/paimon", PaimonCheckRowTrackingOptions(level="data", state_path=f"{LAKE}/paimon-state")),
    ]
    assert {options.kind for _, options in asked} == set(OPTIONS)

    reports = submit([JobRequest((table,), options) for table, options in asked], lake, airflow, tmp_path, spark)

    outcome = {report["kind"]: (report["tables"][0]["verdict"], report["tables"][0]["findings"]) for report in reports}
    assert outcome == {options.kind: ("PASS", []) for _, options in asked}
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
