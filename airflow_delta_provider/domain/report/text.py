"""Reports as people read them: in a task's log and on the command line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport

#: Tables and findings beyond these are counted, not listed: the full list is in the report.
_MAX_TABLES = 50
_MAX_FINDINGS = 20
_WIDTH = 100


def render(report: JobReport) -> str:
    """Return a few lines: the tables, worst first, with their steps and findings."""
    ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
    lines = [line for table in ranked[:_MAX_TABLES] for line in _table(table)]
    if len(ranked) > _MAX_TABLES:
        lines.append(f"… and {len(ranked) - _MAX_TABLES} more tables, none worse")
    return "\n".join(lines)


def _table(table: TableReport) -> Iterator[str]:
    yield f"{table.verdict.value}  {table.table}{_versions(table)}"
    for step in (table.plan or {}).get("steps", ()):
        yield f"    {step['explanation']}"
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in table.timings.items() if seconds >= 0.05)
    if spent:
        yield f"    time: {spent}"
    for finding in table.findings[:_MAX_FINDINGS]:
        where = "".join(
            f"  {name} {value}"
            for name, value in (("version", finding.version), ("column", finding.column), ("by", finding.engine))
            if value is not None
        )
        yield f"    {finding.code}  {finding.severity.value}{where}"
        for line in finding.message.splitlines():
            yield from textwrap.wrap(line, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    if len(table.findings) > _MAX_FINDINGS:
        yield f"    … and {len(table.findings) - _MAX_FINDINGS} more findings"


def _versions(table: TableReport) -> str:
    if table.version is None:
        return ""
    if table.changed:
        return f"  version {table.version_before} -> {table.version}"
    return f"  version {table.version}, nothing changed"
