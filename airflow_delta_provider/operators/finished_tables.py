"""Tables that an earlier try of the same task run finished: a retry processes only the others."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import zlib
from collections.abc import Iterable
from typing import Any

from airflow.providers.common.compat.sdk import Context

from airflow_delta_provider.airflow_release import task_state
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.operators.judgement import is_retryable

log = logging.getLogger(__name__)

_KEY = "delta_finished_tables"


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
        kept = self._store.get(_KEY)
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
            self._store.set(_KEY, {"generation": self._generation, "tables": packed(finished)})
        except Exception:
            log.exception("The list of finished tables could not be saved; a retry does all tables again")


def digest_of(request: JobRequest, *without: str) -> str:
    """Return a digest of a request, the same in each try of a task.

    :param without: keys of its wire form to leave out, in addition to the keys that differ by try
    """
    left_out = dict.fromkeys(("receipt", "received", "retry_since", *without))
    return hashlib.sha256(json.dumps({**request.to_json(), **left_out}, sort_keys=True).encode()).hexdigest()


def packed(reports: Iterable[TableReport]) -> str:
    """Return reports as a string that is short enough for Airflow's database."""
    wire = json.dumps([report.to_json() for report in reports])
    return base64.b64encode(zlib.compress(wire.encode())).decode()


def unpacked(text: str) -> dict[str, TableReport]:
    """Return the reports in a string made by :func:`packed`, by table."""
    reports = map(TableReport.from_json, json.loads(zlib.decompress(base64.b64decode(text))))
    return {report.table: report for report in reports}
