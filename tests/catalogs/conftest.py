"""An Airflow of its own, and catalogs that jobs are told by ``conf``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from demo.airflow_home import AirflowHome, DagRunner
from tests.system.airflow_services import airflow_home

ROOT = Path(__file__).parents[2]
Statements = Callable[[Mapping[str, str], Sequence[str]], None]


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """An Airflow with the DAGs of these tests."""
    home = airflow_home(tmp_path_factory.mktemp("airflow"), Path(__file__).parent.glob("dags/*.py"))
    home.environment["AIRFLOW__DELTA_PROVIDER__CLASS_DATA_SHARING"] = "True"
    home.finish_migration(home.start_migration())
    return home


@pytest.fixture(scope="session")
def run_statements(tmp_path_factory: pytest.TempPathFactory) -> Statements:
    """Run statements in a session of their own, with settings that a platform would give."""

    def run_in(conf: Mapping[str, str], statements: Sequence[str]) -> None:
        folder = tmp_path_factory.mktemp("statements")
        (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in conf.items()))
        (folder / "statements.json").write_text(json.dumps(list(statements)))
        ran = subprocess.run(
            [sys.executable, "-m", "tests.catalogs.make_tables", str(folder / "statements.json")],
            env={**os.environ, "SPARK_CONF_DIR": str(folder)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert ran.returncode == 0, ran.stderr[-4000:]

    return run_in


@pytest.fixture(scope="session")
def runner_with(airflow: AirflowHome) -> Callable[[Mapping[str, str]], AbstractContextManager[DagRunner]]:
    """Run DAGs whose jobs have some settings."""

    @contextmanager
    def start(conf: Mapping[str, str]) -> Iterator[DagRunner]:
        airflow.environment["CATALOG_CONF"] = json.dumps(conf)
        with airflow.runner() as runner:
            yield runner

    return start
