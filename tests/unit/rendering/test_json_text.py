"""A report that is written as JSON while its tables are made: the same text, and never all of it in memory."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings

from airflow_delta_provider.domain.rendering.json_text import JsonTables, render
from airflow_delta_provider.domain.report.report import JobReport
from tests.unit.rendering.reports import faulty, nasty_reports, of_everything, report_of, sound, violated


def in_parts(report: JobReport) -> tuple[JsonTables, JobReport]:
    """Return the tables of a report, and what a job keeps of it."""
    tables = JsonTables()
    for table in report.tables:
        tables.add(table)
    return tables, replace(report, tables=tuple(table.brief() for table in report.tables))


@pytest.mark.parametrize("report", [of_everything(), report_of(), report_of(sound()), report_of(violated(), faulty())])
def test_text_is_that_of_the_whole_report(report: JobReport) -> None:
    tables, kept = in_parts(report)
    assert "".join(tables.text(kept)) == render(report)
    assert "".join(tables.text(kept)) == render(report)  # a second time, as for a file and standard output


@settings(max_examples=50)
@given(report=nasty_reports)
def test_so_it_is_whatever_names_and_messages_hold(report: JobReport) -> None:
    tables, kept = in_parts(report)
    assert "".join(tables.text(kept)) == render(report)
    assert json.loads("".join(tables.text(kept))) == json.loads(render(report))


def test_the_text_of_many_tables_is_never_in_memory_as_a_whole() -> None:
    tracemalloc.start()
    tables, kept, size = JsonTables(), [], 0
    for number in range(3000):
        report = violated(f"/lake/t{number}", history={"events": [{"version": n, "text": "x" * 40} for n in range(40)]})
        tables.add(report)
        kept.append(report.brief())
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    size = sum(map(len, tables.text(report_of(*kept))))
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert size > 10_000_000
    assert peak < size / 20
