"""What is wrong with data files, and as few findings of it as tell everything: PD10, PD12, PD13."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.paimon.lifetimes import Lifetimes
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.provenance import provenance
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.violation import listed
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: Findings of one rule; of further files only the number is reported.
_MOST = 20


@dataclass(frozen=True)
class FileFault:
    """What is wrong with a data file.

    :param says: what follows the file's name; other files of which the same is to be said are told with it
    :param closing: a sentence or more, said once
    :param since: the first snapshot that is wrong by it; None for the one that added the file
    """

    rule: Rule
    file: DataFile
    says: str
    closing: str = ""
    since: Snapshot | None = None


def differs(file: DataFile, why: str) -> FileFault:
    """Return that a file is not what its manifest says."""
    return FileFault(rules.NOT_AS_RECORDED, file, f"is not what its manifest says: {why}.")


def unreadable(file: DataFile, why: str) -> FileFault:
    """Return that a file is missing or damaged."""
    return FileFault(rules.UNREADABLE, file, f"cannot be read: {why}.", rules.UNREADABLE.remedy)


def unread(file: DataFile, why: str, remedy: str = rules.UNREAD.remedy) -> FileFault:
    """Return that a file is none that can be read here."""
    return FileFault(
        rules.UNREAD, file, f"was not read: {why}.", f"These rows are not part of the proof. {remedy}".rstrip()
    )


def findings_of(faults: Iterable[FileFault], lifetimes: Lifetimes) -> list[Finding]:
    """Return findings: files of which the same is to be said together, at the first snapshot that is wrong by one.

    An error is healed once none of its files is live; what could not be proven stays so.
    """
    alike: dict[tuple[Rule, str, str], list[FileFault]] = defaultdict(list)
    for fault in faults:
        alike[fault.rule, fault.says, fault.closing].append(fault)
    by_rule: dict[Rule, list[Finding]] = defaultdict(list)
    for (rule, says, closing), group in alike.items():
        first, *others = (fault.file.name for fault in group)
        more = f"The same of {len(others):,} more: {listed(others)}." if others else ""
        message = " ".join(part for part in (f"{first} {says}", more, closing) if part)
        files = [fault.file for fault in group]
        gone = lifetimes.gone_since(files) if rule.severity is Severity.ERROR else None
        where = _since(group, lifetimes)
        by_rule[rule].append(rule.finding(message, path=None if others else first, healed_version=gone, **where))
    reported: list[Finding] = []
    for found in by_rule.values():
        found.sort(key=lambda finding: (not finding.is_open, finding.version or 0))
        if (rest := len(found) - _MOST) > 0:
            found[_MOST - 1] = replace(
                found[_MOST - 1], message=f"{found[_MOST - 1].message} So it is, in other ways, with {rest:,} more."
            )
        reported += found[:_MOST]
    return reported


def _since(group: Iterable[FileFault], lifetimes: Lifetimes) -> dict[str, Any]:
    known = [fault.since or next(iter(lifetimes.added_by([fault.file])), None) for fault in group]
    snapshots = [snapshot for snapshot in known if snapshot is not None]
    if len(snapshots) == len(known):
        return provenance(min(snapshots, key=lambda snapshot: snapshot.id))
    return {"version": lifetimes.history.start.snapshot.id, "at_or_before": True}
