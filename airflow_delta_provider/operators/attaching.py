"""Handling of a driver on a cluster that an earlier try submitted."""

from __future__ import annotations

from typing import cast

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowException, Context

from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.exceptions import DeltaJobError, DeltaProviderError, DeltaResultError
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from airflow_delta_provider.operators.submission_state import SubmissionState

#: Keys under which Airflow's operator keeps the id of a driver and the last phase of its pod.
_KEPT_BY_AIRFLOW = (
    getattr(SparkSubmitOperator, "external_id_key", "spark_job_id"),
    getattr(SparkSubmitOperator, "_K8S_DRIVER_STATUS_KEY", "k8s_driver_status"),
)


class AttachingOperator(SparkSubmitOperator):
    """Submits a job of this provider once, and attaches to its driver if that outlives spark-submit."""

    #: The request to submit, set before each submit.
    _request: JobRequest | None = None
    _submitted: SubmissionState | None = None

    def on_kill(self) -> None:
        """Kill the job's whole process tree, and its driver if that runs on a cluster."""
        if self._hook is not None:
            super().on_kill()

    def execute_resumable(self, context: Context) -> None:
        """Submit a driver that outlives spark-submit, or attach to an earlier try's driver, and receive its report.

        :raises DeltaJobError: if there is no report; if the driver may still run, the next try attaches to it
        """
        hook = cast("DeltaSparkSubmitHook", self._hook)
        request, durable = cast("JobRequest", self._request), bool(self.durable)
        state = self._submitted = SubmissionState(context, request, _KEPT_BY_AIRFLOW, durable=durable)
        if state.submission is not None and self._resumes(hook, state, context):
            return
        if state.submission != hook.submission:
            state.keep(hook.submission)
        failure: Exception | None = None
        try:
            super().execute_resumable(context)
        except DeltaProviderError:  # before there was a driver
            raise
        except (AirflowException, RuntimeError) as error:
            failure = error
            if state.is_kept and self._may_run(hook.driver, context):
                raise DeltaJobError(
                    f"The outcome of the driver {hook.driver} is not known yet. The next try attaches to it.\n{error}"
                ) from error
        try:
            hook.receive(failure)
        except DeltaResultError:  # the report may be there
            raise
        except DeltaJobError:
            state.forget()
            raise

    def _resumes(self, hook: DeltaSparkSubmitHook, state: SubmissionState, context: Context) -> bool:
        """Attach the hook to an earlier try's submission, unless that has ended without a report for this request.

        :return: True if its report has already been received
        """
        fresh, hook.submission = hook.submission, cast("str", state.submission)
        if state.driver is not None:
            hook.driver = state.driver
        elif (found := hook.find_driver(hook.submission)) is not None:
            state.driver = found
        try:
            is_active = hook.driver is not None and self.is_job_active(self.get_job_status(hook.driver, context))
        except Exception as error:
            raise DeltaJobError(
                f"The cluster does not report the state of the driver {hook.driver} of an earlier try: {error}. "
                "Nothing was submitted."
            ) from error
        if is_active and not state.is_of_request:
            self.log.info("The driver %s of an earlier try does something else, and is killed", hook.driver)
            super().on_kill()
            is_active = False
        if not is_active and state.is_of_request and state.is_of_run and hook.has_report():
            self.log.info("The driver %s of an earlier try has left its report", hook.driver)
            hook.receive()
            return True
        if not is_active:
            hook.submission, hook.driver = fresh, None
        return False

    def _may_run(self, driver: str | None, context: Context) -> bool:
        """Return True if a driver runs, or if the cluster does not report its state."""
        if driver is None:
            return False
        try:
            return bool(self.is_job_active(self.get_job_status(driver, context)))
        except Exception as error:
            self.log.warning("The cluster does not report the state of the driver %s: %s", driver, error)
            return True

    def _forget_submission(self) -> None:
        """Forget the submission after its report was handled, and remove its files.

        A task that is cleared then runs again.
        """
        if self._submitted is not None:
            self._submitted.forget()
        if isinstance(self._hook, DeltaSparkSubmitHook):
            self._hook.clean_up()
