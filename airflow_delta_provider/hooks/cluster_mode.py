"""What deploy mode cluster needs, in which the driver runs on the cluster and not on the worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_delta_provider.domain.engine.spark_master import MasterKind, SparkMaster
from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaRequestError

#: The setting of Spark without which it has nowhere to put files of the worker for a driver on Kubernetes.
UPLOAD_PATH = "spark.kubernetes.file.upload.path"
#: The label of driver pods that holds their submission.
POD_LABEL = "delta-provider-submission"
_CLIENT = "Use client mode: set deploy-mode of the connection {conn_id!r} to client, or leave it out."
#: Why Spark does not run the driver of a Python application elsewhere.
_REFUSED: Mapping[MasterKind, str] = {
    MasterKind.LOCAL: "the driver of the master {master} always runs on the worker",
    MasterKind.STANDALONE: "Spark runs no Python application in deploy mode cluster on a standalone cluster",
    MasterKind.MESOS: "Spark on Mesos is not supported in deploy mode cluster",
}


def is_cluster_mode(connection: Mapping[str, Any]) -> bool:
    """Whether the driver is to run on the cluster."""
    return bool(connection["deploy_mode"] == "cluster")


def check_cluster_mode(connection: Mapping[str, Any], conn_id: str, result_path: object) -> None:
    """Check that a driver can run on the cluster, and that its report can come back.

    :raises DeltaConnectionError: if Spark does not do that with this master
    :raises DeltaRequestError: if there is no folder for the report
    """
    master = SparkMaster.parse(connection["master"])
    if reason := _REFUSED.get(master.kind):
        raise DeltaConnectionError(
            f"Deploy mode cluster: {reason.format(master=master.text)}. {_CLIENT.format(conn_id=conn_id)}"
        )
    if not result_path:
        raise DeltaRequestError(
            "In deploy mode cluster the driver runs on the cluster, and its report comes back through storage that "
            "the driver and the workers of Airflow both reach. Name a folder there: result_path of the task, or "
            "[delta_provider] result_path in Airflow's configuration, for instance s3a://lake-ops/results. "
            + _CLIENT.format(conn_id=conn_id)
        )


def check_uploads(connection: Mapping[str, Any], settings: Callable[[], Mapping[str, str]]) -> None:
    """Check that the job's own files reach a driver on Kubernetes.

    :param settings: returns all settings of Spark that are known; other clusters do without
    :raises DeltaConnectionError: if Spark has nowhere to put them
    """
    kind = SparkMaster.parse(connection["master"]).kind
    if kind is MasterKind.KUBERNETES and is_cluster_mode(connection) and not settings().get(UPLOAD_PATH):
        raise DeltaConnectionError(
            f"In deploy mode cluster on Kubernetes, Spark uploads the job's files for the driver, and {UPLOAD_PATH} "
            "does not say where. Set it in conf, the properties file or spark-defaults.conf to a folder that worker "
            "and driver reach, for instance s3a://lake-ops/uploads."
        )


def mark(submission: str) -> str:
    """Return the tag of a submission's application on YARN."""
    return f"delta-provider-{submission}"


def marked(kind: MasterKind, submission: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that mark a submission on the cluster, so that its driver is found by it.

    :param settings: those that are set already
    """
    if kind is MasterKind.YARN:
        tags = [*filter(None, str(settings.get("spark.yarn.tags", "")).split(",")), mark(submission)]
        # One attempt: what follows a failure is up to Airflow.
        return {"spark.yarn.maxAppAttempts": "1", **settings, "spark.yarn.tags": ",".join(tags)}
    if kind is MasterKind.KUBERNETES:
        return {**settings, f"spark.kubernetes.driver.label.{POD_LABEL}": submission}
    return dict(settings)
