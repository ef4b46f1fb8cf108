"""Base of the operators that change tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.domain.request import value as values
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.operators.arguments import Flag, JobArguments, is_literal
from airflow_delta_provider.operators.delta_job import DeltaJobOperator


class DeltaChangeOperator(DeltaJobOperator):
    """Base of the operators that change tables.

    :param dry_run: True to plan and report without changing anything. (templated)
    :param allow_unsafe_log_store: confirmation that nothing else writes to the table. It is needed if Delta's log store
        does not protect concurrent writers from each other, as on S3 by default. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_job.DeltaJobOperator`.
    """

    template_fields: Sequence[str] = (*DeltaJobOperator.template_fields, "dry_run")

    def __init__(
        self, *, dry_run: Flag = False, allow_unsafe_log_store: Flag = False, **kwargs: Unpack[JobArguments]
    ) -> None:
        super().__init__(**kwargs)
        self.dry_run = dry_run  # type: ignore[assignment, method-assign]  # the name of a method of Airflow
        self.allow_unsafe_log_store = allow_unsafe_log_store
        if is_literal(dry_run):
            self._plans_only()

    def request(self, context: Context) -> JobRequest:
        """Return the request, built from the rendered arguments.

        :raises DeltaRequestError: if arguments are wrong, or a table is outside the allowed locations
        """
        since = run_began(context) if context["ti"].try_number > 1 else None
        return replace(super().request(context), dry_run=self._plans_only(), retry_since=since)

    def _plans_only(self) -> bool:
        with self.refusing():
            return bool(values.Flag().rendered("dry_run", self.dry_run))


def run_began(context: Context) -> str:
    """Return a time (ISO 8601) before the first commit of any try of the task run."""
    run: Any = context.get("dag_run")
    # Clearing a run changes its start time, so ``start_date`` does not help here.
    moment = getattr(run, "run_after", None) or datetime.fromtimestamp(0, timezone.utc)
    return str(moment.isoformat())
