"""Requirements of deploy mode cluster, which runs the driver on the cluster and not on the worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_delta_provider.domain.engine.spark_master import MasterKind, SparkMaster
from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaRequestError

#: Spark's setting for the folder where it uploads the worker's files for a driver on Kubernetes.
UPLOAD_PATH = "spark.kubernetes.file.upload.path"
#: Label of driver pods with the id of their submission.
POD_LABEL = "delta-provider-submission"
_CLIENT = "Use client mode: set deploy-mode of the connection {conn_id!r} to client, or leave it out."
#: Reasons why the driver of a Python application cannot run on a cluster.
_REFUSED: Mapping[MasterKind, str] = {
    MasterKind.LOCAL: "the driver of the master {master} always runs on the worker",
    MasterKind.STANDALONE: "Spark runs no Python application in deploy mode cluster on a standalone cluster",
    MasterKind.MESOS: "Spark on Mesos is not supported in deploy mode cluster",
}


def is_cluster_mode(connection: Mapping[str, Any]) -> bool:
    return bool(connection["deploy_mode"] == "cluster")


def check_cluster_mode(connection: Mapping[str, Any], conn_id: str, result_path: object) -> None:
    """Check that a driver can run on the cluster and send its report back.

    :raises DeltaConnectionError: if Spark has no such mode with this master
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

    :param settings: function that returns all known settings of Spark; called for Kubernetes only
    :raises DeltaConnectionError: if Spark has no folder to upload them to
    """
    kind = SparkMaster.parse(connection["master"]).kind
    if kind is MasterKind.KUBERNETES and is_cluster_mode(connection) and not settings().get(UPLOAD_PATH):
        raise DeltaConnectionError(
            f"In deploy mode cluster on Kubernetes, Spark uploads the job's files for the driver, and {UPLOAD_PATH} "
            "does not say where. Set it in conf, the properties file or spark-defaults.conf to a folder that worker "
            "and driver reach, for instance s3a://lake-ops/uploads."
        )


def mark(submission: str) -> str:
    """Return the YARN tag of a submission's application."""
    return f"delta-provider-{submission}"


def marked(kind: MasterKind, submission: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that mark a submission on the cluster, so that its driver can be found.

    :param settings: current settings
    """
    if kind is MasterKind.YARN:
        tags = [*filter(None, str(settings.get("spark.yarn.tags", "")).split(",")), mark(submission)]
        # One attempt: Airflow decides about retries.
        return {"spark.yarn.maxAppAttempts": "1", **settings, "spark.yarn.tags": ",".join(tags)}
    if kind is MasterKind.KUBERNETES:
        return {**settings, f"spark.kubernetes.driver.label.{POD_LABEL}": submission}
    return dict(settings)
