"""Airflow's hook for spark-submit, extended for drivers on a cluster."""

from __future__ import annotations

import os

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaJobError
from airflow_delta_provider.hooks.driver_search import driver_pod, is_forgotten, why_pod_ended, yarn_application
from airflow_delta_provider.hooks.hadoop_configuration import HadoopConfiguration


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

    def _detach_where_it_can(self, detach: bool) -> None:
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
