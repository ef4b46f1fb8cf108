"""What goes wrong between worker, driver, cluster and storage: one clear error each, and no change is made twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from fsspec.implementations.webhdfs import WebHDFS
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.request.change_options import CreateTableOptions
from airflow_delta_provider.exceptions import DeltaJobError, DeltaRequestError
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from airflow_delta_provider.hooks.results import ResultFolder
from airflow_delta_provider.operators.delta_job import DeltaJobOperator
from tests.airflow.test_operators import Run, Store
from tests.cluster.operators import operator_of, run
from tests.cluster.relay import Relay
from tests.cluster.yarn import Yarn
from tests.every_kind import REQUESTS
from tests.system.orders_table import orders
from tests.system.process_tree import wait_for
from tests.tables import log

pytestmark = pytest.mark.usefixtures("on_yarn")

#: The commits of a table that was widened once, made of two.
WIDENED_ONCE = 3


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    return orders(spark, tmp_path / "orders")


@pytest.fixture
def widen(yarn: Yarn, table: Path) -> Callable[..., DeltaJobOperator]:
    """Return an operator that widens a column of the table."""

    def widen(**arguments: Any) -> DeltaJobOperator:
        defaults = {"result_path": f"{yarn.file_system}/results"}
        return operator_of(REQUESTS["widen-types"], f"file://{table}", **{**defaults, **arguments})

    return widen


Widen = Callable[..., DeltaJobOperator]


@pytest.fixture
def hdfs(yarn: Yarn) -> WebHDFS:
    """The files of the cluster."""
    host, _, port = yarn.web_hdfs.partition("://")[2].partition(":")
    return WebHDFS(host=host, port=int(port), user="root")


@pytest.fixture
def way_to_yarn(yarn: Yarn, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """A way to the resource manager's API that can be cut."""
    with Relay(yarn.manager) as relay:
        extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": relay.address}
        connection = {"conn_type": "spark", "host": "yarn", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        yield relay


def test_manager_that_is_gone_is_reported_before_the_submit(yarn: Yarn, widen: Widen, way_to_yarn: Relay) -> None:
    before = len(yarn.applications())
    way_to_yarn.cut()
    with pytest.raises(DeltaJobError, match=r"YARN cannot be asked .*Nothing was submitted") as gone:
        run(widen())
    assert may_be_retried(gone.value)
    assert len(yarn.applications()) == before


def may_be_retried(error: BaseException) -> bool:
    return not isinstance(error, AirflowFailException)


def test_manager_that_is_gone_while_the_driver_runs_leaves_it_to_a_later_try(
    yarn: Yarn, table: Path, widen: Widen, way_to_yarn: Relay
) -> None:
    before, store = len(yarn.applications()), Store()

    def cut_while_it_runs() -> None:
        wait_for(lambda: [a for a in yarn.applications()[before:] if a["state"] == "RUNNING"], "a driver", 300)
        way_to_yarn.cut()

    cutting = threading.Thread(target=cut_while_it_runs)
    cutting.start()
    with pytest.raises(DeltaJobError, match=r"is not known yet\. The next try attaches to it") as unknown:
        run(widen(), store)
    cutting.join()
    with pytest.raises(DeltaJobError, match=r"does not report the state of .* Nothing was submitted") as silent:
        run(widen(), store, attempt=2)
    assert all(may_be_retried(error.value) for error in (unknown, silent))
    way_to_yarn.restore()
    assert run(widen(), store, attempt=3)["changed"] is True
    assert len(yarn.applications()) == before + 1
    assert log.newest(table) == WIDENED_ONCE


@pytest.mark.parametrize(
    ("tampered", "says"),
    [
        (lambda content: content[:40], "Unterminated string"),
        (lambda content: json.dumps({**json.loads(content), "submission": "x"}).encode(), "answers submission 'x'"),
    ],
    ids=["truncated", "of another submission"],
)
def test_report_that_is_not_the_drivers_is_not_judged_and_the_next_try_finds_the_change_done(
    yarn: Yarn,
    table: Path,
    widen: Widen,
    hdfs: WebHDFS,
    monkeypatch: pytest.MonkeyPatch,
    tampered: Callable[[bytes], bytes],
    says: str,
) -> None:
    store, receive = Store(), DeltaSparkSubmitHook.receive

    def tampered_first(hook: DeltaSparkSubmitHook, failure: Exception | None = None) -> Any:
        (file,) = (name for name in hdfs.find("/results") if name.endswith(f"{hook.submission}.json"))
        hdfs.pipe_file(file, tampered(hdfs.cat_file(file)))
        return receive(hook, failure)

    with monkeypatch.context() as patched:
        patched.setattr(DeltaSparkSubmitHook, "receive", tampered_first)
        with pytest.raises(DeltaJobError, match=says) as refused:
            run(widen(), store)
    assert may_be_retried(refused.value)
    assert log.newest(table) == WIDENED_ONCE
    again = run(widen(), store, attempt=2)
    assert (again["verdict"], again["changed"]) == ("PASS", True)  # by the first try, of this task
    assert log.newest(table) == WIDENED_ONCE


def test_report_of_an_earlier_submission_is_removed_by_a_fresh_one(yarn: Yarn, widen: Widen, hdfs: WebHDFS) -> None:
    earlier = ResultFolder(f"{yarn.file_system}/results", Run().context["ti"]).file("earlier")
    folder, document = hdfs._strip_protocol(earlier.folder), {"message": "an old crash", "traceback": ""}
    hdfs.makedirs(folder, exist_ok=True)
    hdfs.pipe_file(f"{folder}/earlier.json", json.dumps(earlier.content("error", document)).encode())
    assert run(widen())["changed"] is True
    assert not hdfs.exists(folder)


def test_folder_that_the_worker_may_not_use_is_refused_before_the_submit(
    yarn: Yarn, widen: Widen, hdfs: WebHDFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    hdfs.mkdir("/closed")
    hdfs._call("SETPERMISSION", method="put", path="/closed", permission="700")
    before = len(yarn.applications())
    monkeypatch.setenv("HADOOP_USER_NAME", "alice")
    with pytest.raises(DeltaRequestError, match=r"Permission denied: user=alice.*Nothing was submitted") as denied:
        run(widen(result_path=f"{yarn.file_system}/closed/results"))
    assert not may_be_retried(denied.value)
    assert len(yarn.applications()) == before


def test_folder_that_the_worker_cannot_reach_is_reported_before_the_submit(yarn: Yarn, widen: Widen) -> None:
    before = len(yarn.applications())
    with pytest.raises(DeltaJobError, match=r"Connection refused.*Nothing was submitted") as unreachable:
        run(widen(result_path="webhdfs://127.0.0.1:9/results"))
    assert may_be_retried(unreachable.value)
    assert len(yarn.applications()) == before


def test_driver_that_cannot_write_its_report_does_nothing(yarn: Yarn, tmp_path: Path) -> None:
    nowhere = {"spark.hadoop.fs.webhdfs.impl": "no.such.FileSystem"}
    results = f"{yarn.web_hdfs.replace('http://', 'webhdfs://')}/results"
    create: CreateTableOptions = REQUESTS["create-table"]  # type: ignore[assignment]  # it is what the key says
    with pytest.raises(DeltaJobError, match="did not start, or could not write") as cut_off:
        run(operator_of(create, f"file://{tmp_path}/new", result_path=results, conf=nowhere))
    assert may_be_retried(cut_off.value)
    assert "no.such.FileSystem" in yarn.driver_log(str(yarn.applications()[-1]["id"]))
    assert not (tmp_path / "new").exists()


def test_application_that_is_killed_in_a_change_is_submitted_again_and_does_the_rest(
    yarn: Yarn, table: Path, widen: Widen
) -> None:
    before, store = len(yarn.applications()), Store()

    def kill_after_a_commit() -> None:
        wait_for(lambda: log.newest(table) > 1, "the first commit", 300, every=0.1)
        yarn.kill(str(yarn.applications()[before]["id"]))

    killing = threading.Thread(target=kill_after_a_commit)
    killing.start()
    with pytest.raises(DeltaJobError, match=r"(?s)ended before it could report.*KILLED") as killed:
        run(widen(), store)
    killing.join()
    assert may_be_retried(killed.value)
    again = run(widen(), store, attempt=2)
    assert again["verdict"] == "PASS"
    assert log.newest(table) == WIDENED_ONCE
    assert [a["finalStatus"] for a in yarn.applications()[before:]] == ["KILLED", "SUCCEEDED"]


class WorkerKilled(BaseException):
    """What ends a task in the middle, and leaves nobody to tidy up."""


def test_report_of_an_application_that_yarn_has_forgotten_is_judged_without_a_submit(
    yarn: Yarn, table: Path, widen: Widen, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, before = Store(), len(yarn.applications())

    def killed(*_: object) -> None:
        raise WorkerKilled

    with monkeypatch.context() as patched:
        patched.setattr(DeltaSparkSubmitHook, "_start_yarn_application_status_tracking", killed)
        with pytest.raises(WorkerKilled):
            run(widen(), store)
    wait_for(lambda: yarn.applications()[before]["state"] == "FINISHED", "the end of the driver", 300, every=1)
    store["spark_job_id"] = store["spark_job_id"].rpartition("_")[0] + "_9999"
    assert run(widen(), store, attempt=2)["changed"] is True
    assert len(yarn.applications()) == before + 1
    assert log.newest(table) == WIDENED_ONCE
