"""What lists say of manifests that other lists name, too: each has one size, and is in a base once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.commit import Commit
from airflow_delta_provider.domain.paimon.layout import manifest_path
from airflow_delta_provider.domain.paimon.open_violations import OpenViolation, OpenViolations
from airflow_delta_provider.domain.paimon.violation import Violation
from airflow_delta_provider.domain.report.finding import Finding


class ListedManifests:
    """The manifests of one commit after the other. Each is read once, so what later lists say of it is checked here."""

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
