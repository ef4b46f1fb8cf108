"""Checks of snapshots against their manifests: row counts (PM11), and listed manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.commit import Commit
from airflow_delta_provider.domain.paimon.layout import manifest_path
from airflow_delta_provider.domain.paimon.live_files import LiveFiles
from airflow_delta_provider.domain.paimon.open_violations import OpenViolation, OpenViolations
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.violation import Violation
from airflow_delta_provider.domain.report.finding import Finding


class RecordCounts:
    """Checks the row counts of consecutive snapshots.

    A wrong one is a violation of the commit that introduced it.
    """

    def __init__(self, violations: OpenViolations) -> None:
        self._open_violations = violations
        self._open: list[OpenViolation] = []
        self._excess = 0

    def start_from(self, snapshot: Snapshot, live: LiveFiles) -> None:
        """Accept the count of a snapshot without a check."""
        self._excess = _excess(snapshot, live)

    def check(self, snapshot: Snapshot, live: LiveFiles, **known: Any) -> None:
        """Check the count of a snapshot.

        :param live: its live files
        :param known: fields of the finding
        """
        excess = _excess(snapshot, live)
        if excess == self._excess:
            return
        self._excess = excess
        if not excess:
            for opened in self._open:
                opened.heal(snapshot)
            self._open = []
            return
        finding = rules.RECORD_COUNT.found(
            "totalRecordCount is {recorded}; the live files have {rows:row}.",
            recorded=snapshot.total_record_count,
            rows=(snapshot.total_record_count or 0) - excess,
        )
        self._open.append(self._open_violations.add(Violation(finding), snapshot, **known))


def _excess(snapshot: Snapshot, live: LiveFiles) -> int:
    """Return the difference between totalRecordCount and the rows of live files."""
    total, counts = snapshot.total_record_count, live.row_counts
    return 0 if total is None or total in counts else total - counts[0]


class ListedManifests:
    """Checks the manifests of consecutive commits.

    Each manifest is read once, so the records of it in later lists are checked here.
    """

    def __init__(self, violations: OpenViolations) -> None:
        self._open_violations = violations
        self._sizes: dict[str, int] = {}
        self._open: dict[tuple[str, str], OpenViolation] = {}

    def apply_commit(self, commit: Commit) -> None:
        """Check the lists of a commit."""
        violations = map(Violation, self._findings(commit))
        broken = {(one.finding.code, one.finding.path or ""): one for one in violations}
        for key in self._open.keys() - broken.keys():
            self._open.pop(key).heal(commit.snapshot)
        for key in broken.keys() - self._open.keys():
            self._open[key] = self._open_violations.add(broken[key], commit.snapshot)

    def _findings(self, commit: Commit) -> Iterator[Finding]:
        base = commit.base or ()
        for manifest in (*base, *(commit.delta or ())):
            if (size := self._sizes.setdefault(manifest.name, manifest.size)) != manifest.size:
                yield rules.RECORDED_SIZES.found(
                    "{path} has {size} bytes in one list of manifests and {other} in another.",
                    path=manifest_path(manifest.name),
                    size=manifest.size,
                    other=size,
                )
        for name, times in Counter(manifest.name for manifest in base).items():
            if times > 1:
                yield rules.CONTRADICTING_MANIFESTS.found(
                    "The base of the commit lists {path} {times} times.", path=manifest_path(name), times=times
                )
