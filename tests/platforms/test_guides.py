"""DAGs of the guides of platforms: what their operators send is what the platforms take, and their jobs run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.amazon.aws.operators.emr import EmrAddStepsOperator, EmrServerlessStartJobOperator
from airflow.providers.apache.livy.hooks.livy import LivyHook
from airflow.providers.apache.livy.operators.livy import LivyOperator
from airflow.providers.databricks.operators.databricks import DatabricksSubmitRunOperator
from airflow.providers.google.cloud.operators.dataproc import DataprocCreateBatchOperator, DataprocSubmitJobOperator
from airflow.sdk import DAG

from airflow_delta_provider.command_line.parser import kind_of, table_parser
from airflow_delta_provider.domain.engine.spark_library import LEAN_JAVA_OPTIONS
from airflow_delta_provider.domain.report.report import ReportPlace
from airflow_delta_provider.jobs.spark.session import own_session
from airflow_delta_provider.operators.judge_report import DeltaReportOperator
from scripts import dist
from tests.airflow.test_docs import PLATFORM_DAGS, kept
from tests.airflow.test_judge_report import Judged

pytestmark = pytest.mark.soak

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
#: Words of spark-submit before the application.
_BEFORE = ("spark-submit", "--deploy-mode", "client", "--conf", "spark.pyspark.python=/usr/bin/python3.11")


def serverless(operator: EmrServerlessStartJobOperator) -> tuple[str, Sequence[str]]:
    from botocore.session import Session

    sent = {
        "applicationId": operator.application_id,
        "executionRoleArn": operator.execution_role_arn,
        "jobDriver": operator.job_driver,
        "clientToken": operator.client_request_token,
    }
    validate(Session(), "emr-serverless", "StartJobRun", sent)
    submit = operator.job_driver["sparkSubmit"]
    return submit["entryPoint"], submit["entryPointArguments"]


def step(operator: EmrAddStepsOperator) -> tuple[str, Sequence[str]]:
    from botocore.session import Session

    validate(Session(), "emr", "AddJobFlowSteps", {"JobFlowId": operator.job_flow_id, "Steps": operator.steps})
    assert operator.wait_for_completion
    (only,) = operator.steps
    words = only["HadoopJarStep"]["Args"]
    assert tuple(words[: len(_BEFORE)]) == _BEFORE
    return words[len(_BEFORE)], words[len(_BEFORE) + 1 :]


def validate(session: Any, service: str, operation: str, sent: dict[str, Any]) -> None:
    from botocore.validate import ParamValidator

    shape = session.get_service_model(service).operation_model(operation).input_shape
    errors = ParamValidator().validate(sent, shape)
    assert not errors.has_errors(), errors.generate_report()


def cluster_job(operator: DataprocSubmitJobOperator) -> tuple[str, Sequence[str]]:
    from google.cloud.dataproc_v1.types import Job

    job = Job(operator.job).pyspark_job
    return job.main_python_file_uri, list(job.args)


def batch(operator: DataprocCreateBatchOperator) -> tuple[str, Sequence[str]]:
    from google.cloud.dataproc_v1.types import Batch

    sent = Batch(operator.batch).pyspark_batch
    return sent.main_python_file_uri, list(sent.args)


def livy(operator: LivyOperator) -> tuple[str, Sequence[str]]:
    assert operator._polling_interval > 0
    sent = LivyHook.build_post_batch_body(**{k: v for k, v in operator.spark_params.items() if v is not None})
    return sent["file"], sent["args"]


def databricks(operator: DatabricksSubmitRunOperator) -> tuple[str, Sequence[str]]:
    task = operator.spark_python_task
    assert isinstance(task, dict)
    assert set(task) == {"python_file", "parameters"}
    return task["python_file"], task["parameters"]


#: Operators that submit, with what returns the application and its arguments of what they send.
SUBMITTED: dict[type, Callable[[Any], tuple[str, Sequence[str]]]] = {
    EmrServerlessStartJobOperator: serverless,
    EmrAddStepsOperator: step,
    DataprocSubmitJobOperator: cluster_job,
    DataprocCreateBatchOperator: batch,
    LivyOperator: livy,
    DatabricksSubmitRunOperator: databricks,
}


def dag_of(page: Path, code: str) -> DAG:
    made: list[DAG] = []
    exec(compile(code.replace("with DAG(", "with _dag("), str(page), "exec"), {"_dag": kept(made)})
    return made[0]


@pytest.fixture(params=PLATFORM_DAGS, ids=lambda shown: shown[0].stem)
def shown(request: pytest.FixtureRequest) -> tuple[str, Sequence[str], DeltaReportOperator]:
    """Return what a DAG of a guide submits, and the task that judges it."""
    dag = dag_of(*request.param)
    submit, judge = dag.topological_sort()
    assert isinstance(judge, DeltaReportOperator)
    return *SUBMITTED[type(submit)](submit), judge


def test_every_platform_has_its_dags() -> None:
    found = {type(dag_of(page, code).topological_sort()[0]) for page, code in PLATFORM_DAGS}
    assert found == set(SUBMITTED)


def test_application_gets_arguments_that_it_takes_and_its_report_is_the_one_that_is_judged(
    shown: tuple[str, Sequence[str], DeltaReportOperator],
) -> None:
    application, arguments, judge = shown
    assert application.endswith("delta_provider.py")
    kind = kind_of(arguments[0])
    assert kind is not None
    parsed = table_parser(arguments[0], kind).parse_intermixed_args(arguments[1:])
    assert parsed.exit_zero
    assert without_scheme(parsed.report) == without_scheme(ReportPlace(judge.report_uri).bare)
    assert "run_id" in judge.report_uri


def without_scheme(uri: str) -> str:
    """S3 is ``s3a`` to Hadoop."""
    return re.sub(r"^s3a:", "s3:", uri)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    session = own_session("platforms", "local[2]")
    session.sql(
        f"CREATE TABLE delta.`{folder}/orders` USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true') "
        "AS SELECT CAST(id AS int) AS quantity FROM range(100)"
    )
    session.stop()
    dist.main(str(folder / "dist"))
    return folder


def test_job_runs_and_its_report_is_judged(
    shown: tuple[str, Sequence[str], DeltaReportOperator], lake: Path, tmp_path: Path
) -> None:
    """As the platforms do: ``spark-submit`` of the file, and for Databricks the text of its script, compiled."""
    application, arguments, _ = shown
    shutil.copytree(lake / "orders", tmp_path / "orders")
    local = [str(tmp_path / "orders") if "lake/" in word or word.startswith("main.") else word for word in arguments]
    local[local.index("--report") + 1] = (tmp_path / "report.json").as_uri()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYSPARK_PYTHON"] = sys.executable
    if application.endswith("run_delta_provider.py"):
        command = [sys.executable, "-c", databricks_run(lake), *local]
    else:
        command = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
        command += ["--packages", "io.delta:delta-spark_4.2_2.13:4.4.0", "--driver-java-options", LEAN_JAVA_OPTIONS]
        command += [str(lake / "dist" / "delta_provider.py"), *local]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert Judged(tmp_path).execute()["verdict"] == "PASS", json.loads((tmp_path / "report.json").read_text())


def databricks_run(lake: Path) -> str:
    """Return a program that runs the script of the guide with a session that is there already."""
    text = (GUIDES / "databricks.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n# run_delta_provider.py\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    (lake / "run_delta_provider.py").write_text(
        script.replace("/Volumes/ops/jobs/files/", f"{lake}/dist/"), encoding="utf-8"
    )
    return f"""
import os
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
spark = configure_spark_with_delta_pip(
    SparkSession.builder.master("local[2]")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
).getOrCreate()
os.environ["DATABRICKS_RUNTIME_VERSION"] = "18.0"
filename = {str(lake / "run_delta_provider.py")!r}
with open(filename, "rb") as f:
    exec(compile(f.read(), filename, "exec"))
"""
