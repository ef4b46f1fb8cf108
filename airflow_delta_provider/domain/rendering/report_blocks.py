"""Parts of a report as blocks: rules with their tables, findings, and answers.

Answers are plans, specs, metadata, the usage of column mapping, and the extent of checks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from airflow_delta_provider.domain.checks.compatibility import SILENT_WRONG_RESULTS
from airflow_delta_provider.domain.rendering.document import (
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
from airflow_delta_provider.domain.rendering.report_document import (
    Occurrence,
    Problem,
    Wording,
    consequences,
    outcome,
    version_text,
    where,
)
from airflow_delta_provider.domain.report.answers import (
    ConsumerOutcome,
    Detail,
    EngineOutcome,
    Evidence,
    HiddenRows,
    Part,
    PlanAnswer,
    PlannedVacuum,
    PlanStep,
    Probe,
    UsageAnswer,
    UsagePiece,
)
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.text import counted, visible

#: Maximum number of pieces of evidence, and of findings of a plan; the rest is counted.
_MAX_PIECES = 20


def problem_section(problem: Problem, most: int) -> Section:
    """Return the findings of a rule: its tables, and the first finding as an example, or all findings of one table.

    :param most: maximum number of tables, or of findings of one table; the rest is counted
    """
    several = len(problem.occurrences) > 1
    # A single occurrence is described below.
    names = [
        Entry(_at(found) if several else "", name=visible(table))
        for table, found in list(problem.tables.items())[:most]
    ]
    if len(problem.tables) > most:
        names.append(Entry(f"… and {counted(len(problem.tables) - most, 'more table')}"))
    title = " ".join(filter(None, (problem.severity.value, problem.code, Wording.of(problem.first.finding).title)))
    blocks = Listing(tuple(names), marked=False), Section("", tuple(map(Prose, examples(problem, most))))
    return Section(f"{title} ({problem.extent})", blocks)


def examples(problem: Problem, most: int, *, places: bool = True) -> Iterator[str]:
    """Yield the evidence of a rule's examples; an effect or remedy that they share comes once, after them.

    :param most: maximum number of examples; the rest is counted
    :param places: True to begin each with its place, and to end with the consequences
    """
    wordings = [Wording.of(occurrence.finding) for occurrence in problem.examples[:most]]
    effects, remedies = {wording.effect for wording in wordings}, {wording.remedy for wording in wordings}
    for occurrence, wording in zip(problem.examples, wordings):
        at = where(occurrence.finding) if places else ""
        is_one_of_many = len(problem.examples) < len(problem.occurrences)
        own = wording.effect if len(effects) > 1 else "", wording.remedy if len(remedies) > 1 else ""
        yield from filter(None, (f"The first: {at}" if at and is_one_of_many else at, wording.evidence, *own))
    if len(problem.examples) > most:
        yield f"… and {counted(len(problem.examples) - most, 'more finding')}"
    yield from filter(None, (*(effects if len(effects) == 1 else ()), *(remedies if len(remedies) == 1 else ())))
    yield from consequences(problem.consequences) if places else ()


def _at(occurrences: Sequence[Occurrence]) -> str:
    version = version_text(occurrences[0].finding)
    if len(occurrences) == 1:
        return "" if version is None else f"version {version}"
    return f"{len(occurrences):,} findings{'' if version is None else f', the first in version {version}'}"


def finding_section(finding: Finding, follows: Sequence[Finding]) -> Section:
    """Return a finding at its table."""
    wording = Wording.of(finding)
    paragraphs = (where(finding), *wording.labelled.paragraphs, *outcome(finding), *consequences(follows))
    title = "  ".join(filter(None, (f"{finding.code} {finding.severity.value}", wording.title)))
    return Section(title, tuple(map(Prose, filter(None, paragraphs))))


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
        from airflow_delta_provider.domain.spec.writing import SpecEntry, file_text

        yield Code(tuple(file_text([SpecEntry(table.spec)], head=False).splitlines()), "yaml")
    if known := labelled(Detail, table.detail or {}):
        yield Facts(known)
    if table.usage is not None:
        yield _usage(table.usage, much=much)
    yield from _evidence(table.evidence or {}, much=much)


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
    if not much:
        yield from listing("fixes", (text for step in steps for text in step.get("heals", ())))
        yield from listing("lost", (text for step in steps for text in step.get("loses", ())))
        yield from listing("readers", (text for step in steps for text in step.get("sees", ())))
    yield from listing("stays open", map(_left_open, plan.get("left_open", ())))
    if not done:
        yield from listing("what breaks", (text for step in steps for text in step.get("breaks", ())))
    if much:
        engines = plan.get("locked_out", ())
        wrong = [finding for finding in engines if finding.get("code") == _MISREADS]
        yield from _findings("who would misread or damage the table, without an error", wrong)
        yield from _findings("who is locked out, or may be", [each for each in engines if each not in wrong])
        yield from _findings("findings about the plan", plan.get("lint", ()))
        yield from listing("how it is undone", (step["undo"] for step in steps if step.get("undo")))
    yield from listing("notes", plan.get("notes", ()))
    if not done:
        yield from _conditions(plan)
    if much and any(step.get("sql") for step in steps):
        yield Code(tuple(_sql(steps)), "sql", "SQL")


def _left_open(left: Mapping[str, Any]) -> str:
    version = "" if left.get("version") is None else f" (version {left['version']})"
    places = (left.get("path"), left.get("column"), f"fingerprint {left['fingerprint']}")
    return f"{left['code']}{version}, {', '.join(filter(None, places))}: {left['why']}"


def _conditions(plan: Mapping[str, Any]) -> Iterator[Block]:
    if permissions := plan.get("permissions"):
        yield Prose(", ".join(permissions), "to apply it, set")
    if approval := plan.get("approval"):
        yield Prose(" ".join(approval), "needs approval")
    elif plan.get("steps") and approval is not None:
        yield Prose("the policy lets it be applied", "needs no approval")


#: Keys with blocks of their own.
_PARTS_OF_PLANS = {"steps", "notes", "diff", "permissions", "approval", "left_open"}
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
    return _COMMITS.sub("", explanation)


_COMMITS = re.compile(r" \([^()]*\)$")


def _sql(steps: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for step in steps:
        sql = step.get("sql")
        yield from f"{sql};".splitlines() if sql else [f"-- without SQL: {_without_commits(step['explanation'])}"]


def _findings(title: str, found: Sequence[Mapping[str, Any]]) -> Iterator[Listing]:
    entries: list[Entry] = []
    for finding in map(Finding.from_json, found[:_MAX_PIECES]):
        wording = " ".join(Wording.of(finding).paragraphs)
        accepted = f" Accepted by {finding.waiver.owner}: {finding.waiver.reason}" if finding.waiver else ""
        entries.append(Entry(f"{wording}{accepted}", facts=(), label=f"{finding.severity.value} {finding.code}"))
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
    return tuple((label, text) for label, value in named if (text := _value(value, label)))


def _value(value: Any, label: str = "") -> str:
    """Return a JSON value in words; empty if there is nothing to say."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if _NUMBERS.search(label) else f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {text}" for key, item in value.items() if (text := _value(item, str(key))))
    if isinstance(value, (list, tuple)):
        found = list(filter(None, map(_value, value)))
        return ("; " if any(" " in each for each in found) else ", ").join(found)
    return str(value)


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


def _retention(evidence: Mapping[str, Any], *, much: bool) -> Iterator[Entry]:
    """Yield the complete history, the effect of a planned VACUUM, and the outcome for each stream."""
    vacuum = evidence.get("vacuum")
    if vacuum is None:
        return
    yield Entry(f"history: {_complete(evidence)}")
    known = {"retain", "files", "bytes", "travel_from_version", "feed_from_version"}
    yield Entry(
        f"a VACUUM that retains {vacuum['retain']} deletes {vacuum['files']:,} files ({vacuum['bytes']:,} bytes); "
        f"then {_complete(vacuum)}",
        facts=labelled(PlannedVacuum, vacuum, known) if much else (),
    )
    for stream in evidence.get("consumers", ()):
        facts = labelled(ConsumerOutcome, stream, {"checkpoint", "outcome"}) if much else ()
        yield Entry(f"stream {stream['checkpoint']}: {stream['outcome']}", facts=facts)


def _complete(wire: Mapping[str, Any]) -> str:
    travel, feed = wire.get("travel_from_version"), wire.get("feed_from_version")
    versions = "no version is complete" if travel is None else f"complete from version {travel:,}"
    return f"{versions}, {'no feed' if feed is None else f'feed from version {feed:,}'}"


def _same_rows(tried: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the engines that read the same rows, together, and the others that read the table."""
    groups: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for engine in tried:
        if engine["outcome"] == "read":
            name = " ".join(filter(None, (engine["engine"], engine.get("version"))))
            groups[engine["rows"], engine["digest"]].append(name)
    for (rows, _), names in groups.items():
        yield f"{', '.join(names)} read {'the same ' if len(names) > 1 else ''}{counted(rows, 'row')}"


#: Code of findings about engines that read wrong values.
_MISREADS = SILENT_WRONG_RESULTS.code
#: Keys of ``known_lockouts`` with their meaning. A job that fails is noticed; a wrong value is not, so it comes first.
_KNOWN_ENGINES = {
    "misread": "known to misread such tables, without an error",
    "read": "known not to read such tables",
    "write": "known not to write such tables",
}


def _evidence(evidence: Mapping[str, Any], *, much: bool) -> Iterator[Block]:
    """Yield the outcome for each engine that uses a table, the other engines that are locked out, and the rest."""
    found: list[Entry] = []
    for engine in evidence.get("engines", ()):
        wrote = f", {engine['commits']:,} commits" if engine["commits"] else ""
        facts = labelled(EngineOutcome, engine, {"engine", "uses", "commits", "outcome"}) if much else ()
        found.append(Entry(f"{engine['engine']} ({engine['uses']}{wrote}): {engine['outcome']}", facts=facts))
    known = evidence.get("known_lockouts", {})
    for key, relation in _KNOWN_ENGINES.items():
        if engines := known.get(key):
            found.append(Entry(f"{relation}: {', '.join(engines)}"))
    if (probe := evidence.get("probe")) is not None:
        result = {True: "reads the table", False: "does not read the table", None: "could not be tried"}[probe["reads"]]
        tried = " ".join(filter(None, (probe["engine"], probe["version"])))
        facts = labelled(Probe, probe, {"engine", "version", "reads"}) if much else ()
        found.append(Entry(f"tried: {tried} {result}", facts=facts))
    found += map(Entry, _same_rows(evidence.get("tried", ())))
    for hidden in evidence.get("hidden_rows", ()):
        counts = (
            "could not be tried" if "found" not in hidden else f"finds {hidden['found']:,} of {hidden['rows']:,} rows"
        )
        facts = labelled(HiddenRows, hidden, {"engine", "predicate", "found", "rows"}) if much else ()
        found.append(Entry(f"{hidden['engine']} {counts} by {hidden['predicate']}", facts=facts))
    found += _retention(evidence, much=much)
    if found:
        yield Listing(tuple(found), marked=False)
    shown = {"engines", "known_lockouts", "probe", "not_checked", "hidden_rows", "vacuum", "consumers"}
    if "vacuum" in evidence:
        shown |= {"travel_from_version", "feed_from_version"}
    if much and (known := labelled(Evidence, evidence, shown)):
        yield Facts(known)
