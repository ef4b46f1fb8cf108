"""Progress of a job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict

#: Receives one line for people to read.
Progress = Callable[[str], None]

#: With more tables than this, only their number is reported.
_TOLD_ONE_BY_ONE = 20
_SECONDS_BETWEEN = 30.0


def silent(_: str) -> None:
    """Report nothing."""


class TableCount:
    """Reports each step of a few tables; of many, only the number done, from time to time.

    :param total: number of tables
    :param progress: receives the lines
    """

    def __init__(self, total: int, progress: Progress) -> None:
        self._total = total
        self._progress = progress
        self._done = 0
        self._not_passed = 0
        self._told = time.monotonic()
        self._takes_long = False
        self._one = threading.Lock()

    @property
    def each_step(self) -> Progress:
        """Receiver for the lines of single tables; may be called from several threads."""
        return self._tell if self._total <= _TOLD_ONE_BY_ONE else silent

    def _tell(self, line: str) -> None:
        with self._one:
            self._progress(line)

    def count(self, report: TableReport) -> None:
        """Count a finished table."""
        self._done += 1
        self._not_passed += report.verdict is not Verdict.PASS
        now = time.monotonic()
        is_time = now - self._told >= _SECONDS_BETWEEN
        if self._total > _TOLD_ONE_BY_ONE and (is_time or (self._takes_long and self._done == self._total)):
            self._told, self._takes_long = now, True
            self._tell(f"{self._done:,} of {self._total:,} tables, {self._not_passed:,} of them not PASS")
