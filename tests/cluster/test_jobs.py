"""Every kind of job in deploy mode cluster, by its operator, and who does the work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS
from airflow_delta_provider.domain.request.options import DetailOptions
from airflow_delta_provider.exceptions import DeltaJobError
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from airflow_delta_provider.hooks.results import ResultFolder
from tests.airflow.test_operators import Run
from tests.cluster.event_log import assert_worked_elsewhere, recorded_in
from tests.cluster.operators import PROOF, SMALL, operator_of, run
from tests.cluster.yarn import Yarn
from tests.every_kind import REQUESTS
from tests.system.orders_table import ROW_TRACKING, orders, with_stored_row_ids
from tests.tables.paimon.archive import table_of, unpack

pytestmark = pytest.mark.usefixtures("on_yarn")


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables for every kind."""
    folder = tmp_path_factory.mktemp("lake")
    tracked = f"{ROW_TRACKING}, 'delta.feature.checkConstraints' = 'supported'"
    with_stored_row_ids(spark, folder / "orders", properties=tracked)
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
#: One is for the command line alone.
BY_OPERATOR = [kind for kind in REQUESTS if KINDS[kind].operator]


@pytest.mark.parametrize("kind", BY_OPERATOR)
def test_every_kind_of_job_runs_on_the_cluster(yarn: Yarn, lake: Path, kind: str) -> None:
    options, before = REQUESTS[kind], len(yarn.applications())
    if kind == "audit":
        options = replace(options, state_path=f"{yarn.file_system}/state")  # type: ignore[call-arg]  # of audits
    table = f"file://{lake / OWN_TABLES.get(kind, 'orders')}"
    summary = run(operator_of(options, table, result_path=f"{yarn.file_system}/results"))
    assert summary["verdict"] == "PASS"
    assert [a["finalStatus"] for a in yarn.applications()[before:]] == ["SUCCEEDED"]


def test_kind_without_an_operator_runs_on_the_cluster_by_the_hook(yarn: Yarn, lake: Path) -> None:
    folder = ResultFolder(f"{yarn.file_system}/results", Run().context["ti"])
    request = JobRequest((f"file://{lake / 'orders'}",), REQUESTS["init-spec"])
    hook = DeltaSparkSubmitHook(request, results=folder, conf=SMALL, delta_jars="packages")
    assert hook.run().verdict is Verdict.PASS


def test_report_comes_back_through_a_shared_folder(lake: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert run(operator_of(DetailOptions(), f"file://{lake / 'orders'}", result_path=str(results)))["verdict"] == "PASS"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_all_tables_of_a_folder_in_hdfs_are_audited_by_executors_of_their_own(
    spark: SparkSession, yarn: Yarn, lake: Path, tmp_path: Path
) -> None:
    copy_to_hdfs(spark, lake, f"{yarn.file_system}/lake")
    arguments: Mapping[str, Any] = {
        "result_path": f"{yarn.file_system}/results",
        "conf": recorded_in(tmp_path / "events"),
    }
    summary = run(operator_of(AuditOptions(level="data"), f"{yarn.file_system}/lake/*", **arguments))
    found = {table["table"].rpartition("/")[2]: table["verdict"] for table in summary["tables"]}
    assert {name: found[name] for name in ("orders", "mapped")} == dict.fromkeys(("orders", "mapped"), "PASS")
    assert_worked_elsewhere(tmp_path / "events")


def copy_to_hdfs(spark: SparkSession, folder: Path, target: str) -> None:
    """Copy a folder of this machine into HDFS."""
    hadoop = spark._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]  # the session has a JVM
    path = hadoop.Path(target)
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    path.getFileSystem(configuration).copyFromLocalFile(hadoop.Path(f"file://{folder}"), path)


@pytest.mark.parametrize("deploy_mode", ["client", "cluster"])
def test_row_ids_are_proven_by_executors_of_their_own(yarn: Yarn, lake: Path, tmp_path: Path, deploy_mode: str) -> None:
    proof = operator_of(
        PROOF,
        f"file://{lake / 'orders'}",
        deploy_mode=deploy_mode,
        result_path=f"{yarn.file_system}/results",
        conf=recorded_in(tmp_path / "events"),
    )
    assert run(proof)["verdict"] == "PASS"
    assert_worked_elsewhere(tmp_path / "events")


def test_crash_of_a_job_is_reported_with_its_traceback(yarn: Yarn, lake: Path) -> None:
    results = f"{yarn.file_system}/results"
    crashes = operator_of(
        REQUESTS["widen-types"], f"file://{lake / 'orders'}", delta_jars="provided", result_path=results
    )
    with pytest.raises(DeltaJobError, match="Traceback"):  # where there are no jars
        run(crashes)
