"""Findings of a report, grouped by cause and by rule, so that shared text is shown once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity, Status, TableReport, Verdict
from airflow_delta_provider.domain.text import MAX_TEXT, counted, counted_codes, shortened, visible, visible_lines


@dataclass(frozen=True)
class Wording:
    """The parts of a finding's message.

    :param title: title of the rule; empty for a code that this version does not know
    :param evidence: the problem, the number of further cases, and an expired waiver; for a finding without evidence,
        its whole message, which may have several lines
    :param effect: effect on readers or writers; empty if the message contains it, or if it is unknown
    :param remedy: advice; empty if the message contains it, or if it is unknown
    """

    title: str
    evidence: str
    effect: str = ""
    remedy: str = ""

    @classmethod
    def of(cls, finding: Finding) -> Wording:
        """Return the wording of a finding."""
        rule = RULES.get(finding.code)
        if rule is None:
            return cls("", finding.message)
        if finding.evidence is None:
            return cls(rule.title, finding.message)
        return cls(
            rule.title,
            " ".join(filter(None, (finding.evidence, finding.alike_text, finding.expired_text))),
            rule.effect if finding.effect is None else finding.effect,
            rule.remedy if finding.remedy is None else finding.remedy,
        )

    @property
    def labelled(self) -> Wording:
        """The same wording with labels before effect and remedy."""
        effect = f"Effect: {self.effect}" if self.effect else ""
        return replace(self, effect=effect, remedy=f"Remedy: {self.remedy}" if self.remedy else "")

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Evidence, effect and remedy, without empty ones."""
        return tuple(filter(None, (self.evidence, self.effect, self.remedy)))


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


class Occurrence(NamedTuple):
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

    @property
    def examples(self) -> tuple[Occurrence, ...]:
        """The occurrences that are described: all if they are in one table, which may have several causes."""
        return self.occurrences if len(self.tables) == 1 else self.occurrences[:1]

    @cached_property
    def tables(self) -> Mapping[str, tuple[Occurrence, ...]]:
        found: defaultdict[str, list[Occurrence]] = defaultdict(list)
        for occurrence in self.occurrences:
            found[occurrence.table.table].append(occurrence)
        return {table: tuple(occurrences) for table, occurrences in found.items()}

    @property
    def is_known(self) -> bool:
        """True if a baseline or an earlier run has all its findings."""
        return all(occurrence.finding.status is Status.KNOWN for occurrence in self.occurrences)

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

    Findings that follow from others are with those. Rules whose findings are all known come last, and known findings
    of a rule come after its new ones. Within a severity, reasons why tables could not be checked come first, then
    problems of more tables.

    :param wanted: condition for a finding to be included; by default, open findings
    """
    groups: defaultdict[tuple[str, Severity], list[Occurrence]] = defaultdict(list)
    for table in tables:
        for finding, follows in by_cause(filter(wanted, table.findings)):
            groups[finding.code, finding.severity].append(Occurrence(table, finding, follows))
    found = [
        Problem(code, severity, tuple(sorted(occurrences, key=lambda o: o.finding.status is Status.KNOWN)))
        for (code, severity), occurrences in groups.items()
    ]
    return tuple(sorted(found, key=_order))


def _order(problem: Problem) -> tuple[bool, int, bool, int, str]:
    about_table = is_about_table(problem.first.finding)
    return problem.is_known, -problem.severity.rank, about_table, -len(problem.tables), problem.code


def where(finding: Finding) -> str:
    """Return the known places of a finding, in one line."""
    return visible(shortened(" · ".join(_where(finding)), MAX_TEXT))


def wording_lines(wording: Wording) -> Iterator[str]:
    """Yield evidence, effect and remedy: paragraphs that are not wrapped."""
    for paragraph in wording.paragraphs:
        yield from visible_lines(shortened(paragraph, MAX_TEXT))


def outcome(finding: Finding) -> Iterator[str]:
    """Yield why a finding does not count, if it does not."""
    if finding.healed_version is not None:
        yield f"Fixed in version {finding.healed_version}."
    if finding.waiver is not None:
        waiver = finding.waiver
        yield visible(f"Accepted by {waiver.owner} until {waiver.expires}: {waiver.reason}")


def consequences(follows: Sequence[Finding]) -> Iterator[str]:
    """Yield a line with the codes of the findings that follow from a finding."""
    if follows:
        codes = sorted({finding.code for finding in follows})
        yield f"Consequence{'' if len(codes) == 1 else 's'}: {', '.join(codes)}."


def version_text(finding: Finding) -> str | None:
    """Return the version of a finding, with "or before" if it may be older; None if it has none."""
    if finding.version is None:
        return None
    return f"{finding.version} or before" if finding.at_or_before else str(finding.version)


def facts(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield (label, value) pairs of a finding's commit and place, without its message."""
    known = (
        ("version", version_text(finding)),
        ("operation", finding.operation),
        ("writer", finding.writer or finding.engine),
        ("user", finding.user),
        ("time", finding.timestamp),
        ("column", finding.column),
        ("about", finding.subject),
        ("file", finding.path),
    )
    yield from ((label, shortened(value, MAX_TEXT)) for label, value in known if value)


def _where(finding: Finding) -> Iterator[str]:
    if version := version_text(finding):
        yield f"version {version}"
    writer = finding.writer or finding.engine
    if finding.operation or writer:
        yield " by ".join(filter(None, (finding.operation, writer)))
    evidence = finding.evidence or finding.message
    known = (
        ("user", finding.user),
        ("column", finding.column),
        ("about", finding.subject),
        ("file", None if finding.path is None or finding.path in evidence else finding.path),
        ("fingerprint", finding.fingerprint),
    )
    yield from (f"{name} {value}" for name, value in known if value is not None)
    if finding.status is not None:
        yield finding.status.value.lower()


def versions(table: TableReport) -> str:
    """Return the version of the verdict; empty if unknown.

    If the job changed the table, the version before is included.
    """
    if table.version is None:
        return ""
    if table.changed:
        return f"{table.version_before} -> {table.version}"
    asked_to_change = table.plan is not None or table.verdict is Verdict.REFUSED
    return f"{table.version}{', nothing changed' if asked_to_change else ''}"


def heading(verdict: str, name: str, table: TableReport) -> str:
    """Return a table's row: the given verdict and name, and its version."""
    known = versions(table)
    return "  ".join(filter(None, (verdict, name, known and f"version {known}")))


def times(table: TableReport) -> Iterator[str]:
    """Yield the phases that took at least 0.05 s."""
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in table.timings.items() if seconds >= 0.05)
    if spent:
        yield f"    time: {spent}"


#: Maximum number of codes that are named for a verdict.
_MAX_CODES = 4
#: Severity of the findings that lead to a verdict. For other verdicts, all findings count.
_DECISIVE = {Verdict.VIOLATED: Severity.ERROR, Verdict.UNDETERMINED: Severity.UNDECIDED}


def totals(report: JobReport) -> tuple[str, ...]:
    """Return the parts of the line: ``60 tables``, ``57 pass``, ``3 violated (MD03 ×3)``, ``4.1 s``.

    If findings are compared with a baseline or an earlier run, ``findings: 1 new, 2 known`` is also a part.
    """
    parts = counted(len(report.tables), "table"), *_verdicts(report), _statuses(report), _changed(report), took(report)
    return tuple(filter(None, parts))


def is_known(table: TableReport) -> bool:
    """Return True if a table has findings, and a baseline or an earlier run has all of them."""
    found = [finding for finding in table.findings if finding.is_open]
    return bool(found) and all(finding.status is Status.KNOWN for finding in found)


def table_codes(table: TableReport, most: int | None = None) -> str:
    """Return the codes that a verdict rests on, with "known" if no finding of the table is new.

    :param most: maximum number of different codes; None for all
    """
    return f"{counted_codes(decisive_codes(table), most)}{' (known)' if is_known(table) else ''}"


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


def _statuses(report: JobReport) -> str:
    """Return the numbers of new and known findings; empty if nothing was compared."""
    roots = [f for table in report.tables for f, _ in by_cause(filter(is_open, table.findings)) if f.status is not None]
    new = sum(finding.is_new for finding in roots)
    return f"findings: {new:,} new, {len(roots) - new:,} known" if roots else ""


def _changed(report: JobReport) -> str:
    changed = sum(table.changed for table in report.tables)
    return f"{changed:,} changed" if changed else ""
