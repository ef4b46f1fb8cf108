"""Every kind of job in deploy mode cluster, and what comes of errors there."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.detail import DetailOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.exceptions import DeltaJobError
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from airflow_delta_provider.hooks.result_folder import ResultFolder
from tests.cluster.yarn import Yarn
from tests.every_kind import REQUESTS
from tests.system.orders_table import ROW_TRACKING, orders
from tests.tables.paimon.archive import table_of, unpack

Submit = Callable[..., JobReport]


@pytest.fixture
def submit(yarn: Yarn, monkeypatch: pytest.MonkeyPatch) -> Submit:
    """Submit a request, and wait for its report."""
    for name, value in yarn.environment.items():
        monkeypatch.setenv(name, value)
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    small = {"spark.executor.instances": "1", "spark.executor.memory": "512m", "spark.ui.enabled": "false"}

    def submit(table: str, options: Options, results: str = "", **arguments: Any) -> JobReport:
        task = SimpleNamespace(dag_id="a dag", run_id=f"manual__{uuid.uuid4()}", task_id="täsk", map_index=-1)
        folder = ResultFolder(results or f"{yarn.file_system}/results", task)
        request = JobRequest((table,), options)
        conf = {**small, **arguments.pop("conf", {})}
        hook = DeltaSparkSubmitHook(request, results=folder, conf=conf, **{"delta_jars": "packages", **arguments})
        report = hook.run()
        hook.clean_up()
        return report

    return submit


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables for every kind."""
    folder = tmp_path_factory.mktemp("lake")
    tracked = f"{ROW_TRACKING}, 'delta.feature.checkConstraints' = 'supported'"
    orders(spark, folder / "orders", properties=tracked)
    mapped = orders(spark, folder / "mapped")
    spark.sql(f"ALTER TABLE delta.`{mapped}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    table_of(unpack(tmp_path_factory.mktemp("paimon")), "big/w1/06_delete").rename(folder / "paimon")
    return folder


#: Tables of kinds that take another than the others.
OWN_TABLES = {
    "check-paimon-row-tracking": "paimon",
    "column-mapping-usage": "mapped",
    "disable-column-mapping": "mapped",
    "alter-columns": "mapped",
    "create-table": "new",
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_every_kind_of_job_runs_on_the_cluster(submit: Submit, yarn: Yarn, lake: Path, kind: str) -> None:
    options = REQUESTS[kind]
    if kind == "audit":
        options = replace(options, state_path=f"{yarn.file_system}/state")  # type: ignore[call-arg]  # of audits
    report = submit(f"file://{lake / OWN_TABLES.get(kind, 'orders')}", options)
    assert [(table.verdict, table.findings) for table in report.tables] == [(Verdict.PASS, ())]


def test_report_comes_back_through_a_shared_folder(submit: Submit, lake: Path, tmp_path: Path) -> None:
    report = submit(f"file://{lake / 'orders'}", DetailOptions(), results=str(tmp_path / "results"))
    assert report.verdict is Verdict.PASS
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_all_tables_of_a_folder_in_hdfs_are_audited_by_executors_of_their_own(
    submit: Submit, spark: SparkSession, yarn: Yarn, lake: Path
) -> None:
    copy_to_hdfs(spark, lake, f"{yarn.file_system}/lake")
    report = submit(f"{yarn.file_system}/lake/*", AuditOptions(level="data"))
    found = {table.table.rpartition("/")[2]: table.verdict for table in report.tables}
    assert {name: found[name] for name in ("orders", "mapped")} == dict.fromkeys(("orders", "mapped"), Verdict.PASS)


def copy_to_hdfs(spark: SparkSession, folder: Path, target: str) -> None:
    """Copy a folder of this machine into HDFS."""
    hadoop = spark._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]  # the session has a JVM
    path = hadoop.Path(target)
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    path.getFileSystem(configuration).copyFromLocalFile(hadoop.Path(f"file://{folder}"), path)


def test_driver_on_the_worker_uses_executors_of_the_cluster(submit: Submit, lake: Path) -> None:
    report = submit(f"file://{lake / 'orders'}", REQUESTS["check-row-tracking"], deploy_mode="client")
    assert report.verdict is Verdict.PASS


def test_driver_that_cannot_write_its_report_does_nothing(submit: Submit, yarn: Yarn, lake: Path) -> None:
    nowhere = {"spark.hadoop.fs.webhdfs.impl": "no.such.FileSystem"}
    results = yarn.file_system.replace("hdfs://", "webhdfs://").rpartition(":")[0]
    web = yarn.web_hdfs.rpartition(":")[2]
    with pytest.raises(DeltaJobError, match="did not begin, or could not write"):
        submit(f"file://{lake / 'new'}", REQUESTS["create-table"], results=f"{results}:{web}/results", conf=nowhere)
    assert "no.such.FileSystem" in yarn.driver_log(str(yarn.applications()[-1]["id"]))


def test_crash_of_a_job_is_reported_with_its_traceback(submit: Submit, lake: Path) -> None:
    with pytest.raises(DeltaJobError, match="Traceback"):
        submit(f"file://{lake / 'orders'}", REQUESTS["widen-types"], delta_jars="provided")  # where there are none
