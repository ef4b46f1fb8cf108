"""Which violations still stand, and since when the others are healed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.provenance import provenance
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.violation import Violation
from airflow_delta_provider.domain.report.finding import Finding

#: Findings of one rule; what goes beyond is counted.
_MOST = 50


@dataclass
class Open:
    """A violation at a commit, as long as it is not healed.

    :param groups: those of its groups of files that are still live
    """

    finding: Finding
    groups: list[frozenset[FileKey]] = field(default_factory=list)
    healed_version: int | None = None

    def heal(self, snapshot: Snapshot) -> None:
        """Note that the rule holds again."""
        self.healed_version = snapshot.id


class Standing:
    """Violations in the order in which they were found."""

    def __init__(self) -> None:
        self._all: list[Open] = []
        self._by_file: dict[FileKey, list[Open]] = defaultdict(list)

    def add(self, violation: Violation, snapshot: Snapshot, **known: Any) -> Open:
        """Have one more.

        :param snapshot: of the commit that broke the rule
        """
        where: Mapping[str, Any] = {**provenance(snapshot), "path": violation.path, "subject": violation.subject}
        finding = violation.rule.finding(violation.message, **{**where, **known})
        opened = Open(replace(finding, severity=violation.severity or finding.severity), list(violation.groups))
        self._all.append(opened)
        for group in violation.groups:
            for key in group:
                self._by_file[key].append(opened)
        return opened

    def forget(self, files: Iterable[DataFile], snapshot: Snapshot) -> None:
        """Note that files are not live any more since a snapshot."""
        for file in files:
            for opened in self._by_file.pop(file.key, ()):
                had = bool(opened.groups)
                opened.groups = [group for group in opened.groups if file.key not in group]
                if had and not opened.groups:
                    opened.heal(snapshot)

    def findings(self) -> list[Finding]:
        """Return all of them; of each rule the first, and how many more there are."""
        by_code: dict[tuple[str, bool], list[Finding]] = defaultdict(list)
        for opened in self._all:
            healed = opened.healed_version is not None
            by_code[opened.finding.code, healed].append(replace(opened.finding, healed_version=opened.healed_version))
        told: list[Finding] = []
        for found in by_code.values():
            if (more := len(found) - _MOST) > 0:
                last = found[_MOST - 1]
                found[_MOST - 1] = replace(last, message=f"{last.message} {more} later commits broke the rule, too.")
            told += found[:_MOST]
        return told
