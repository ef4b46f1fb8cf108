"""The cluster tier: YARN and HDFS on loopback, Spark and Airflow as users have them. ``make cluster``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.jobs.spark.session import own_session
from demo.airflow_home import AirflowHome
from tests.airflow import conftest as conftest  # operators that run in this process have an Airflow of their own
from tests.cluster.kubernetes_api import KubernetesApi
from tests.cluster.yarn import Yarn
from tests.system.airflow_services import AirflowServices, airflow_home, services_of

_DAGS = Path(__file__).parent / "dags"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--minicluster", help="a file with the class path of Minicluster.java")


@pytest.fixture(scope="session")
def yarn(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    """The cluster."""
    file = pytestconfig.getoption("--minicluster")
    if not file:
        pytest.skip("needs --minicluster, as `make cluster` gives it")
    with Yarn(Path(file).read_text().strip(), tmp_path_factory.mktemp("yarn")) as cluster:
        yield cluster


@pytest.fixture(scope="session", autouse=True)
def _spark_on_path() -> Iterator[None]:
    """Have operators and drivers find spark-submit as in an environment that is active."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        yield


@pytest.fixture
def on_yarn(yarn: Yarn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have operators of this process submit to the cluster, whose drivers run there."""
    for name, value in yarn.environment.items():
        monkeypatch.setenv(name, value)
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session to make and read tables with; the jobs have their own."""
    session = own_session("cluster tests", "local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesApi]:
    """The stand-in for Kubernetes."""
    pytest.importorskip("airflow.providers.cncf.kubernetes")
    with KubernetesApi(tmp_path_factory.mktemp("kubernetes"), os.environ) as api:
        yield api


@pytest.fixture(scope="session")
def home(yarn: Yarn, kubernetes: KubernetesApi, tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """An Airflow with the DAGs of this tier and a connection to each cluster."""
    home = airflow_home(tmp_path_factory.mktemp("airflow"), _DAGS.glob("*.py"))
    home.environment.update(yarn.environment)
    for name, host in (("DEFAULT", "yarn"), ("KUBERNETES", f"k8s://{kubernetes.address}")):
        connection = {"conn_type": "spark", "host": host, "extra": {"deploy-mode": "cluster"}}
        home.environment[f"AIRFLOW_CONN_SPARK_{name}"] = json.dumps(connection)
    home.environment["AIRFLOW__KUBERNETES_EXECUTOR__IN_CLUSTER"] = "False"
    home.environment["AIRFLOW__KUBERNETES_EXECUTOR__CONFIG_FILE"] = str(kubernetes.kube_config())
    home.environment["UPLOADS"] = str(tmp_path_factory.mktemp("uploads"))
    home.environment["AIRFLOW__DELTA_PROVIDER__RESULT_PATH"] = f"{yarn.file_system}/results"
    # A task whose worker was killed is noticed after so many seconds.
    home.environment["AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT"] = "20"
    home.environment["AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL"] = "5"
    # So are the tasks of a scheduler that was killed.
    home.environment["AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL"] = "20"
    home.finish_migration(home.start_migration())
    return home


@pytest.fixture(scope="session")
def services(home: AirflowHome) -> Iterator[AirflowServices]:
    """Scheduler, API server and what belongs to them."""
    with services_of(home) as services:
        yield services
