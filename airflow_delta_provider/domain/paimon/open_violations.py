"""Open violations, and the snapshots since which others are healed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_delta_provider.domain.checks.paimon_metadata import FAMILY
from airflow_delta_provider.domain.paimon.lifetimes import row_successors
from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.violation import Violation, provenance
from airflow_delta_provider.domain.report.finding import Finding

#: Maximum findings of one rule; further ones are counted.
_MOST = 50
_RULES = {rule.code: rule for rule in FAMILY.rules}


@dataclass(eq=False)
class OpenViolation:
    """A violation by a commit, until it is healed.

    :param groups: groups that are still open; for each member, the files that may have its rows
    :param inherited: True if rows carry it into other files
    """

    finding: Finding
    groups: list[tuple[frozenset[FileKey], ...]] = field(default_factory=list)
    inherited: bool = False
    healed_version: int | None = None

    def heal(self, snapshot: Snapshot) -> None:
        """Mark it as healed: the rule holds again."""
        self.healed_version = snapshot.id

    @property
    def files(self) -> set[FileKey]:
        """The files that keep it open."""
        return {key for group in self.groups for member in group for key in member}

    def follow(self, added: Collection[DataFile], deleted: Mapping[FileKey, DataFile]) -> bool:
        """Follow the rows to the files that have them after a commit. Return True if there still are any."""
        candidates = added if self.inherited else ()
        moved = [tuple(row_successors(member, candidates, deleted) for member in group) for group in self.groups]
        self.groups = [group for group in moved if all(group)]
        return bool(self.groups)


class OpenViolations:
    """Violations in the order of their discovery."""

    def __init__(self) -> None:
        self._all: list[OpenViolation] = []
        self._by_file: dict[FileKey, set[OpenViolation]] = defaultdict(set)

    def add(self, violation: Violation, snapshot: Snapshot, **known: Any) -> OpenViolation:
        """Add a violation.

        :param snapshot: snapshot of the commit that broke the rule
        """
        groups = [tuple(frozenset((key,)) for key in group) for group in violation.groups]
        finding = replace(violation.finding, **{**provenance(snapshot), **known})
        opened = OpenViolation(finding, groups, violation.inherited)
        self._all.append(opened)
        self._watch(opened)
        return opened

    def follow(self, change: Change) -> None:
        """Follow the rows of files to the files that have them after a commit."""
        deleted = {file.key: file for file in change.deleted}
        touched = {one for key in deleted for one in self._by_file.pop(key, ()) if one.groups}
        for opened in touched:
            if opened.follow(change.added, deleted):
                self._watch(opened)
            else:
                opened.heal(change.snapshot)

    def _watch(self, opened: OpenViolation) -> None:
        for key in opened.files:
            self._by_file[key].add(opened)

    def findings(self) -> list[Finding]:
        """Return all findings; for each rule, the first ones and the number of others."""
        by_code: dict[tuple[str, bool], list[Finding]] = defaultdict(list)
        for opened in self._all:
            healed = opened.healed_version is not None
            by_code[opened.finding.code, healed].append(replace(opened.finding, healed_version=opened.healed_version))
        reported: list[Finding] = []
        for found in by_code.values():
            if (more := len(found) - _MOST) > 0:
                last = replace(found[_MOST - 1], alike=more, alike_until=found[-1].version)
                found[_MOST - 1] = _RULES[last.code].worded(last)
            reported += found[:_MOST]
        return reported
