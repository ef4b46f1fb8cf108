"""What a job tells while it runs."""

from __future__ import annotations

import itertools

from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.jobs import process
from airflow_delta_provider.jobs.process import TableCount


def told(total: int) -> list[str]:
    lines: list[str] = []
    count = TableCount(total, lines.append)
    for number in range(total):
        count.each_step(f"table {number}: a step")
        refused = number % 2 == 0
        count.count(TableReport.refused(str(number)) if refused else TableReport.of_findings(str(number)))
    return lines


def test_few_tables_are_told_step_by_step() -> None:
    assert told(3) == ["table 0: a step", "table 1: a step", "table 2: a step"]


def test_of_many_tables_that_are_done_at_once_the_report_says_enough() -> None:
    assert told(5000) == []


def test_many_tables_that_take_long_are_counted(monkeypatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(process.time, "monotonic", lambda: next(seconds) / 60)
    done = ("1,800 of 5,000 tables, 900", "3,600 of 5,000 tables, 1,800", "5,000 of 5,000 tables, 2,500")
    assert told(5000) == [f"{line} of them not PASS" for line in done]
