"""Drivers that run on without the worker, through a real scheduler."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from tests.cluster.kubernetes_api import KubernetesApi
from tests.cluster.yarn import Yarn
from tests.system.airflow_services import AirflowServices, DagRun
from tests.system.orders_table import orders, with_row_tracking, without_row_ids
from tests.system.process_tree import wait_for, with_descendants
from tests.tables import log

#: Seconds for a job on the cluster, on a busy machine.
LONG = 600


def ended(run: DagRun) -> bool:
    return run.state in ("success", "failed")


def kill_worker(services: AirflowServices) -> None:
    """Kill the process that runs the task, and what it started; one that waits for tasks has a lock on their queue."""
    busy = [process for process in services.below("airflow worker") if "<idle>" not in " ".join(process.cmdline())]
    assert busy
    for process in with_descendants(busy):
        with suppress(psutil.NoSuchProcess):  # it ended with another
            process.kill()


def started(yarn: Yarn, before: int) -> str:
    """Return the id of the application that was submitted after ``before`` others, as soon as YARN runs it."""
    wait_for(
        lambda: [a for a in yarn.applications()[before:] if a["state"] == "RUNNING"],
        "an application that runs",
        LONG,
        every=1,
    )
    return str(yarn.applications()[before]["id"])


def test_task_whose_worker_is_killed_attaches_to_the_driver(
    spark: SparkSession, services: AirflowServices, yarn: Yarn, tmp_path: Path
) -> None:
    table, before = orders(spark, tmp_path / "orders"), len(yarn.applications())
    run = services.trigger("widen_on_yarn", table=f"file://{table}")
    started(yarn, before)
    kill_worker(services)
    wait_for(lambda: ended(run), "the end of the run", LONG, every=1)
    assert (run.state, run.tries("widen") > 1) == ("success", True)
    assert len(yarn.applications()) == before + 1
    assert run.result("widen")["changed"] is True
    assert log.fields(table)["quantity"]["type"] == "long"


def test_driver_outlives_the_scheduler(
    spark: SparkSession, services: AirflowServices, yarn: Yarn, tmp_path: Path
) -> None:
    table, before = orders(spark, tmp_path / "orders"), len(yarn.applications())
    run = services.trigger("widen_on_yarn", table=f"file://{table}")
    started(yarn, before)
    services.kill("scheduler")
    services.start("scheduler")
    wait_for(lambda: ended(run), "the end of the run", LONG, every=1)
    assert (run.state, run.result("widen")["changed"]) == ("success", True)
    assert len(yarn.applications()) == before + 1


def test_application_that_is_killed_fails_the_try_and_the_next_one_submits_again(
    spark: SparkSession, services: AirflowServices, yarn: Yarn, tmp_path: Path
) -> None:
    table, before = orders(spark, tmp_path / "orders"), len(yarn.applications())
    run = services.trigger("widen_on_yarn", table=f"file://{table}")
    yarn.kill(started(yarn, before))
    wait_for(lambda: ended(run), "the end of the run", LONG, every=1)
    assert run.state == "success"
    said = run.task_log("widen", 1)
    assert "DeltaJobError" in said
    assert "KILLED" in said
    assert [a["finalStatus"] for a in yarn.applications()[before:]] == ["KILLED", "SUCCEEDED"]


def test_task_that_is_marked_failed_kills_its_driver(
    spark: SparkSession, services: AirflowServices, yarn: Yarn, tmp_path: Path
) -> None:
    table, before = orders(spark, tmp_path / "orders"), len(yarn.applications())
    run = services.trigger("widen_on_yarn", table=f"file://{table}")
    application = started(yarn, before)
    run.mark_failed("widen")
    wait_for(
        lambda: any(a["id"] == application and a["finalStatus"] == "KILLED" for a in yarn.applications()),
        "the end of the driver",
        LONG,
        every=1,
    )


def test_violation_fails_the_task_and_the_cleared_task_judges_the_repaired_table(
    spark: SparkSession, services: AirflowServices, yarn: Yarn, tmp_path: Path
) -> None:
    table, before = without_row_ids(spark, tmp_path / "orders"), len(yarn.applications())
    run = services.trigger("audit_on_yarn", table=f"file://{table}")
    wait_for(lambda: ended(run), "the end of the run", LONG, every=1)
    assert run.state == "failed"
    assert "DeltaViolationError" in run.task_log("audit", 1)
    shutil.rmtree(table)
    with_row_tracking(spark, table)
    run.clear()
    wait_for(lambda: run.tries("audit") > 1 and ended(run), "the end of the cleared run", LONG, every=1)
    assert run.state == "success"
    assert [a["finalStatus"] for a in yarn.applications()[before:]] == ["SUCCEEDED", "SUCCEEDED"]


def pod_that_runs(kubernetes: KubernetesApi, before: int) -> str:
    """Return the name of the pod that was made after ``before`` others, as soon as its driver runs."""
    wait_for(lambda: list(kubernetes.pods)[before:], "a pod", LONG, every=1)
    wait_for(lambda: kubernetes.pods[list(kubernetes.pods)[before]]["status"]["phase"] != "Pending", "a driver", LONG)
    return list(kubernetes.pods)[before]


def test_task_on_kubernetes_whose_worker_is_killed_attaches_to_the_pod(
    spark: SparkSession, services: AirflowServices, kubernetes: KubernetesApi, tmp_path: Path
) -> None:
    table, before = orders(spark, tmp_path / "orders"), len(kubernetes.pods)
    run = services.trigger("widen_on_kubernetes", table=f"file://{table}")
    pod_that_runs(kubernetes, before)
    kill_worker(services)
    wait_for(lambda: ended(run), "the end of the run", LONG, every=1)
    assert (run.state, run.tries("widen") > 1) == ("success", True)
    assert len(kubernetes.pods) == before + 1
    assert log.fields(table)["quantity"]["type"] == "long"


def test_pod_that_is_evicted_fails_the_try_with_the_reason_and_the_next_one_submits_again(
    spark: SparkSession, services: AirflowServices, kubernetes: KubernetesApi, tmp_path: Path
) -> None:
    table, before = orders(spark, tmp_path / "orders"), len(kubernetes.pods)
    run = services.trigger("widen_on_kubernetes", table=f"file://{table}")
    kubernetes.evict(pod_that_runs(kubernetes, before))
    wait_for(lambda: ended(run), "the end of the run", LONG, every=1)
    assert run.state == "success"
    assert "Evicted: The node was low on resource" in run.task_log("widen", 1)
    assert len(kubernetes.pods) == before + 2
