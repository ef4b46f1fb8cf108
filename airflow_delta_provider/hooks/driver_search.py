"""Search for a submission's driver on its cluster, by the submission's mark."""

from __future__ import annotations

from typing import Any

import requests

from airflow_delta_provider.exceptions import DeltaJobError
from airflow_delta_provider.hooks.cluster_mode import POD_LABEL, mark

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
