"""The level of an audit that reads only the log."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.jobs.audit.judging import Judging
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.time_budget import TimeBudget
from airflow_delta_provider.jobs.process.timings import Timings


class LogLevel:
    """Checks the commits of one table.

    :param budget: time limit; the rest is skipped once it is spent
    """

    reads = False
    """Whether anything else is read."""

    def __init__(self, table: OpenTable, budget: TimeBudget, timings: Timings, progress: Progress) -> None:
        self._table = table
        self._name = table.name.text
        self._budget = budget
        self._timings = timings
        self._progress = progress

        self.given_up = False
        """Whether the time was over before all was read."""

    def judging(self, *, shortcuts: bool) -> Judging:
        """Return the :class:`Judging` for this level.

        :param shortcuts: True if it may use shortcuts
        """
        table = self._table
        return Judging(
            table.log, table.log_names, self._name, self._timings, self._progress, self._budget, shortcuts=shortcuts
        )

    def look(self, audit: HistoryAudit, *, newest: bool) -> dict[str, Any]:
        """Check the data of this level after the commits, and add the findings to ``audit``; return the evidence.

        :param newest: True if the last version checked is the newest of the table
        :raises BrokenLogError: if the log cannot be read
        """
        del audit, newest
        return {}
