"""Jobs on a standalone cluster: the driver on the worker of Airflow, executors elsewhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaJobError
from tests.cluster.event_log import assert_worked_elsewhere, recorded_in
from tests.cluster.operators import PROOF, operator_of, run
from tests.cluster.standalone import Standalone
from tests.every_kind import REQUESTS
from tests.system.orders_table import with_stored_row_ids
from tests.system.process_tree import wait_for
from tests.tables import log


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """The cluster, and the default connection."""
    with Standalone(tmp_path_factory.mktemp("standalone")) as cluster, pytest.MonkeyPatch.context() as environment:
        connect(environment, cluster)
        yield cluster


def connect(environment: pytest.MonkeyPatch, cluster: Standalone) -> None:
    connection = {"conn_type": "spark", "host": cluster.master}
    environment.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    return with_stored_row_ids(spark, tmp_path / "orders")


@pytest.mark.parametrize(
    "options",
    [AuditOptions(level="data"), REQUESTS["widen-types"], PROOF],
    ids=lambda o: o.kind,
)
def test_job_is_done_by_executors_of_the_cluster(
    standalone: Standalone, table: Path, tmp_path: Path, options: object
) -> None:
    summary = run(operator_of(options, str(table), conf=recorded_in(tmp_path / "events")))
    assert summary["verdict"] == "PASS"
    assert standalone.executors()
    assert_worked_elsewhere(tmp_path / "events")


def test_deploy_mode_cluster_is_refused_with_what_to_set(standalone: Standalone, table: Path) -> None:
    with pytest.raises(
        DeltaConnectionError, match=r"standalone cluster\. .*set deploy-mode of the connection"
    ) as refused:
        run(operator_of(REQUESTS["widen-types"], str(table), deploy_mode="cluster", result_path="/results"))
    assert isinstance(refused.value, AirflowFailException)


def test_job_outlives_its_master_and_the_next_one_is_not_submitted(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cluster").mkdir()
    with Standalone(tmp_path / "cluster") as cluster:
        connect(monkeypatch, cluster)

        def kill_when_it_runs() -> None:
            wait_for(cluster.executors, "an executor", 120, every=0.1)
            cluster.kill_master()

        killing = threading.Thread(target=kill_when_it_runs)
        killing.start()
        summary = run(operator_of(REQUESTS["widen-types"], str(table)))
        killing.join()
        assert (summary["verdict"], summary["changed"]) == ("PASS", True)
        widened = log.newest(table)
        with pytest.raises(
            DeltaJobError, match=r"cannot be reached .*connection refused.*Nothing was submitted"
        ) as gone:
            run(operator_of(REQUESTS["enable-feature"], str(table)))
        assert not isinstance(gone.value, AirflowFailException)
        assert log.newest(table) == widened
