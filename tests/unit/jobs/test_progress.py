"""What a job tells while it runs."""

from __future__ import annotations

from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.jobs.process.progress import TableCount


def told(total: int) -> list[str]:
    lines: list[str] = []
    count = TableCount(total, lines.append)
    for number in range(total):
        count.each_step(f"table {number}: a step")
        refused = number % 2 == 0
        count.count(TableReport.refused(str(number)) if refused else TableReport.judged(str(number)))
    return lines


def test_few_tables_are_told_step_by_step() -> None:
    assert told(3) == ["table 0: a step", "table 1: a step", "table 2: a step"]


def test_many_tables_are_counted() -> None:
    assert told(5000) == ["5000 of 5000 tables, 2500 of them not PASS"]
