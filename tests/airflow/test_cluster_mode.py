"""Drivers that run on a cluster: their reports, and what the next try of a task does about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import airflow.providers.apache.spark.hooks.spark_submit as spark_submit_of_airflow
import airflow.sdk
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.exceptions import (
    DeltaConnectionError,
    DeltaJobError,
    DeltaRequestError,
    DeltaViolationError,
)
from airflow_delta_provider.hooks.cluster import check_uploads
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from airflow_delta_provider.hooks.settings_file import HadoopConfiguration
from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.resource_manager import ResourceManager, resource_manager
from tests.airflow.test_operators import Run, Store

__all__ = ["resource_manager", "spark_submit"]

follows = pytest.mark.skipif(
    not hasattr(airflow.sdk, "ResumableJobMixin"), reason="Airflow attaches to no jobs of earlier tries before 3.3"
)

#: What spark-submit does on YARN: the driver runs elsewhere, and here as soon as it is asked what became of it.
DRIVER = """
from urllib.request import Request, urlopen
folder = arguments[-1].removeprefix("file://")
os.makedirs(folder, exist_ok=True)
open(f"{{folder}}/{{submission}}.begun", "w").write(submission)
tables = [TableReport(t, Verdict("{verdict}")) for t in request["tables"]]
document = JobReport(request["kind"], "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:01+00:00", tuple(tables), {{}})
content = {{"submission": submission, "report": document.to_json()}}
if {reports}:
    open(f"{{folder}}/{{submission}}.json", "w").write({content})
number = len(open(os.environ["FAKE_RECORD"]).readlines())
application = {{
    "id": f"application_1_{{number}}",
    "state": "{state}",
    "finalStatus": "{final}",
    "diagnostics": "{diagnostics}",
    "applicationTags": settings["spark.yarn.tags"],
}}
urlopen(Request({manager!r} + "/ws/v1/cluster/apps", json.dumps(application).encode(), method="POST")).close()
if {prints}:
    print("INFO Client: Submitted application", application["id"], flush=True)
"""


class Cluster:
    """What the next drivers do, and the applications that there were."""

    def __init__(self, fake: FakeSparkSubmit, manager: ResourceManager) -> None:
        self._fake = fake
        self.manager = manager
        self.does()

    def does(
        self,
        verdict: str = "PASS",
        *,
        reports: bool = True,
        prints: bool = True,
        state: str = "FINISHED",
        final: str = "SUCCEEDED",
        diagnostics: str = "",
        content: str = "json.dumps(content)",
    ) -> None:
        """Choose what the next drivers do."""
        self._fake.does(
            DRIVER.format(
                verdict=verdict,
                reports=reports,
                prints=prints,
                state=state,
                final=final,
                diagnostics=diagnostics,
                content=content,
                manager=self.manager.address,
            )
        )

    @property
    def submitted(self) -> list[str]:
        """The applications, in order."""
        return sorted(self.manager.applications)


@pytest.fixture
def cluster(
    spark_submit: FakeSparkSubmit, resource_manager: ResourceManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Cluster:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    connection = {
        "conn_type": "spark",
        "host": "yarn",
        "extra": {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": resource_manager.address},
    }
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    return Cluster(spark_submit, resource_manager)


@pytest.fixture
def enable(tmp_path: Path) -> Callable[..., DeltaEnableFeatureOperator]:
    def enable(**arguments: Any) -> DeltaEnableFeatureOperator:
        defaults = {"task_id": "t", "table": "/t", "features": ["typeWidening"], "delta_jars": "provided"}
        return DeltaEnableFeatureOperator(**{**defaults, "result_path": str(tmp_path / "results"), **arguments})

    return enable


Enable = Callable[..., DeltaEnableFeatureOperator]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_report_of_a_driver_elsewhere_comes_through_the_folder_which_is_empty_afterwards(
    cluster: Cluster, enable: Enable, tmp_path: Path
) -> None:
    run = Run(Store())
    assert enable().execute(run.context)["verdict"] == "PASS"
    assert files(tmp_path / "results") == []
    assert dict(run.context["task_state_store"]) == {}


def test_driver_is_found_by_its_tag_where_the_log_does_not_name_it(cluster: Cluster, enable: Enable) -> None:
    cluster.does(prints=False)
    assert enable().execute(Run(Store()).context)["verdict"] == "PASS"


@follows
def test_application_gets_one_attempt_and_keeps_the_tags_that_were_set(
    cluster: Cluster, enable: Enable, spark_submit: FakeSparkSubmit
) -> None:
    enable(conf={"spark.yarn.tags": "mine"}).execute(Run(Store()).context)
    (settings,) = spark_submit.settings
    assert settings["spark.yarn.maxAppAttempts"] == "1"
    assert settings["spark.yarn.tags"].startswith("mine,delta-provider-")
    assert settings["spark.yarn.submit.waitAppCompletion"] == "false"


class WorkerKilled(BaseException):
    """What ends a task in the middle, and leaves nobody to tidy up."""


@follows
def test_next_try_takes_the_report_of_a_driver_that_ended_while_no_worker_was_there(
    cluster: Cluster, enable: Enable, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store()
    killed_while_it_waits(enable, store, monkeypatch)
    assert cluster.submitted == ["application_1_1"]
    cluster.does("VIOLATED")
    assert enable().execute(Run(store, try_number=2).context)["verdict"] == "PASS"
    assert (cluster.submitted, dict(store)) == (["application_1_1"], {})


@follows
def test_next_try_attaches_though_the_worker_was_killed_before_it_knew_the_driver(
    cluster: Cluster, enable: Enable, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store()
    killed_while_it_waits(enable, store, monkeypatch)
    del store["spark_job_id"]
    assert enable().execute(Run(store, try_number=2).context)["verdict"] == "PASS"
    assert cluster.submitted == ["application_1_1"]


def killed_while_it_waits(enable: Enable, store: Store, monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> None:
    """Run a try whose worker is killed when its driver was submitted."""

    def killed(*_: Any) -> None:
        raise WorkerKilled

    with monkeypatch.context() as patched:
        patched.setattr(DeltaSparkSubmitHook, "_start_yarn_application_status_tracking", killed)
        with pytest.raises(WorkerKilled):
            enable(**arguments).execute(Run(store).context)


@follows
def test_driver_of_a_later_try_is_not_mistaken_for_that_of_an_earlier_one_where_the_log_does_not_name_it(
    cluster: Cluster, enable: Enable, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store()
    cluster.does(state="KILLED", final="KILLED", reports=False)
    killed_while_it_waits(enable, store, monkeypatch)
    assert store["spark_job_id"] == "application_1_1"
    cluster.does(state="RUNNING", final="UNDEFINED", reports=False, prints=False)
    killed_while_it_waits(enable, store, monkeypatch)
    assert store["spark_job_id"] == "application_1_2"


@follows
def test_cleared_task_runs_again_though_an_earlier_driver_has_left_its_report(
    cluster: Cluster, enable: Enable, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store()
    killed_while_it_waits(enable, store, monkeypatch)
    cluster.does("VIOLATED")
    with pytest.raises(DeltaViolationError):
        enable().execute(Run(store, try_number=2, max_tries=4).context)
    assert len(cluster.submitted) == 2


def test_task_that_is_cleared_after_a_violation_runs_again(cluster: Cluster, enable: Enable) -> None:
    store = Store()
    cluster.does("VIOLATED")
    with pytest.raises(DeltaViolationError):
        enable().execute(Run(store).context)
    cluster.does("PASS")
    assert enable().execute(Run(store, try_number=2, max_tries=4).context)["verdict"] == "PASS"
    assert len(cluster.submitted) == 2


@follows
def test_driver_that_does_something_else_is_killed_before_another_is_submitted(
    cluster: Cluster, enable: Enable, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store()
    cluster.does(state="RUNNING", final="UNDEFINED", reports=False)
    killed_while_it_waits(enable, store, monkeypatch)
    cluster.does()
    assert enable(table="/other").execute(Run(store, try_number=2).context)["verdict"] == "PASS"
    states = [(each["id"], each["state"]) for each in cluster.manager.applications.values()]
    assert states == [("application_1_1", "KILLED"), ("application_1_2", "FINISHED")]


@follows
def test_application_that_yarn_killed_fails_the_try_and_the_next_submits_again(
    cluster: Cluster, enable: Enable
) -> None:
    store = Store()
    cluster.does(state="KILLED", final="KILLED", diagnostics="preempted", reports=False)
    with pytest.raises(DeltaJobError, match=r"(?s)started, but was ended before it could report.*preempted"):
        enable().execute(Run(store).context)
    cluster.does()
    assert enable().execute(Run(store, try_number=2).context)["verdict"] == "PASS"
    assert len(cluster.submitted) == 2


def test_report_counts_though_the_application_failed_afterwards(cluster: Cluster, enable: Enable) -> None:
    cluster.does(state="FINISHED", final="FAILED", diagnostics="the session did not stop")
    assert enable().execute(Run(Store()).context)["verdict"] == "PASS"


@follows
def test_manager_that_is_gone_leaves_the_driver_to_the_next_try(
    cluster: Cluster, enable: Enable, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store()
    killed_while_it_waits(enable, store, monkeypatch)
    cluster.manager.status = 503
    for attempt in (2, 3):
        with pytest.raises(DeltaJobError, match=r"application_1_1.*Nothing was submitted"):
            enable().execute(Run(store, try_number=attempt).context)
    cluster.manager.status = 200
    assert enable().execute(Run(store, try_number=4).context)["verdict"] == "PASS"
    assert cluster.submitted == ["application_1_1"]


@follows
def test_manager_that_does_not_answer_is_reported_before_the_submit(
    cluster: Cluster, enable: Enable, spark_submit: FakeSparkSubmit
) -> None:
    store = Store()
    cluster.manager.status = 503
    with pytest.raises(DeltaJobError, match=r"YARN cannot be asked .*503.*Nothing was submitted"):
        enable().execute(Run(store).context)
    assert spark_submit.calls == []
    cluster.manager.status = 200
    assert enable().execute(Run(store, try_number=2).context)["verdict"] == "PASS"
    assert cluster.submitted == ["application_1_1"]


@follows
def test_manager_that_is_gone_while_the_driver_runs_leaves_it_to_the_next_try(
    cluster: Cluster, enable: Enable, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, looked = Store(), []

    def wait(_: float) -> None:
        looked.append(cluster.manager.status)
        cluster.manager.status = 503

    monkeypatch.setattr(spark_submit_of_airflow.time, "sleep", wait)
    cluster.does(state="RUNNING", final="UNDEFINED")
    with pytest.raises(DeltaJobError, match=r"application_1_1 is not known yet. The next try attaches to it"):
        enable().execute(Run(store).context)
    assert looked.count(503) > 3
    cluster.manager.status = 200
    cluster.manager.applications["application_1_1"].update(state="FINISHED", finalStatus="SUCCEEDED")
    assert enable().execute(Run(store, try_number=2).context)["verdict"] == "PASS"
    assert cluster.submitted == ["application_1_1"]


@follows
@pytest.mark.parametrize(("reports", "submitted"), [(True, 0), (False, 1)])
def test_application_that_yarn_has_forgotten_has_ended(
    cluster: Cluster, enable: Enable, monkeypatch: pytest.MonkeyPatch, reports: bool, submitted: int
) -> None:
    store = Store()
    cluster.does(reports=reports)
    killed_while_it_waits(enable, store, monkeypatch)
    cluster.manager.applications.clear()
    cluster.does()
    assert enable().execute(Run(store, try_number=2).context)["verdict"] == "PASS"
    assert len(cluster.submitted) == submitted


@follows
def test_damaged_report_of_an_earlier_try_is_named_before_the_job_looks_again(
    cluster: Cluster, enable: Enable, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store()
    cluster.does("VIOLATED", content="json.dumps(content)[:40]")
    killed_while_it_waits(enable, store, monkeypatch)
    cluster.does()
    assert enable().execute(Run(store, try_number=2).context)["verdict"] == "PASS"
    assert "The report of an earlier try could not be read: Unterminated string" in capsys.readouterr().out
    assert len(cluster.submitted) == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("json.dumps(content)[:40]", "The report could not be read: Unterminated string"),
        ("json.dumps({**content, 'submission': 'another'})", "answers submission 'another'"),
        ("'{}'", "it is not an answer of a job"),
        ("json.dumps({'submission': submission})", "neither a report nor an error"),
    ],
)
def test_damaged_or_foreign_report_is_refused(cluster: Cluster, enable: Enable, content: str, says: str) -> None:
    cluster.does(content=content)
    with pytest.raises(DeltaJobError, match=says):
        enable().execute(Run(Store()).context)


def test_folder_that_the_worker_cannot_write_is_reported_before_the_submit(
    cluster: Cluster, enable: Enable, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DeltaRequestError, match=r"The worker cannot use .*Nothing was submitted"):
        enable(result_path=str(tmp_path / "file")).execute(Run(Store()).context)
    with pytest.raises(DeltaJobError, match=r"The worker cannot use .*Nothing was submitted") as silent:
        enable(result_path="webhdfs://127.0.0.1:9/results").execute(Run(Store()).context)
    assert not isinstance(silent.value, AirflowFailException)
    with pytest.raises(DeltaRequestError, match="Install"):
        enable(result_path="gs://bucket/results").execute(Run(Store()).context)
    with pytest.raises(DeltaRequestError, match="relative"):
        enable(result_path="results").execute(Run(Store()).context)
    assert cluster.submitted == []


def test_without_task_state_each_try_submits(cluster: Cluster, enable: Enable) -> None:
    for attempt in (1, 2):
        assert enable().execute(Run(None, try_number=attempt).context)["verdict"] == "PASS"
    assert len(cluster.submitted) == 2


@follows
def test_resource_manager_is_taken_from_the_settings_of_hadoop(
    cluster: Cluster, enable: Enable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    with pytest.raises(DeltaConnectionError, match=r"yarn_resourcemanager_webapp_address.*durable=False"):
        enable().execute(Run(Store()).context)
    write_site(tmp_path, {"yarn.resourcemanager.webapp.address": cluster.manager.address.removeprefix("http://")})
    assert enable().execute(Run(Store()).context)["verdict"] == "PASS"


@pytest.mark.parametrize(
    ("settings", "addresses"),
    [
        ({}, ["http://nn:9870"]),
        ({"fs.defaultFS": "hdfs://nn:8020", "dfs.namenode.http-address": "0.0.0.0:50070"}, ["http://nn:50070"]),
        (
            {
                "dfs.ha.namenodes.nn:8020": "a,b",
                "dfs.namenode.http-address.nn:8020.a": "h1:1",
                "dfs.namenode.http-address.nn:8020.b": "h2:2",
            },
            ["http://h1:1", "http://h2:2"],
        ),
        (
            {
                "fs.defaultFS": "hdfs://nn:8020",
                "dfs.http.policy": "HTTPS_ONLY",
                "dfs.namenode.https-address": "nn:9871",
            },
            ["https://nn:9871"],
        ),
    ],
)
def test_addresses_of_name_nodes_follow_from_the_settings_of_hadoop(
    tmp_path: Path, settings: dict[str, str], addresses: list[str]
) -> None:
    write_site(tmp_path, settings)
    assert HadoopConfiguration({"HADOOP_CONF_DIR": str(tmp_path)}).web_hdfs("nn:8020") == addresses


def write_site(folder: Path, settings: dict[str, str]) -> None:
    """Write settings of Hadoop."""
    entries = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()
    )
    (folder / "yarn-site.xml").write_text(f"<configuration>{entries}</configuration>")


@pytest.mark.parametrize(
    ("master", "says"),
    [
        ("local[2]", "always runs on the worker"),
        ("spark://m:7077", "no Python application in deploy mode cluster on a standalone cluster"),
    ],
)
def test_masters_that_run_no_driver_of_ours_are_refused(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, master: str, says: str
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": master}))
    request = JobRequest(("/t",), EnableFeatureOptions(features=("typeWidening",)))
    with pytest.raises(DeltaConnectionError, match=says):
        DeltaSparkSubmitHook(request, deploy_mode="cluster")


def test_deploy_mode_cluster_without_a_folder_is_refused_before_the_submit(cluster: Cluster, enable: Enable) -> None:
    with pytest.raises(DeltaRequestError, match=r"result_path of the task, or \[delta_provider\] result_path"):
        enable(result_path=None).execute(Run(Store()).context)
    assert cluster.submitted == []


def test_folder_of_the_configuration_is_used(
    cluster: Cluster, enable: Enable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__RESULT_PATH", str(tmp_path / "configured"))
    assert enable(result_path=None).execute(Run(Store()).context)["verdict"] == Verdict.PASS.value
    assert (tmp_path / "configured").is_dir()


def test_kubernetes_needs_a_place_for_the_files_of_the_job() -> None:
    connection = {"master": "k8s://https://api:6443", "deploy_mode": "cluster"}
    with pytest.raises(DeltaConnectionError, match=r"spark\.kubernetes\.file\.upload\.path"):
        check_uploads(connection, dict)
    check_uploads(connection, lambda: {"spark.kubernetes.file.upload.path": "s3a://lake-ops/uploads"})


@pytest.mark.parametrize("other", [{"deploy_mode": "client"}, {"master": "yarn"}])
def test_settings_of_spark_are_not_read_where_nothing_depends_on_them(other: dict[str, str]) -> None:
    def unreadable() -> dict[str, str]:
        raise AssertionError("read")

    check_uploads({"master": "k8s://https://api:6443", "deploy_mode": "cluster", **other}, unreadable)
