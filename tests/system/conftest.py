"""The system tier: one Airflow home and one Spark session for the whole of it, everything else real too."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.jobs.spark.session import own_session
from demo.airflow_home import AirflowHome, DagRunner, TaskOutcome
from demo.process_tree import end_tree
from tests.system.airflow_services import AirflowServices, airflow_home, services_of
from tests.system.lake import copy_example

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session to make and read tables with; the jobs have their own."""
    session = own_session("system tests", "local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowHome]:
    """An Airflow with the example DAGs and those of the tests; at the end none of its processes is left."""
    folder = tmp_path_factory.mktemp("airflow")
    sources = (CHECKOUT / "dags_examples", CHECKOUT / "tests" / "system" / "dags")
    home = airflow_home(folder, (file for source in sources for file in source.glob("*.py")))
    copy_example(folder / "dags", folder / "lake", ["stock.yaml"])
    # Half a minute once, and each job takes half the time; the demo's jobs run without.
    home.environment["AIRFLOW__DELTA_PROVIDER__CLASS_DATA_SHARING"] = "True"
    home.environment["AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION"] = "False"
    # Tables that DAGs watch from their parsing on, made by the tests later.
    home.environment["WATCHED_TABLE"] = str(folder / "watched")
    home.environment["AUDIT_STATE"] = str(folder / "audit-state")
    home.finish_migration(home.start_migration())
    yield home
    left = [
        process
        for process in psutil.process_iter()
        if _environment(process).get("AIRFLOW_HOME") == str(folder / "home")
    ]
    lines = [" ".join(process.cmdline()) for process in left]
    for process in left:
        end_tree(process.pid)
    assert lines == []


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except (psutil.Error, OSError):
        return {}


@pytest.fixture
def lake(airflow: AirflowHome) -> Iterator[Path]:
    """Where ``migrate_lake`` looks for its tables; of those, it migrates two here."""
    folder = Path(airflow.environment["AIRFLOW__CORE__DAGS_FOLDER"]).parent / "lake"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def services(airflow: AirflowHome) -> Iterator[AirflowServices]:
    """The services of that Airflow: scheduler, triggerer, DAG processor and API server."""
    with services_of(airflow) as services:
        yield services


@pytest.fixture(scope="session")
def runner(airflow: AirflowHome) -> Iterator[DagRunner]:
    """Runs DAGs with ``dag.test()``, in a process of its own."""
    with airflow.runner() as runner:
        yield runner


@pytest.fixture
def run_dag(runner: DagRunner) -> Callable[..., dict[str, list[TaskOutcome]]]:
    """Run a DAG; return the outcomes by task id, one a map index."""
    return lambda dag_id, **params: runner.start(dag_id, **params).outcomes()
