"""The engines that a table locks out, now or after a change.

Sources are the engines' profiles, the recent writers in the log, and the fleet file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.compatibility import (
    DECLARE_VERSION,
    NO_ENGINE_KNOWN,
    PROBE_REFUSED,
    PROBE_UNDECIDED,
    READ_LOCKED,
    SILENT_WRONG_RESULTS,
    UNIDENTIFIED_WRITER,
    UNKNOWN_SUPPORT,
    WRITE_LOCKED,
    WRITERS_NOT_IN_LOG,
)
from airflow_delta_provider.domain.checks.rule import Prose, Rule
from airflow_delta_provider.domain.engine.access import Access, Demands, Outcome, Reason, assess, outcome_of
from airflow_delta_provider.domain.engine.fleet import Member, RecentWriter, RecentWriters, TableFleet
from airflow_delta_provider.domain.engine.profile import Profile, Support, engine_of
from airflow_delta_provider.domain.engine.spark_library import version_of
from airflow_delta_provider.domain.report.answers import EngineOutcome, Probe
from airflow_delta_provider.domain.report.report import Finding, Severity

_RULES = {
    Outcome.READ_LOCKED: READ_LOCKED,
    Outcome.WRITE_LOCKED: WRITE_LOCKED,
    Outcome.SILENT_WRONG_RESULTS: SILENT_WRONG_RESULTS,
    Outcome.UNKNOWN: UNKNOWN_SUPPORT,
}
_BOTH = frozenset(Access)
_ORDER = (Severity.ERROR, Severity.UNDECIDED, Severity.WARNING)
_KEEP_AWAY = "Keep that engine away from the table, or use a release of it that reads the table right."


def lockouts(before: Demands | None, after: Demands, fleet: TableFleet, writers: RecentWriters) -> tuple[Finding, ...]:
    """Return findings about engines that a change locks out or may lock out, or that then read wrong rows.

    Errors come first, and among them those about wrong rows.

    An engine that must keep its access, or that wrote recently and may write again, gives an error if it is locked out,
    and an undecided finding if its support is unknown. An engine that is declared but need not keep its access gives a
    warning, but an error if it misreads the table: a failing job is noticed, a wrong row is not. Demands that an engine
    met when it wrote do not count against it, unless it silently disregards features.

    :param before: current demands of the table, whose lock-outs are left out; None to report all lock-outs
    :param after: demands after the change, or the current ones if there is no change
    """
    found = [finding for subject in _subjects(fleet, writers) for finding in _lockouts_of(subject, before, after)]
    found += _unidentified(fleet, writers, before, after)
    return tuple(sorted(found, key=_weight))


def misreads(now: Demands, fleet: TableFleet) -> tuple[Finding, ...]:
    """Return findings about declared engines that misread or damage a table as it is, without an error."""
    found = lockouts(None, now, fleet, RecentWriters(days=0))
    return tuple(finding for finding in found if finding.code == SILENT_WRONG_RESULTS.code)


def _weight(finding: Finding) -> tuple[int, bool]:
    return _ORDER.index(finding.severity), finding.code != SILENT_WRONG_RESULTS.code


def engines_of(fleet: TableFleet, writers: RecentWriters) -> tuple[tuple[Profile, str | None], ...]:
    """Return the declared engines and the recent writers that have a profile, with their versions."""
    return tuple((subject.member.profile, subject.member.version) for subject in _subjects(fleet, writers))


def kept_engines(
    before: Demands, after: Demands, fleet: TableFleet, writers: RecentWriters
) -> tuple[tuple[Member, Finding], ...]:
    """Return the engines that must keep their access and that a change harms, if there is a fleet file.

    Engines that would read wrong rows come first, then engines that are or may be locked out. An engine must keep its
    access if the table's policy says so, or if it wrote recently and the policy does not decide about it. If an engine
    only has to keep reading, its writes do not count.
    """
    found = []
    for subject in _subjects(fleet, writers) if fleet.from_file else ():
        reasons = [reason for reason in _reasons(subject, before, after) if reason.access in subject.must]
        if reasons and subject.member.declared:
            finding = _finding_about(replace(subject, writer=None), reasons, None, must=True, is_change=True)
            found.append((subject.member, finding))
        elif reasons:
            finding = _finding_about(subject, reasons, None, must=True, is_change=True)
            found.append((subject.member, _to_declare(finding)))
    return tuple(sorted(found, key=lambda kept: kept[1].code != SILENT_WRONG_RESULTS.code))


def _to_declare(finding: Finding) -> Finding:
    """Return a finding about a writer that a fleet file does not declare, whose remedy says so."""
    rule = next(rule for rule in _RULES.values() if rule.code == finding.code)
    remedy = rule.remedy if finding.remedy is None else finding.remedy
    declare = "Or declare it in the fleet file: the policy for the table then decides whether it must keep its access."
    return rule.worded(replace(finding, remedy=f"{remedy} {declare}"))


def unreadable_demands(why: object, fleet: TableFleet) -> tuple[tuple[Member, Finding], ...]:
    """Return an undecided finding for each kept engine, if the table's demands cannot be read.

    :param why: cause of the failure
    """
    return tuple(
        (
            subject.member,
            UNKNOWN_SUPPORT.found(
                "{engine} must stay able to {uses} this table. The features and type changes of the table cannot be "
                "read: {why}.",
                subject=subject.member.name,
                engine=subject.member.name,
                uses=_verbs(subject.must),
                why=Prose(str(why).rstrip(".")),
            ),
        )
        for subject in _declared(fleet)
        if subject.must
    )


def check_table(
    now: Demands, planned: Demands | None, fleet: TableFleet, writers: RecentWriters
) -> tuple[Finding, ...]:
    """Return findings about engines that a table locks out now, and after a planned change.

    :param planned: demands after the change; None if there is no change
    """
    found = lockouts(None, now, fleet, writers)
    if planned is None:
        return found
    coming = lockouts(now, planned, fleet, writers)
    unidentified = {(finding.code, finding.subject) for finding in coming if finding.code == UNIDENTIFIED_WRITER.code}
    return (*coming, *(finding for finding in found if (finding.code, finding.subject) not in unidentified))


@on_demand(WRITERS_NOT_IN_LOG)
def check_window(writers: RecentWriters) -> Iterator[Finding]:
    """Yield a finding if the log no longer has all commits of the days whose writers were requested."""
    if not writers.complete:
        yield WRITERS_NOT_IN_LOG.found(
            "The log has no commits from before version {since}, which is within the last {days:day}.",
            since=writers.since,
            days=_whole(writers.days),
        )


@on_demand(NO_ENGINE_KNOWN)
def check_known(fleet: TableFleet, writers: RecentWriters) -> Iterator[Finding]:
    """Yield a finding if no engine is known to use a table that is to be changed."""
    if not fleet.members and not writers.writers:
        yield NO_ENGINE_KNOWN.found(
            "No fleet file declares an engine for this table, and its log has no writer of the last {days:day}.",
            days=_whole(writers.days),
        )


@on_demand(PROBE_REFUSED, PROBE_UNDECIDED)
def check_probe(probe: Probe, fleet: TableFleet, writers: RecentWriters) -> Iterator[Finding]:
    """Yield a finding if an installed engine did not read the table, or could not be tried.

    A failed read is an error if the engine must keep its access or wrote recently, a warning otherwise.
    """
    engine = " ".join(filter(None, (probe.engine, probe.version)))
    if probe.reads is None:
        yield PROBE_UNDECIDED.found(
            "{engine} could not be tried: {why}.", subject=engine, engine=engine, why=Prose(probe.message.rstrip("."))
        )
    elif not probe.reads:
        subjects = _subjects(fleet, writers)
        needed = any(subject.key == (probe.engine, probe.version) and subject.must for subject in subjects)
        yield PROBE_REFUSED.found(
            "{engine}, which is installed, does not read the table: {why}.",
            severity=None if needed else Severity.WARNING,
            subject=engine,
            engine=engine,
            why=Prose(probe.message.rstrip(".")),
        )


def outcomes(demands: Demands, fleet: TableFleet, writers: RecentWriters) -> tuple[EngineOutcome, ...]:
    """Return the outcome for each declared engine and recent writer."""
    return tuple(
        EngineOutcome(
            engine=subject.member.name,
            uses=_verbs(subject.uses),
            must_stay=bool(subject.must),
            commits=0 if subject.writer is None else subject.writer.commits,
            outcome=outcome_of(
                r for r in _reasons(subject, None, demands) if r.access in subject.uses | subject.must
            ).value,
        )
        for subject in _subjects(fleet, writers)
    )


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """An engine to check against a table's demands.

    :param uses: accesses that it uses
    :param must: accesses that it must keep
    :param writer: its recent commits
    :param replaced_by: name of a later release of the engine that wrote since
    """

    member: Member
    uses: frozenset[Access]
    must: frozenset[Access]
    writer: RecentWriter | None = None
    days: float = 0
    replaced_by: str | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        return self.member.profile.name, self.member.version


def _declared(fleet: TableFleet) -> Iterator[_Subject]:
    for member in fleet.members:
        yield _Subject(
            member=member,
            uses=_accesses(reads=member.reads, writes=member.writes),
            must=_accesses(reads=member.must_read, writes=member.must_write),
        )


def _accesses(*, reads: bool, writes: bool) -> frozenset[Access]:
    """Return the accesses that an engine needs: a writer also has to read."""
    return _BOTH if writes else frozenset({Access.READ}) if reads else frozenset()


def _writing(fleet: TableFleet, writers: RecentWriters) -> Iterator[_Subject]:
    for writer in writers.writers:
        engine = engine_of(writer.name or "", fleet.profiles)
        if engine is not None:
            profile, version = engine
            later = _later(writer, version, profile.name, fleet, writers.writers)
            yield _Subject(
                member=Member(
                    name=writer.name or "", profile=profile.that_writes(version), version=version, declared=False
                ),
                uses=_BOTH,
                must=frozenset() if later or _is_left_out(profile, version, fleet) else _BOTH,
                writer=writer,
                days=writers.days,
                replaced_by=later,
            )


def _is_left_out(profile: Profile, version: str | None, fleet: TableFleet) -> bool:
    """Return True if the fleet file declares a writer, and its policy for the table decides about it."""
    return fleet.has_policy and any(
        member.profile.name == profile.name and member.version in (None, version) for member in fleet.members
    )


def _later(
    writer: RecentWriter, version: str | None, profile: str, fleet: TableFleet, writers: Sequence[RecentWriter]
) -> str | None:
    """Return a later release of the same engine whose first commit follows the writer's last one."""
    for other in writers:
        engine = engine_of(other.name or "", fleet.profiles)
        if engine is None or engine[0].name != profile or other.first <= writer.last:
            continue
        if version and engine[1] and version_of(engine[1]) > version_of(version):
            return other.name
    return None


def _subjects(fleet: TableFleet, writers: RecentWriters) -> list[_Subject]:
    """Return one subject per engine release, with declaration and recent commits merged."""
    merged: dict[tuple[str, str | None], _Subject] = {}
    for subject in (*_declared(fleet), *_writing(fleet, writers)):
        before = merged.get(subject.key, subject)
        latest = before if subject.writer is None else subject
        merged[subject.key] = replace(
            latest, member=before.member, uses=before.uses | subject.uses, must=before.must | subject.must
        )
    return list(merged.values())


@on_demand(READ_LOCKED, WRITE_LOCKED, SILENT_WRONG_RESULTS, UNKNOWN_SUPPORT)
def _lockouts_of(subject: _Subject, before: Demands | None, after: Demands) -> Iterator[Finding]:
    """Yield findings about an engine: first for accesses that it must keep, then for its others."""
    reasons = _reasons(subject, before, after)
    needed = tuple(reason for reason in reasons if reason.access in subject.must)
    besides = tuple(r for r in reasons if r.access in subject.uses - subject.must)
    if needed:
        yield _finding_about(subject, needed, None, must=True, is_change=before is not None)
    if besides and outcome_of(needed) is not Outcome.READ_LOCKED:
        misread = any(r.access is Access.READ for r in _deciding(Outcome.SILENT_WRONG_RESULTS, besides))
        is_error = misread and outcome_of(besides) is Outcome.SILENT_WRONG_RESULTS and subject.replaced_by is None
        severity = None if is_error else Severity.WARNING
        yield _finding_about(subject, besides, severity, must=False, is_change=before is not None)


def _reasons(subject: _Subject, before: Demands | None, after: Demands) -> tuple[Reason, ...]:
    """Return the reasons against an engine that are new with the change.

    Demands that the engine met when it wrote are left out, unless it silently disregards them: a commit does not show
    that an engine reads its own files right.
    """
    profile, version = subject.member.profile, subject.member.version
    reasons = assess(profile, version, after).reasons
    if before is not None:
        earlier = {reason.key for reason in assess(profile, version, before).reasons}
        reasons = tuple(reason for reason in reasons if reason.key not in earlier)
    if subject.writer is not None and subject.writer.managed is not None:
        managed = {reason.key for reason in assess(profile, version, subject.writer.managed).reasons}
        reasons = tuple(r for r in reasons if r.support is Support.WRONG or r.misreads or r.key not in managed)
    return reasons


def _finding_about(
    subject: _Subject, reasons: Collection[Reason], severity: Severity | None, *, must: bool, is_change: bool
) -> Finding:
    outcome = outcome_of(reasons)
    deciding = _deciding(outcome, reasons)
    unversioned = outcome is Outcome.UNKNOWN and subject.member.version is None and subject.member.profile.has_releases
    rule: Rule = _RULES[outcome]
    facts: dict[str, Any] = {"engine": subject.member.name}
    parts = []
    if subject.writer is not None:
        parts.append("{engine} wrote {commits:commit} in the last {days:day}, most recently version {last}")
        facts |= {"commits": subject.writer.commits, "last": subject.writer.last, "days": _whole(subject.days)}
        if subject.replaced_by is not None:
            parts.append(", and {later} since")
            facts["later"] = subject.replaced_by
        parts.append(". ")
    elif must:
        parts.append("{engine} must stay able to {uses} this table. ")
        facts["uses"] = _verbs(subject.must)
    else:
        parts.append("{engine} is declared to {uses} this table. ")
        facts["uses"] = _verbs(subject.uses)
    by_feature = [reason for reason in deciding if not reason.effect]
    cases = [_case(reason, outcome, is_change=is_change) for reason in deciding if reason.effect]
    if by_feature or not cases:
        parts.append(_UNVERSIONED if unversioned else _SENTENCES[outcome, is_change])
        parts.append(" ({sources}).")
        features = list(dict.fromkeys(reason.subject for reason in by_feature if reason.subject))
        # A type change also names its feature.
        distinct = [name for name in features if not any(other.startswith(f"{name}: ") for other in features)]
        facts["features"] = distinct or ["the protocol"]
        facts["sources"] = Prose("; ".join(dict.fromkeys(reason.source for reason in by_feature)))
    if cases:
        parts.append(" {cases}" if by_feature else "{cases}")
        facts["cases"] = Prose(" ".join(dict.fromkeys(cases)))
    if unversioned and cases and not by_feature:
        parts.append(" Its version is not known, and releases differ.")
    remedy = DECLARE_VERSION if unversioned else _remedy(rule, deciding, is_change=is_change)
    return rule.found("".join(parts), severity=severity, remedy=remedy, subject=subject.member.name, **facts)


def _case(reason: Reason, outcome: Outcome, *, is_change: bool) -> str:
    """Return the sentence about a condition that decides an outcome."""
    start = "After the change, it" if is_change else "It"
    if outcome is Outcome.UNKNOWN:
        start = f"It is not known whether it {'then ' if is_change else ''}"
        return f"{start}{reason.effect}: {reason.subject} ({reason.source})."
    silently = ", without an error" if outcome is Outcome.SILENT_WRONG_RESULTS else ""
    return f"{start} {reason.effect}{silently}: {reason.subject} ({reason.source})."


def _remedy(rule: Rule, deciding: Collection[Reason], *, is_change: bool) -> str | None:
    """Return the remedies of conditions, and that of the rule if features decide as well; None for only the latter."""
    cases = [reason for reason in deciding if reason.effect]
    if not cases:
        return None if is_change or rule not in (READ_LOCKED, WRITE_LOCKED) else _MOVE
    remedies = [reason.remedy for reason in cases if reason.remedy]
    if len(remedies) < len(cases) and rule is SILENT_WRONG_RESULTS:
        remedies.append(_KEEP_AWAY)
    if len(cases) < len(deciding) or not remedies:
        remedies.append(rule.remedy)
    if is_change and any(reason.remedy for reason in cases):
        remedies.insert(0, "Leave the change out. If it is made:")
    return " ".join(dict.fromkeys(remedies))


_MOVE = (
    "Move the engine to a release that supports the named features and type changes, or remove them from the table "
    "(drop-feature)."
)


_UNVERSIONED = "Its version is not known, and not every release is known to support {features}"
#: Sentence for an outcome; the flag is True for a change.
_SENTENCES = {
    (Outcome.READ_LOCKED, True): "It would be locked out of reading by {features}",
    (Outcome.READ_LOCKED, False): "It is locked out of reading by {features}",
    (Outcome.WRITE_LOCKED, True): "It would be locked out of writing by {features}",
    (Outcome.WRITE_LOCKED, False): "It is locked out of writing by {features}",
    (Outcome.SILENT_WRONG_RESULTS, True): "Without an error, it would disregard {features}",
    (Outcome.SILENT_WRONG_RESULTS, False): "Without an error, it disregards {features}",
    (Outcome.UNKNOWN, True): "It is not known whether it would support {features}",
    (Outcome.UNKNOWN, False): "It is not known whether it supports {features}",
}
_DECIDING = {
    Outcome.READ_LOCKED: (Access.READ, Support.NO),
    Outcome.WRITE_LOCKED: (Access.WRITE, Support.NO),
    Outcome.SILENT_WRONG_RESULTS: (None, Support.WRONG),
    Outcome.UNKNOWN: (None, Support.UNKNOWN),
}


def _deciding(outcome: Outcome, reasons: Collection[Reason]) -> list[Reason]:
    access, support = _DECIDING[outcome]
    return [r for r in reasons if r.support is support and (access is None or r.access is access)]


def _verbs(accesses: frozenset[Access]) -> str:
    return "read and write" if Access.WRITE in accesses else "read"


@on_demand(UNIDENTIFIED_WRITER)
def _unidentified(
    fleet: TableFleet, writers: RecentWriters, before: Demands | None, after: Demands
) -> Iterator[Finding]:
    """Yield a finding for each writer without a profile.

    It is a warning if the writer has already written to a table with the same demands.
    """
    for writer in writers.writers:
        if engine_of(writer.name or "", fleet.profiles) is not None:
            continue
        if before is not None and not _demands_more(before, after):
            continue
        proven = writer.managed is not None and not _demands_more(writer.managed, after)
        who = "There is no profile of {engine}, which" if writer.name else "An engine that does not sign its commits"
        yield UNIDENTIFIED_WRITER.found(
            f"{who} wrote {{commits:commit}} in the last {{days:day}}, most recently version {{last}}."
            + (" It can write to the table as it is." if proven else ""),
            severity=Severity.WARNING if proven else None,
            subject=writer.name,
            engine=writer.name,
            commits=writer.commits,
            days=_whole(writers.days),
            last=writer.last,
        )


def _demands_more(before: Demands, after: Demands) -> bool:
    """Return True if ``after`` has a demand that ``before`` does not have."""
    return bool(
        after.writer - before.writer
        or after.reader - before.reader
        or (after.writer - after.unused) - (before.writer - before.unused)
        or set(after.type_changes) - set(before.type_changes)
        or (before.is_readable and not after.is_readable)
    )


def _whole(days: float) -> float | int:
    return int(days) if days == int(days) else days
