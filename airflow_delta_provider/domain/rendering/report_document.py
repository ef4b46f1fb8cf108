"""Findings of a report, grouped by cause and by rule, so that shared text is shown once."""

from __future__ import annotations

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.document import (
    MAX_TEXT,
    Block,
    Code,
    Entry,
    Fact,
    Facts,
    Listing,
    Prose,
    Section,
    text_lines,
)
from airflow_delta_provider.domain.rendering.presentation import counted, counted_codes, shortened
from airflow_delta_provider.domain.report.answers import (
    Detail,
    EngineOutcome,
    Evidence,
    Part,
    PlanAnswer,
    PlanStep,
    Probe,
    UsageAnswer,
    UsagePiece,
)
from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity, Status, TableReport, Verdict
from airflow_delta_provider.domain.text import visible, visible_lines

#: Maximum number of pieces of evidence, and of findings of a plan; the rest is counted.
_MAX_PIECES = 20


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
    return -problem.severity.rank, is_about_table(problem.first.finding), -len(problem.tables), problem.code


def plan_document(plan: Mapping[str, Any], *, much: bool = True, done: bool = False) -> Iterator[Block]:
    """Yield the steps, effects and conditions of a plan.

    :param plan: JSON of the plan: see ``report.schema.json``
    :param much: False for only the parts that are needed at first sight
    :param done: True if it was carried out, so that its conditions do not matter any more
    """
    steps: Sequence[Mapping[str, Any]] = plan.get("steps", ())
    if much:
        known = labelled(PlanAnswer, plan, {*_PARTS_OF_PLANS, "lint", "locked_out"})
        yield from [Facts(known)] if known else []
        if not steps:
            yield Prose("There is no room for its steps here." if plan.get("truncated") else "Nothing to do.")
    if steps:
        numbered = "step" in steps[0]
        yield Listing(tuple(_steps(steps, much=much)), numbered=numbered, marked=numbered)
    if diff := plan.get("diff"):
        yield Code(tuple(diff), "diff", "what is declared")
    if not done:
        yield from listing("what breaks", (text for step in steps for text in step.get("breaks", ())))
    if much:
        yield from _findings("who is locked out, or may be", plan.get("locked_out", ()))
        yield from _findings("findings about the plan", plan.get("lint", ()))
        yield from listing("how it is undone", (step["undo"] for step in steps if step.get("undo")))
    yield from listing("notes", plan.get("notes", ()))
    if not done:
        yield from _conditions(plan)
    if much and any(step.get("sql") for step in steps):
        yield Code(tuple(_sql(steps)), "sql", "SQL")


def _conditions(plan: Mapping[str, Any]) -> Iterator[Block]:
    if permissions := plan.get("permissions"):
        yield Prose(", ".join(permissions), "to apply it, set")
    if approval := plan.get("approval"):
        yield Prose(" ".join(approval), "needs approval")
    elif plan.get("steps") and approval is not None:
        yield Prose("the policy lets it be applied", "needs no approval")


#: Keys with blocks of their own.
_PARTS_OF_PLANS = {"steps", "notes", "diff", "permissions", "approval"}
_PARTS_OF_STEPS = {"sql", "explanation", "step", "done_earlier", "metadata_only", "undo", "breaks"}


def _steps(steps: Iterable[Mapping[str, Any]], *, much: bool) -> Iterator[Entry]:
    """Yield an entry for each commit, or for each step without the number of its commit."""
    by_commit: defaultdict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for place, step in enumerate(steps):
        by_commit[step.get("step", (place,))].append(step)
    for found in by_commit.values():
        alone = len(found) == 1
        entries = tuple(
            # Without costs of 0.
            Entry(
                _step(step, alone=alone),
                facts=labelled(PlanStep, {k: v for k, v in step.items() if v}, _PARTS_OF_STEPS) if much else (),
            )
            for step in found
        )
        yield entries[0] if alone else Entry("in one commit:", entries=entries)


def _step(step: Mapping[str, Any], *, alone: bool) -> str:
    cost = "" if step.get("metadata_only", True) else " — reads all rows, or writes files"
    done = ", done by an earlier try" if step.get("done_earlier") else ""
    return f"{step['explanation'] if alone else _without_commits(step['explanation'])}{done}{cost}"


def _without_commits(explanation: str) -> str:
    return explanation.rpartition(" (")[0] or explanation


def _sql(steps: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for step in steps:
        sql = step.get("sql")
        yield from f"{sql};".splitlines() if sql else [f"-- without SQL: {_without_commits(step['explanation'])}"]


def _findings(title: str, found: Sequence[Mapping[str, Any]]) -> Iterator[Listing]:
    entries: list[Entry] = []
    for finding in map(Finding.from_json, found[:_MAX_PIECES]):
        said = " ".join(Wording.of(finding).paragraphs)
        accepted = f" Accepted by {finding.waiver.owner}: {finding.waiver.reason}" if finding.waiver else ""
        entries.append(Entry(f"{said}{accepted}", facts=(), label=f"{finding.severity.value} {finding.code}"))
    if found:
        yield Listing((*entries, *_more(len(found) - len(entries))), f"{title} ({len(found)})")


def listing(title: str, texts: Iterable[str]) -> Iterator[Listing]:
    """Yield a list of the different texts; nothing if there are none."""
    if entries := tuple(map(Entry, dict.fromkeys(texts))):
        yield Listing(entries, title)


def _more(number: int) -> list[Entry]:
    return [Entry(f"… and {number:,} more")] if number > 0 else []


#: Labels of numbers that are not counts.
_NUMBERS = re.compile(r"\b(?:version|snapshot|id|mark)\b")


def labelled(part: type[Part], wire: Mapping[str, Any], shown: Collection[str] = ()) -> tuple[Fact, ...]:
    """Return the labels and values of the keys that a JSON object has.

    :param shown: keys that are shown elsewhere
    """
    keys = (known for known in fields(part) if known.name not in shown and not known.metadata["within"])
    named = ((known.metadata["label"] or known.name.replace("_", " "), wire.get(known.name)) for known in keys)
    return tuple((label, said) for label, value in named if (said := _value(value, label)))


def _value(value: Any, label: str = "") -> str:
    """Return a JSON value in words; empty if there is nothing to say."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if _NUMBERS.search(label) else f"{value:,}"
    if isinstance(value, Mapping):
        named = ((str(key).replace("_", " "), item) for key, item in value.items())
        return ", ".join(f"{key} {said}" for key, item in named if (said := _value(item, key)))
    if isinstance(value, (list, tuple)):
        found = list(filter(None, map(_value, value)))
        return ("; " if any(" " in each for each in found) else ", ").join(found)
    return str(value)


def where(finding: Finding) -> str:
    """Return the known places of a finding, in one line."""
    return visible(shortened(" · ".join(_where(finding)), MAX_TEXT))


def said(wording: Wording) -> Iterator[str]:
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


def wrapped_line(line: str, width: int, indent: int) -> list[str]:
    """Return a line wrapped to at most ``width`` columns; names are not broken at hyphens."""
    blanks = " " * indent
    return textwrap.wrap(line, width, initial_indent=blanks, subsequent_indent=blanks, break_on_hyphens=False)


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


def answers(table: TableReport, width: int, *, much: bool = False) -> Iterator[str]:
    """Yield the answers that the job was asked for, as indented lines."""
    return text_lines(answer_document(table, much=much), width, 4)


def answer_document(table: TableReport, *, much: bool) -> Iterator[Block]:
    """Yield the plan, the spec, the metadata, the usage of column mapping, and the extent of a check.

    :param much: True for every key of the report
    """
    if table.plan is not None:
        yield from plan_document(table.plan, much=much, done=table.changed)
    if table.spec is not None:
        # Imported late: most reports have none.
        from airflow_delta_provider.domain.spec.writing import Written, file_text

        yield Code(tuple(file_text([Written(table.spec)], head=False).splitlines()), "yaml")
    if known := labelled(Detail, table.detail or {}):
        yield Facts(known)
    if table.usage is not None:
        yield _usage(table.usage, much=much)
    yield from _evidence(table.evidence or {}, much=much)


def times(table: TableReport) -> Iterator[str]:
    """Yield the phases that took at least 0.05 s."""
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in table.timings.items() if seconds >= 0.05)
    if spent:
        yield f"    time: {spent}"


def _usage(usage: Mapping[str, Any], *, much: bool) -> Section:
    """Return the answer on usage of column mapping, with its evidence."""
    pieces = tuple(
        Entry(piece["text"], facts=labelled(UsagePiece, piece, {"text"}) if much else ())
        for piece in usage["evidence"][:_MAX_PIECES]
    )
    known = labelled(UsageAnswer, usage, {"answer", "mode", "evidence"}) if much else ()
    entries = (*pieces, *_more(len(usage["evidence"]) - len(pieces)))
    title = f"usage of column mapping: {usage['answer']}  mode {usage['mode']}"
    return Section(title, (*([Facts(known)] if known else []), Listing(entries, marked=False)))


def _evidence(evidence: Mapping[str, Any], *, much: bool) -> Iterator[Block]:
    """Yield the outcome for each engine that uses a table, the other engines that are locked out, and the rest."""
    found: list[Entry] = []
    for engine in evidence.get("engines", ()):
        wrote = f", {engine['commits']:,} commits" if engine["commits"] else ""
        facts = labelled(EngineOutcome, engine, {"engine", "uses", "commits", "outcome"}) if much else ()
        found.append(Entry(f"{engine['engine']} ({engine['uses']}{wrote}): {engine['outcome']}", facts=facts))
    for access, engines in evidence.get("known_lockouts", {}).items():
        if engines:
            found.append(Entry(f"known not to {access} such tables: {', '.join(engines)}"))
    if (probe := evidence.get("probe")) is not None:
        said = {True: "reads the table", False: "does not read the table", None: "could not be tried"}[probe["reads"]]
        tried = " ".join(filter(None, (probe["engine"], probe["version"])))
        facts = labelled(Probe, probe, {"engine", "version", "reads"}) if much else ()
        found.append(Entry(f"tried: {tried} {said}", facts=facts))
    if found:
        yield Listing(tuple(found), marked=False)
    shown = {"engines", "known_lockouts", "probe", "not_checked"}
    if much and (known := labelled(Evidence, evidence, shown)):
        yield Facts(known)


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
