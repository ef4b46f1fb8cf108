"""Problems of data files, combined into as few findings as possible: PD10, PD12, PD13."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.paimon.lifetimes import Lifetimes
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.violation import listed, provenance
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: Maximum findings of one rule; further files are only counted.
_MOST = 20


@dataclass(frozen=True)
class FileFault:
    """A problem of a data file.

    :param says: text after the file's name; files with the same text are reported together
    :param effect: effect, if it differs from the rule's text
    :param remedy: remedy, if it differs from the rule's text
    :param since: first snapshot with the problem; None for the one that added the file
    """

    rule: Rule
    file: DataFile
    says: str
    effect: str | None = None
    remedy: str | None = None
    since: Snapshot | None = None


def differs(file: DataFile, why: str) -> FileFault:
    """Return a fault: a file differs from its manifest entry."""
    return FileFault(rules.NOT_AS_RECORDED, file, f"differs from its manifest entry: {why}.")


def unreadable(file: DataFile, why: str) -> FileFault:
    """Return a fault: a file is missing or damaged."""
    return FileFault(rules.UNREADABLE, file, f"cannot be read: {why}.")


def unread(file: DataFile, why: str, remedy: str | None = None) -> FileFault:
    """Return a fault: a file cannot be read here."""
    return FileFault(rules.UNREAD, file, f"was not read: {why}.", remedy=remedy)


def findings_of(faults: Iterable[FileFault], lifetimes: Lifetimes) -> list[Finding]:
    """Return findings, each for the files with the same problem, at the first snapshot that has it.

    An error is healed once none of its files is live. Undecided findings are never healed.
    """
    alike: dict[tuple[Rule, str, str | None, str | None], list[FileFault]] = defaultdict(list)
    for fault in faults:
        alike[fault.rule, fault.says, fault.effect, fault.remedy].append(fault)
    by_rule: dict[Rule, list[Finding]] = defaultdict(list)
    for (rule, says, effect, remedy), group in alike.items():
        first, *others = (fault.file.name for fault in group)
        more = " {others:more file has|more files have} the same problem: {names}." if others else ""
        finding = rule.found(
            "{file} {says}" + more,
            path=None if others else first,
            effect=effect,
            remedy=remedy,
            file=first,
            says=Prose(says),
            others=len(others),
            names=listed(others),
        )
        files = [fault.file for fault in group]
        gone = lifetimes.gone_since(files) if rule.severity is Severity.ERROR else None
        by_rule[rule].append(replace(finding, healed_version=gone, **_since(group, lifetimes)))
    reported: list[Finding] = []
    for rule, found in by_rule.items():
        found.sort(key=lambda finding: (not finding.is_open, finding.version or 0))
        if (rest := len(found) - _MOST) > 0:
            last = found[_MOST - 1]
            evidence = f"{last.evidence} {rest:,} more files have other problems of this kind."
            found[_MOST - 1] = rule.worded(replace(last, evidence=evidence, facts={**(last.facts or {}), "more": rest}))
        reported += found[:_MOST]
    return reported


def _since(group: Iterable[FileFault], lifetimes: Lifetimes) -> dict[str, Any]:
    known = [fault.since or next(iter(lifetimes.added_by([fault.file])), None) for fault in group]
    snapshots = [snapshot for snapshot in known if snapshot is not None]
    if len(snapshots) == len(known):
        return provenance(min(snapshots, key=lambda snapshot: snapshot.id))
    return {"version": lifetimes.history.start.snapshot.id, "at_or_before": True}
