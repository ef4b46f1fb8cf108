"""What the tries of a task know of the driver that one of them submitted, and that runs on a cluster."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import Context

from airflow_delta_provider.airflow_release import task_state
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.operators.finished_tables import digest_of

_KEY = "delta_submission"


class SubmissionState:
    """The submission of an earlier try, kept in Airflow's task state from before it is submitted until it is judged.

    Where Airflow offers no task state, nothing is kept.

    :param of_airflow: keys under which Airflow's operator keeps what it knows of the driver; the first has its id
    :param durable: whether anything is to be kept
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
        """Whether the next try will know the submission."""
        return self._store is not None

    @property
    def submission(self) -> str | None:
        """The submission of an earlier try; None where none is known."""
        return self._kept.get("submission")

    @property
    def is_of_request(self) -> bool:
        """Whether it was to do the same."""
        return bool(self._kept.get("asked") == self._asked)

    @property
    def is_of_run(self) -> bool:
        """Whether the task was not cleared since: clearing raises its number of tries."""
        return bool(self._kept.get("max_tries") == self._max_tries)

    @property
    def driver(self) -> str | None:
        """The id of its driver, as Airflow's operator has it; None where it is not known."""
        found = None if self._store is None else self._store.get(self._of_airflow[0])
        return found if isinstance(found, str) else None

    @driver.setter
    def driver(self, driver: str) -> None:
        if self._store is not None:
            self._store.set(self._of_airflow[0], driver)

    def keep(self, submission: str) -> None:
        """Keep a new submission, instead of an earlier one."""
        if self._store is not None:
            self.forget()
            self._kept = {"submission": submission, "asked": self._asked, "max_tries": self._max_tries}
            self._store.set(_KEY, self._kept)

    def forget(self) -> None:
        """Forget it: what runs next is submitted again."""
        self._kept = {}
        if self._store is not None:
            for key in (_KEY, *self._of_airflow):
                self._store.delete(key)
