"""One store at a time: Spark resolves the jars of its connector when its JVM starts."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from tests.airflow import conftest as conftest
from tests.stores.emulators import EMULATORS, Store

#: What the operators' arguments are as settings of Spark.
_SETTINGS = {"packages": "spark.jars.packages", "jars": "spark.jars"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store", help="s3, azure or gcs, and the command that serves it: s3=/path/to/moto_server")


@pytest.fixture(scope="session")
def store(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Start the server; Airflow has its connection as ``store``, and one of a local Spark."""
    name, _, command = (pytestconfig.getoption("--store") or "").partition("=")
    if not command:
        pytest.skip("needs --store, as `make s3`, `make azure` and `make gcs` give it")
    with (
        EMULATORS[name](command, tmp_path_factory.mktemp("server")) as served,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("AIRFLOW_CONN_STORE", json.dumps(served.connection))
        environment.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
        environment.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # spark-submit is there
        environment.setenv("AIRFLOW__DELTA_PROVIDER__CLASS_DATA_SHARING", "True")
        yield served


@pytest.fixture(scope="session")
def conf(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of settings for drivers that have no connection."""
    folder = tmp_path_factory.mktemp("conf")
    connector = {_SETTINGS[argument]: value for argument, value in store.connector.items()}
    settings = {**connector, **store.settings, **store.keys}
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    return folder


@pytest.fixture(scope="session")
def session(conf: Path) -> Iterator[SparkDeltaSession]:
    """Return a session that makes tables; jobs have their own."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPARK_CONF_DIR", str(conf))
        spark = own_session("tests", "local[2]")
    yield SparkDeltaSession(spark)
    spark.stop()
    logging.getLogger("py4j.clientserver").setLevel(logging.WARNING)  # it speaks when pytest's streams are closed
