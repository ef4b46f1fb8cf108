"""Reports for a task's log, and for jobs that are called directly: table by table."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from airflow_delta_provider.domain.rendering.presentation import counted_codes
from airflow_delta_provider.domain.rendering.report_document import (
    Wording,
    answers,
    by_cause,
    consequences,
    heading,
    outcome,
    said,
    times,
    where,
    wrapped_line,
)
from airflow_delta_provider.domain.report.report import Finding, JobReport, ReportPlace, TableReport, Verdict
from airflow_delta_provider.domain.text import printed, visible

#: Maximum number of tables in full. Further tables with findings are named, with the codes.
_MAX_TABLES = 50
#: Maximum number of tables that are named; the rest is counted.
_MAX_NAMED = 2000
#: Maximum number of findings of a table in full; the others are named by their codes.
_MAX_FINDINGS = 20
_WIDTH = 100


def render(report: JobReport, place: ReportPlace | None = None) -> str:
    """Return the tables with their steps and findings, worst first.

    The checks that were not made follow.

    :param place: place of the whole report, if saving it was tried
    """
    ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
    lines = [line for table in ranked[:_MAX_TABLES] for line in _table(table)]
    rest = ranked[_MAX_TABLES:]
    named = [table for table in rest if table.findings or table.verdict is not Verdict.PASS][:_MAX_NAMED]
    lines += [f"{_heading(table)}: {_codes(table.findings) or 'no findings'}" for table in named]
    if len(rest) > len(named):
        lines.append(f"… and {len(rest) - len(named)} more tables, none worse")
    lines += not_checked(ranked, _WIDTH)
    if place is not None:
        lines.append(place.shown)
    return "\n".join(printed(lines))


def not_checked(tables: Iterable[TableReport], width: int) -> list[str]:
    """Return a sentence on the checks that were not made, each named once, wrapped into lines."""
    phrases = dict.fromkeys(phrase for table in tables for phrase in (table.evidence or {}).get("not_checked", ()))
    return (
        textwrap.wrap(visible(f"Not checked: {'; '.join(phrases)}."), width, subsequent_indent="    ")
        if phrases
        else []
    )


def _table(table: TableReport) -> Iterator[str]:
    yield _heading(table)
    yield from answers(table, _WIDTH)
    yield from times(table)
    roots = by_cause(table.findings)
    for finding, follows in roots[:_MAX_FINDINGS]:
        yield from _finding(finding, follows)
    if len(roots) > _MAX_FINDINGS:
        left = [finding for root, follows in roots[_MAX_FINDINGS:] for finding in (root, *follows)]
        yield f"    … and {len(left)} more findings: {_codes(left)}"


def _finding(finding: Finding, follows: Sequence[Finding]) -> Iterator[str]:
    wording = Wording.of(finding)
    yield "  ".join(filter(None, (f"    {finding.code} {finding.severity.value}", wording.title)))
    for line in (where(finding), *said(wording.labelled), *outcome(finding), *consequences(follows)):
        yield from wrapped_line(line, _WIDTH, 8)


def _heading(table: TableReport) -> str:
    return heading(table.verdict.value, visible(table.table), table)


def _codes(findings: Iterable[Finding]) -> str:
    return counted_codes(finding.code for finding in findings)
