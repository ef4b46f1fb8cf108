"""Handling of a driver on a cluster that an earlier try submitted."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import zlib
from collections.abc import Iterable
from typing import Any, cast

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowException, Context

from airflow_delta_provider.domain.report.report import JobReport, TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.exceptions import DeltaJobError, DeltaProviderError, DeltaResultError
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from airflow_delta_provider.operators.reporting import is_retryable
from airflow_delta_provider.version_compat import task_state

log = logging.getLogger(__name__)

_KEY_OF_TABLES = "delta_finished_tables"


class FinishedTables:
    """Reports of finished tables, kept in Airflow's task state between the tries of a task.

    A cleared task starts over: clearing raises ``max_tries``, which is part of the kept state. If Airflow has no task
    state, nothing is kept and a retry processes all tables; jobs are idempotent.
    """

    def __init__(self, context: Context, request: JobRequest) -> None:
        instance: Any = context["ti"]
        self._store: Any = task_state(context)
        self._retry = instance.try_number > 1
        self._generation = f"{instance.max_tries}:{digest_of(request, 'tables')}"

    def load(self) -> dict[str, TableReport]:
        """Return the reports of tables that earlier tries finished, by table."""
        if self._store is None or not self._retry:
            return {}
        kept = self._store.get(_KEY_OF_TABLES)
        if not isinstance(kept, dict) or kept.get("generation") != self._generation:
            return {}
        return unpacked(kept["tables"])

    def save(self, report: JobReport) -> None:
        """Save the finished tables if another try may follow.

        If that fails, the next try processes all tables.
        """
        failed = [table for table in report.tables if is_retryable(table)]
        if self._store is None or not failed:
            return
        finished = [table for table in report.tables if not is_retryable(table)]
        try:
            self._store.set(_KEY_OF_TABLES, {"generation": self._generation, "tables": packed(finished)})
        except Exception:
            log.exception("The list of finished tables could not be saved; a retry does all tables again")


def digest_of(request: JobRequest, *without: str) -> str:
    """Return a digest of a request, the same in each try of a task.

    :param without: keys of its wire form to leave out, in addition to the keys that differ by try
    """
    left_out = dict.fromkeys(("receipt", "received", "retry_since", "attempt", "try_number", *without))
    return hashlib.sha256(json.dumps({**request.to_json(), **left_out}, sort_keys=True).encode()).hexdigest()


def packed(reports: Iterable[TableReport]) -> str:
    """Return reports as a string that is short enough for Airflow's database."""
    wire = json.dumps([report.to_json() for report in reports])
    return base64.b64encode(zlib.compress(wire.encode())).decode()


def unpacked(text: str) -> dict[str, TableReport]:
    """Return the reports in a string made by :func:`packed`, by table."""
    reports = map(TableReport.from_json, json.loads(zlib.decompress(base64.b64decode(text))))
    return {report.table: report for report in reports}


_KEY = "delta_submission"


class SubmissionState:
    """The submission of an earlier try, in Airflow's task state.

    It is kept from before the submission until the report is handled. If Airflow has no task state, nothing is kept.

    :param of_airflow: keys of the state that Airflow's operator keeps about the driver; the first has the driver's id
    :param durable: True if the state is to be kept
    """

    def __init__(self, context: Context, request: JobRequest, of_airflow: tuple[str, ...], *, durable: bool) -> None:
        instance: Any = context["ti"]
        self._store: Any = task_state(context) if durable else None
        self._of_airflow = of_airflow
        self._asked = digest_of(request)
        self._max_tries = instance.max_tries
        self._kept: dict[str, Any] = {}
        if self._store is not None and isinstance(kept := self._store.get(_KEY), dict):
            self._kept = kept

    @property
    def is_kept(self) -> bool:
        """True if the next try will find the submission."""
        return self._store is not None

    @property
    def submission(self) -> str | None:
        """The submission of an earlier try; None if there is none."""
        return self._kept.get("submission")

    @property
    def is_of_request(self) -> bool:
        """True if the submission was for the same request."""
        return bool(self._kept.get("asked") == self._asked)

    @property
    def is_of_run(self) -> bool:
        """True if the task was not cleared since: clearing raises its number of tries."""
        return bool(self._kept.get("max_tries") == self._max_tries)

    @property
    def driver(self) -> str | None:
        """The driver's id, as kept by Airflow's operator; None if unknown."""
        found = None if self._store is None else self._store.get(self._of_airflow[0])
        return found if isinstance(found, str) else None

    @driver.setter
    def driver(self, driver: str) -> None:
        if self._store is not None:
            self._store.set(self._of_airflow[0], driver)

    def keep(self, submission: str) -> None:
        """Keep a new submission in place of an earlier one."""
        if self._store is not None:
            self.forget()
            self._kept = {"submission": submission, "asked": self._asked, "max_tries": self._max_tries}
            self._store.set(_KEY, self._kept)

    def forget(self) -> None:
        """Delete the kept submission, so that the next try submits again."""
        self._kept = {}
        if self._store is not None:
            for key in (_KEY, *self._of_airflow):
                self._store.delete(key)


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
