"""Findings of a report, grouped by cause and by rule, so that shared text is shown once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Severity


def by_cause(findings: Iterable[Finding]) -> list[tuple[Finding, tuple[Finding, ...]]]:
    """Return the findings in their order, each with the findings that follow from it.

    A finding that follows from another one is not listed itself, unless its cause is not among the findings.
    """
    findings = tuple(findings)
    known = {finding.fingerprint for finding in findings} - {None}
    causes = {f.fingerprint for f in findings if f.caused_by not in known or f.caused_by == f.fingerprint} - {None}
    roots: list[Finding] = []
    follows: defaultdict[str | None, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.caused_by in causes and finding.caused_by != finding.fingerprint:
            follows[finding.caused_by].append(finding)
        else:
            roots.append(finding)
    return [(root, tuple(follows[root.fingerprint])) for root in roots]


_RANKS = {severity: rank for rank, severity in enumerate((Severity.WARNING, Severity.UNDECIDED, Severity.ERROR))}


@dataclass(frozen=True)
class Occurrence:
    """A finding at its table.

    :param follows: findings that it caused
    """

    table: TableReport
    finding: Finding
    follows: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Problem:
    """All findings of one rule and severity.

    :param occurrences: one or more, in the order of the tables
    """

    code: str
    severity: Severity
    occurrences: tuple[Occurrence, ...]

    @property
    def first(self) -> Occurrence:
        """The occurrence that is shown as the example."""
        return self.occurrences[0]

    @cached_property
    def tables(self) -> Mapping[str, tuple[Occurrence, ...]]:
        found: defaultdict[str, list[Occurrence]] = defaultdict(list)
        for occurrence in self.occurrences:
            found[occurrence.table.table].append(occurrence)
        return {table: tuple(occurrences) for table, occurrences in found.items()}

    @property
    def consequences(self) -> tuple[Finding, ...]:
        """The findings that follow from its findings."""
        return tuple(finding for occurrence in self.occurrences for finding in occurrence.follows)

    @property
    def extent(self) -> str:
        """The numbers of findings, tables, findings by status, and expired waivers, in words.

        Findings have a status if the job saves state.
        """
        number, tables = len(self.occurrences), len(self.tables)
        statuses = Counter(o.finding.status.value.lower() for o in self.occurrences if o.finding.status is not None)
        return " · ".join(
            (
                counted(tables, "table") if number == tables else f"{number:,} in {counted(tables, 'table')}",
                *(f"{count:,} {status}" for status, count in statuses.items()),
                *self.expired_waivers,
            )
        )

    @property
    def expired_waivers(self) -> tuple[str, ...]:
        """The number of findings with an expired waiver, in words; empty if there are none."""
        expired = sum(occurrence.finding.expired_waiver is not None for occurrence in self.occurrences)
        return (f"{expired:,} with an expired waiver",) if expired else ()


def is_open(finding: Finding) -> bool:
    """Return True if a finding still applies and was not accepted."""
    return finding.is_open


def is_about_table(finding: Finding) -> bool:
    """Return True if a finding is about a table's state.

    Other findings are about reasons why a table could not be checked.
    """
    rule = RULES.get(finding.code)
    return rule is None or rule.scope.is_table


def problems(tables: Iterable[TableReport], wanted: Callable[[Finding], bool] = is_open) -> tuple[Problem, ...]:
    """Return the wanted findings by rule and severity, worst first.

    Findings that follow from others are with those. Within a severity, reasons why tables could not be checked come
    first, then problems of more tables.

    :param wanted: condition for a finding to be included; by default, open findings
    """
    groups: defaultdict[tuple[str, Severity], list[Occurrence]] = defaultdict(list)
    for table in tables:
        for finding, follows in by_cause(filter(wanted, table.findings)):
            groups[finding.code, finding.severity].append(Occurrence(table, finding, follows))
    found = [Problem(code, severity, tuple(occurrences)) for (code, severity), occurrences in groups.items()]
    return tuple(sorted(found, key=_order))


def _order(problem: Problem) -> tuple[int, bool, int, str]:
    return -_RANKS[problem.severity], is_about_table(problem.first.finding), -len(problem.tables), problem.code
