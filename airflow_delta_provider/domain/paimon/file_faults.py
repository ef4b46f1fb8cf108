"""What is wrong with data files, and as few findings of it as possible: PD10, PD12, PD13."""

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

#: Findings of one rule; of further files only the number is reported.
_MOST = 20


@dataclass(frozen=True)
class FileFault:
    """What is wrong with a data file.

    :param says: what follows the file's name; other files with the same problem are named with it
    :param effect: what that means, if it is something else than the rule says
    :param remedy: what to do about it, if it is something else than the rule says
    :param since: the first snapshot that is wrong by it; None for the one that added the file
    """

    rule: Rule
    file: DataFile
    says: str
    effect: str | None = None
    remedy: str | None = None
    since: Snapshot | None = None


def differs(file: DataFile, why: str) -> FileFault:
    """Return that a file is not what its manifest says."""
    return FileFault(rules.NOT_AS_RECORDED, file, f"differs from its manifest entry: {why}.")


def unreadable(file: DataFile, why: str) -> FileFault:
    """Return that a file is missing or damaged."""
    return FileFault(rules.UNREADABLE, file, f"cannot be read: {why}.")


def unread(file: DataFile, why: str, remedy: str | None = None) -> FileFault:
    """Return that a file cannot be read here."""
    return FileFault(rules.UNREAD, file, f"was not read: {why}.", remedy=remedy)


def findings_of(faults: Iterable[FileFault], lifetimes: Lifetimes) -> list[Finding]:
    """Return findings: files with the same problem together, at the first snapshot that is wrong by one.

    An error is healed once none of its files is live; what could not be proven stays so.
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
