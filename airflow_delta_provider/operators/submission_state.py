"""State about a driver on a cluster, shared by the tries of the task that submitted it."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import Context

from airflow_delta_provider.airflow_release import task_state
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.operators.finished_tables import digest_of

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
