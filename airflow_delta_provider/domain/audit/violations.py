"""The violations of a table while its history is gone through: what stands, what was healed, what follows from what."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.audit.causes import BESIDE, CAUSES, LASTING
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: What a violation is about: the code of the rule, file, column and subject.
Key = tuple[str, str | None, str | None, str | None]
#: Whether a commit leaves a violation standing.
Stands = Callable[[Transition], bool]

#: Files of one rule that are followed one by one; more are counted.
_MOST_FILES = 1000
_ORDER = {Severity.ERROR: 0, Severity.UNDECIDED: 1, Severity.WARNING: 2}


@dataclass(eq=False)
class Violation:
    """A broken rule.

    :param finding: as of the commit that broke it
    :param stands: looks at later commits; None where only its file's removal heals it, if anything does
    :param healed: the version that put it right
    """

    finding: Finding
    stands: Stands | None = None
    healed: int | None = None
    cause: Violation | None = None


class Violations:
    """Takes what the rules find, commit after commit."""

    def __init__(self) -> None:
        self._standing: dict[Key, Violation] = {}
        self._healed: list[Violation] = []
        self._aspects: dict[str, set[Key]] = defaultdict(set)
        self._paths: dict[str, list[Key]] = defaultdict(list)
        self._files: dict[str, int] = defaultdict(int)
        self._uncounted: dict[str, int] = defaultdict(int)
        self._forgotten: frozenset[Key] = frozenset()

    def look(self, aspect: str, version: int, findings: Iterable[Finding]) -> None:
        """Take all that is wrong with an aspect of the state of ``version``: what is not among it is healed."""
        found = {key_of(finding): finding for finding in findings}
        for key in self._aspects[aspect] - found.keys():
            self._heal(key, version)
        self._aspects[aspect] = set(found)
        for finding in found.values():
            self.open(finding)

    def open(self, finding: Finding, stands: Stands | None = None) -> None:
        """Take what a commit did wrong; where the same stands already, the first counts."""
        key = key_of(finding)
        if key in self._standing:
            return
        if finding.path is not None:
            if self._files[finding.code] >= _MOST_FILES:
                self._uncounted[finding.code] += 1
                return
            self._files[finding.code] += 1
            self._paths[finding.path].append(key)
        self._standing[key] = Violation(finding, stands)

    def forget(self) -> None:
        """Tell nothing of what stands now: it was there before the history began."""
        self._forgotten = frozenset(self._standing)

    def recall(self, finding: Finding, aspect: str | None, stands: Stands | None = None) -> None:
        """Take what is remembered of an earlier audit.

        :param aspect: of the state that :meth:`look` will be told of, where it is about one
        """
        self.open(finding, stands)
        if aspect is not None:
            self._aspects[aspect].add(key_of(finding))

    def stands(self, code: str) -> bool:
        """Whether the rule is broken now."""
        return any(key[0] == code for key in self._standing)

    def look_again(self, transition: Transition) -> None:
        """Heal what a commit that changes protocol or metadata puts right."""
        for key, violation in list(self._standing.items()):
            if violation.stands is not None and not violation.stands(transition):
                self._heal(key, transition.commit.version)

    def gone(self, paths: Iterable[str], version: int) -> None:
        """Heal what was wrong with files that are not live any more."""
        for path in paths:
            for key in self._paths.pop(path, ()):
                self._heal(key, version)

    @property
    def has_files(self) -> bool:
        """Whether anything stands that is wrong with single files."""
        return bool(self._paths)

    def findings(self, table_id: str) -> list[Finding]:
        """Return what stands, the worst first, then what was healed; each with its fingerprint and its cause."""
        standing = sorted(self._standing.values(), key=_rank)
        healed = sorted(self._healed, key=_rank)
        for violation in standing + healed:
            violation.cause = _cause(violation, standing + healed)
        told = (
            self._told([v for v in violations if not self._is_forgotten(v)], table_id)
            for violations in (standing, healed)
        )
        return [finding for findings in told for finding in findings]

    def _told(self, violations: list[Violation], table_id: str) -> Iterator[Finding]:
        alike: dict[tuple[object, ...], list[Violation]] = defaultdict(list)
        for violation in violations:
            finding = violation.finding
            alike[finding.code, finding.severity, finding.column, finding.subject, violation.healed].append(violation)
        for first, *others in alike.values():
            finding = first.finding
            more = len(others) + (0 if first.healed is not None else self._uncounted.pop(finding.code, 0))
            last = max((other.finding.version or 0 for other in others), default=finding.version)
            until = "" if last == finding.version else f", the last one in version {last}"
            message = finding.message if not more else f"{finding.message} The same is wrong with {more} more{until}."
            yield replace(
                finding,
                message=message,
                healed_version=first.healed,
                fingerprint=fingerprint(finding, table_id),
                caused_by=None if first.cause is None else fingerprint(first.cause.finding, table_id),
            )

    def _is_forgotten(self, violation: Violation) -> bool:
        return bool(violation.finding.at_or_before) and key_of(violation.finding) in self._forgotten

    def _heal(self, key: Key, version: int) -> None:
        violation = self._standing.pop(key, None)
        if violation is not None:
            violation.healed = version
            self._healed.append(violation)


def key_of(finding: Finding) -> Key:
    """Return what a finding is about."""
    return finding.code, finding.path, finding.column, finding.subject


def fingerprint(finding: Finding, table_id: str) -> str:
    """Return what stays the same as long as a violation is the same one, 16 hexadecimal digits."""
    parts = (finding.code, table_id, finding.path, finding.column, finding.subject, finding.version)
    return hashlib.sha256("\0".join("" if part is None else str(part) for part in parts).encode()).hexdigest()[:16]


def _rank(violation: Violation) -> tuple[int, int, str]:
    finding = violation.finding
    return _ORDER[finding.severity], finding.version or 0, finding.code


def _cause(violation: Violation, others: list[Violation]) -> Violation | None:
    """Return the violation that this one only follows from: in the same commit, or earlier where it may show later."""
    finding = violation.finding
    if finding.code in BESIDE:
        return next((other for other in others if _explains(other.finding, finding)), None)
    for code in CAUSES.get(finding.code, ()):
        for other in others:
            cause = other.finding
            if other is violation or cause.code != code or (cause.version or 0) > (finding.version or 0):
                continue
            same = cause.version == finding.version
            columns = finding.column is None or cause.column is None or _related(finding.column, cause.column)
            if columns and (same or finding.code in LASTING) and _has_no_part_in(other, violation):
                return other
    return None


def _explains(cause: Finding, beside: Finding) -> bool:
    """Whether a file beside the commits may contradict them because of ``cause``."""
    from_commit = cause.code not in BESIDE and cause.severity is Severity.ERROR and cause.action is not None
    return from_commit and (cause.version or 0) <= (beside.version or 0)


def _related(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _has_no_part_in(cause: Violation, violation: Violation) -> bool:
    """Whether ``cause`` does not itself follow from ``violation``."""
    seen: Violation | None = cause
    while seen is not None:
        if seen is violation:
            return False
        seen = seen.cause
    return True
