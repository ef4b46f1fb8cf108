"""Airflow's hook for spark-submit, extended for drivers on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import requests
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from airflow_delta_provider.domain.engine.spark_library import MasterKind, SparkMaster
from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaJobError, DeltaRequestError
from airflow_delta_provider.hooks.settings_file import HadoopConfiguration

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


#: Seconds to connect, and to wait for an answer.
_TIMEOUT = (5, 30)


def yarn_application(manager: str, auth: Any, submission: str) -> str | None:
    """Return the id of a submission's application; None if YARN has none.

    :param manager: address of the resource manager's REST API
    :param auth: authentication for :mod:`requests`
    :raises DeltaJobError: if it does not answer
    """
    where = {"applicationTags": mark(submission)}
    try:
        answer = requests.get(f"{manager}/ws/v1/cluster/apps", params=where, auth=auth, timeout=_TIMEOUT)
        answer.raise_for_status()
        found = (answer.json().get("apps") or {}).get("app") or []
    except (requests.RequestException, ValueError) as error:
        raise _unknown("YARN", submission, error) from error
    return max((str(application["id"]) for application in found), default=None)


def is_forgotten(manager: str, auth: Any, application: str) -> bool:
    """Return True if YARN answers and does not know an application: it keeps only the latest ended ones."""
    try:
        answer = requests.get(f"{manager}/ws/v1/cluster/apps/{application}", auth=auth, timeout=_TIMEOUT)
    except requests.RequestException:
        return False
    return bool(answer.status_code == requests.codes.not_found)


def driver_pod(namespace: str, submission: str) -> str | None:
    """Return the name of a submission's driver pod; None if Kubernetes has none.

    :raises DeltaJobError: if its API does not answer
    """
    from airflow.providers.cncf.kubernetes import kube_client

    try:
        pods = kube_client.get_kube_client().list_namespaced_pod(namespace, label_selector=f"{POD_LABEL}={submission}")
    except Exception as error:  # any error of the client: configuration, network, permissions
        raise _unknown("Kubernetes", submission, error) from error
    return next((str(pod.metadata.name) for pod in pods.items), None)


def why_pod_ended(namespace: str, name: str) -> str:
    """Return Kubernetes' reason for the end of a pod, such as ``Evicted: The node was low on resource: memory.``

    :return: an empty string if there is no reason
    """
    from airflow.providers.cncf.kubernetes import kube_client

    try:
        status = kube_client.get_kube_client().read_namespaced_pod(name, namespace).status
    except Exception:  # any error of the client: the pod may be removed
        return ""
    return ": ".join(filter(None, (status.reason, status.message)))


def _unknown(cluster: str, submission: str, error: Exception) -> DeltaJobError:
    return DeltaJobError(f"{cluster} cannot be asked for the driver of submission {submission}: {error}")


class ClusterSubmitHook(SparkSubmitHook):
    """Submits applications whose drivers may outlive spark-submit: it finds and follows them on the cluster.

    The version of Airflow's hook determines which of them can be followed.
    """

    @property
    def detaches(self) -> bool:
        """True if the driver outlives spark-submit."""
        return bool(
            getattr(self, "_should_track_yarn_application_via_rm_api", bool)()
            or getattr(self, "_should_track_driver_via_k8s_api", bool)()
        )

    @property
    def driver(self) -> str | None:
        """The id of a driver on a cluster, in the form of Airflow's operator; None if unknown."""
        if self._is_yarn:
            return self._yarn_application_id
        return self._kubernetes_driver_pod and f"{self._connection['namespace']}:{self._kubernetes_driver_pod}"

    @driver.setter
    def driver(self, driver: str | None) -> None:
        if self._is_yarn:
            self._yarn_application_id = driver
        else:
            self._kubernetes_driver_pod = driver and driver.partition(":")[2]

    def find_driver(self, submission: str) -> str | None:
        """Return the id of a submission's driver; None if the cluster has none.

        Spark's log contains it, unless the log is silenced; otherwise the cluster's API is queried.

        :raises DeltaJobError: if the API does not answer
        """
        if self.driver is None and self._is_yarn:
            manager, auth = self._get_yarn_rm_base_url(), self._resolved_yarn_rm_auth
            self._yarn_application_id = yarn_application(manager, auth, submission)
        elif self.driver is None:
            self._kubernetes_driver_pod = driver_pod(self._connection["namespace"], submission)
        return self.driver

    def check_answers(self, submission: str) -> None:
        """Query the cluster before the submission: spark-submit would try for minutes to reach one that is down.

        :raises DeltaJobError: if its API does not answer, so that no driver could be followed
        """
        try:
            self.find_driver(submission)
        except DeltaJobError as error:
            raise DeltaJobError(f"{error}. Nothing was submitted.") from error

    def query_yarn_application_status(self, application_id: str) -> str:
        """Return the application's status, or FAILED if YARN has forgotten it: its outcome is then unknown."""
        try:
            return str(super().query_yarn_application_status(application_id))
        except RuntimeError:
            if is_forgotten(self._get_yarn_rm_base_url(), self._resolved_yarn_rm_auth, application_id):
                return "FAILED"
            raise

    def _detach_if_possible(self, detach: bool) -> None:
        """Make Airflow's hook follow the driver, if its version can."""
        if self._is_yarn and hasattr(self, "_yarn_track_via_rm_api"):
            self._yarn_track_via_rm_api = self._yarn_track_via_rm_api or detach
        if self._is_kubernetes and hasattr(self, "_track_driver_via_k8s_api"):
            self._track_driver_via_k8s_api = self._track_driver_via_k8s_api or detach
            self._connection["namespace"] = self._connection["namespace"] or "default"  # Spark's default

    def _poll_k8s_driver_via_api(self) -> str | None:
        """Poll like the parent, but add the reason if a pod failed."""
        try:
            phase: str | None = super()._poll_k8s_driver_via_api()
        except RuntimeError as error:
            reason = why_pod_ended(self._connection["namespace"], self._kubernetes_driver_pod or "")
            raise RuntimeError(f"{error}. {reason}" if reason else str(error)) from error
        return phase

    def _get_yarn_rm_base_url(self) -> str:
        """Return the address from the connection, as the parent does, or else from Hadoop's settings on the worker."""
        try:
            return str(super()._get_yarn_rm_base_url())
        except ValueError as error:
            self._yarn_rm_base_url = HadoopConfiguration(self._environment()).resource_manager()
            if self._yarn_rm_base_url is None:
                raise DeltaConnectionError(
                    "Following an application on YARN needs the REST API of its resource manager. Set "
                    f"yarn_resourcemanager_webapp_address in the extra of the connection {self._conn_id!r}, or "
                    "durable=False on the task: then spark-submit waits on the worker, and a try that follows a "
                    "killed worker starts over."
                ) from error
            return self._yarn_rm_base_url

    def _environment(self) -> dict[str, str]:
        if self._is_kubernetes:  # there, env_vars are for pods
            return dict(os.environ)
        return {**os.environ, **{key: str(value) for key, value in (self._env_vars or {}).items()}}
