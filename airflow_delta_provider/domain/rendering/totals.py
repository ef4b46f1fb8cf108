"""A report in one line: the number of tables by verdict, and the duration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from airflow_delta_provider.domain.rendering.counts import counted, counted_codes
from airflow_delta_provider.domain.rendering.problem import by_cause
from airflow_delta_provider.domain.report.finding import Finding, Status
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Severity, Verdict

#: Maximum number of codes that are named for a verdict.
_MAX_CODES = 4
#: Severity of the findings that lead to a verdict. For other verdicts, all findings count.
_DECISIVE = {Verdict.VIOLATED: Severity.ERROR, Verdict.UNDETERMINED: Severity.UNDECIDED}


def totals(report: JobReport) -> tuple[str, ...]:
    """Return the parts of the line: ``60 tables``, ``57 pass``, ``3 violated (MD03 ×3)``, ``4.1 s``."""
    return tuple(
        filter(None, (counted(len(report.tables), "table"), *_verdicts(report), _changed(report), took(report)))
    )


def set_aside(report: JobReport) -> str:
    """Return the number of findings that do not count, by reason and code; empty if all count."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for finding in (finding for table in report.tables for finding in table.findings if not finding.is_open):
        found[why_not_open(finding)].append(finding.code)
    return "; ".join(f"{len(codes):,} {why} ({counted_codes(codes, _MAX_CODES)})" for why, codes in found.items())


def why_not_open(finding: Finding) -> str:
    """Return the reason in one word why a finding does not count."""
    if finding.waiver is not None:
        return "accepted"
    return "resolved" if finding.status is Status.RESOLVED else "fixed"


def decisive_codes(table: TableReport) -> list[str]:
    """Return the codes of the findings that a verdict rests on.

    Findings that follow from others are left out.
    """
    severity = _DECISIVE.get(table.verdict)
    roots = [finding for finding, _ in by_cause(finding for finding in table.findings if finding.is_open)]
    # Warnings make a table VIOLATED if the request says so.
    return [finding.code for finding in roots if finding.severity is severity] or [finding.code for finding in roots]


def seconds(report: JobReport) -> float | None:
    """Return the duration of the job in seconds; None if its times are invalid or in the wrong order."""
    try:
        spent = (_time(report.finished_at) - _time(report.started_at)).total_seconds()
    except (TypeError, ValueError):
        return None
    return None if spent < 0 else spent


def took(report: JobReport) -> str:
    """Return the duration of the job for people; empty if unknown."""
    spent = seconds(report)
    if spent is None:
        return ""
    if spent < 60:
        return f"{spent:.1f} s"
    minutes, rest = divmod(round(spent), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _verdicts(report: JobReport) -> Iterator[str]:
    by_verdict: defaultdict[Verdict, list[TableReport]] = defaultdict(list)
    for table in report.tables:
        by_verdict[table.verdict].append(table)
    for verdict in Verdict:
        if tables := by_verdict[verdict]:
            why = counted_codes((code for table in tables for code in dict.fromkeys(decisive_codes(table))), _MAX_CODES)
            reason = f"warnings: {why}" if verdict is Verdict.PASS and why else why
            yield f"{len(tables):,} {verdict.value.lower()}{f' ({reason})' if reason else ''}"


def _changed(report: JobReport) -> str:
    changed = sum(table.changed for table in report.tables)
    return f"{changed:,} changed" if changed else ""
