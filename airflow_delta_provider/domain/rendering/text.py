"""Reports as people read them: in a task's log and on the command line."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.rendering.consequences import by_cause
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.report_place import ReportPlace
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict

#: Tables beyond these are not shown in full, but those with findings are named, with the codes.
_MAX_TABLES = 50
#: Tables beyond these are counted, not named.
_MAX_NAMED = 2000
#: Findings of a table beyond these are named by their codes.
_MAX_FINDINGS = 20
_WIDTH = 100


def render(report: JobReport, place: ReportPlace | None = None) -> str:
    """Return a few lines: the tables, worst first, with their steps and findings; then what was not checked.

    :param place: where the whole report is kept, if that was tried
    """
    ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
    lines = [line for table in ranked[:_MAX_TABLES] for line in _table(table)]
    rest = ranked[_MAX_TABLES:]
    named = [table for table in rest if table.findings or table.verdict is not Verdict.PASS][:_MAX_NAMED]
    lines += [f"{_heading(table)}: {_codes(table.findings) or 'no findings'}" for table in named]
    if len(rest) > len(named):
        lines.append(f"… and {len(rest) - len(named)} more tables, none worse")
    lines += _not_checked(ranked)
    if place is not None:
        lines.append(place.shown)
    return "\n".join(lines)


def _not_checked(tables: Iterable[TableReport]) -> Iterator[str]:
    """Yield once what no table was checked for."""
    phrases = dict.fromkeys(phrase for table in tables for phrase in (table.evidence or {}).get("not_checked", ()))
    if phrases:
        yield from textwrap.wrap(f"Not checked: {'; '.join(phrases)}.", _WIDTH, subsequent_indent="    ")


def _table(table: TableReport) -> Iterator[str]:
    yield _heading(table)
    for step in (table.plan or {}).get("steps", ()):
        yield f"    {step['explanation']}"
    for note in (table.plan or {}).get("notes", ()):
        yield from textwrap.wrap(note, _WIDTH, initial_indent=" " * 4 + "- ", subsequent_indent=" " * 6)
    yield from _detail(table.detail or {})
    yield from _usage(table.usage)
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in table.timings.items() if seconds >= 0.05)
    if spent:
        yield f"    time: {spent}"
    roots = by_cause(table.findings)
    for finding, follows in roots[:_MAX_FINDINGS]:
        yield from _finding(finding, follows)
    if len(roots) > _MAX_FINDINGS:
        left = [finding for root, follows in roots[_MAX_FINDINGS:] for finding in (root, *follows)]
        yield f"    … and {len(left)} more findings: {_codes(left)}"


def _detail(detail: Mapping[str, Any]) -> Iterator[str]:
    """Yield the metadata of a table, in short."""
    for name, value in detail.items():
        if isinstance(value, Mapping) and name in ("columns", "features", "configuration"):
            value = ", ".join(f"{key} {item}" for key, item in value.items())
        elif isinstance(value, (list, tuple)):
            value = ", ".join(map(str, value))
        if isinstance(value, str) and value:
            yield from textwrap.wrap(
                f"{name.replace('_', ' ')}: {value}", _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8
            )


def _usage(usage: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield whether columns were renamed or dropped, and what that rests on."""
    if usage is None:
        return
    yield f"    usage of column mapping: {usage['answer']}  mode {usage['mode']}"
    for piece in usage["evidence"][:_MAX_FINDINGS]:
        yield from textwrap.wrap(piece["text"], _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 10)
    if len(usage["evidence"]) > _MAX_FINDINGS:
        yield f"        … and {len(usage['evidence']) - _MAX_FINDINGS} more pieces of evidence"


def _finding(finding: Finding, follows: Sequence[Finding]) -> Iterator[str]:
    rule = RULES.get(finding.code)
    yield f"    {finding.code} {finding.severity.value}{'' if rule is None else f'  {rule.title}'}"
    where = " · ".join(_where(finding))
    for line in filter(None, (where, *_said(finding, rule), *_status(finding, follows))):
        yield from textwrap.wrap(
            line, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False
        )


def _where(finding: Finding) -> Iterator[str]:
    if finding.version is not None:
        yield f"version {finding.version}{' or before' if finding.at_or_before else ''}"
    writer = finding.writer or finding.engine
    if finding.operation or writer:
        yield " by ".join(filter(None, (finding.operation, writer)))
    said = finding.evidence or finding.message
    known = (
        ("user", finding.user),
        ("column", finding.column),
        ("about", finding.subject),
        ("file", None if finding.path is None or finding.path in said else finding.path),
        ("fingerprint", finding.fingerprint),
    )
    yield from (f"{name} {value}" for name, value in known if value is not None)
    if finding.status is not None:
        yield finding.status.value.lower()


def _said(finding: Finding, rule: Rule | None) -> Iterator[str]:
    """Yield what is wrong, what it does, and what to do."""
    if finding.evidence is None or rule is None:
        yield from finding.message.splitlines()
        return
    yield from " ".join(filter(None, (finding.evidence, finding.alike_text))).splitlines()
    yield rule.effect if finding.effect is None else finding.effect
    yield rule.remedy if finding.remedy is None else finding.remedy


def _status(finding: Finding, follows: Sequence[Finding]) -> Iterator[str]:
    """Yield what became of a finding, and what follows from it."""
    if finding.healed_version is not None:
        yield f"Fixed in version {finding.healed_version}."
    if finding.waiver is not None:
        yield f"Accepted by {finding.waiver.owner} until {finding.waiver.expires}: {finding.waiver.reason}"
    if follows:
        codes = sorted({finding.code for finding in follows})
        yield f"Consequence{'' if len(codes) == 1 else 's'}: {', '.join(codes)}."


def _heading(table: TableReport) -> str:
    return f"{table.verdict.value}  {table.table}{_versions(table)}"


def _codes(findings: Iterable[Finding]) -> str:
    """Return the codes, the most frequent first, with how often each occurs."""
    counted = Counter(finding.code for finding in findings).most_common()
    return ", ".join(code if count == 1 else f"{code} ×{count}" for code, count in counted)


def _versions(table: TableReport) -> str:
    if table.version is None:
        return ""
    if table.changed:
        return f"  version {table.version_before} -> {table.version}"
    asked_to_change = table.plan is not None or table.verdict is Verdict.REFUSED
    return f"  version {table.version}{', nothing changed' if asked_to_change else ''}"
