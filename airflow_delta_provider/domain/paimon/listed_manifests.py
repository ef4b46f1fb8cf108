"""What lists say of manifests that other lists name, too: each has one size, and is in a base once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.commit import Commit
from airflow_delta_provider.domain.paimon.layout import manifest_path
from airflow_delta_provider.domain.paimon.open_violations import OpenViolation, OpenViolations
from airflow_delta_provider.domain.paimon.violation import Violation


class ListedManifests:
    """The manifests of one commit after the other. Each is read once, so what later lists say of it is judged here."""

    def __init__(self, violations: OpenViolations) -> None:
        self._open_violations = violations
        self._sizes: dict[str, int] = {}
        self._open: dict[tuple[str, str], OpenViolation] = {}

    def apply_commit(self, commit: Commit) -> None:
        """Judge the lists of a commit."""
        broken = {(violation.rule.code, violation.path or ""): violation for violation in self._violations(commit)}
        for key in self._open.keys() - broken.keys():
            self._open.pop(key).heal(commit.snapshot)
        for key in broken.keys() - self._open.keys():
            self._open[key] = self._open_violations.add(broken[key], commit.snapshot)

    def _violations(self, commit: Commit) -> Iterator[Violation]:
        base = commit.base or ()
        for manifest in (*base, *(commit.delta or ())):
            if (size := self._sizes.setdefault(manifest.name, manifest.size)) != manifest.size:
                path = manifest_path(manifest.name)
                yield Violation(
                    rules.RECORDED_SIZES,
                    f"{path} has {manifest.size} bytes by one list of manifests and {size} by another. Paimon reads "
                    "one of another size as empty, without an error.",
                    path=path,
                )
        names = [manifest.name for manifest in base]
        if len(set(names)) == len(names):
            return
        for name, times in Counter(names).items():
            if times > 1:
                path = manifest_path(name)
                message = f"The base of the commit lists {path} {times} times, so that its files are added each time."
                yield Violation(rules.CONTRADICTING_MANIFESTS, message, path=path)
