"""Violations during an audit: their identity, their fix and their report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from airflow_delta_provider.domain.checks.healing import StillOpen
from airflow_delta_provider.domain.checks.registry import RULES, rule_of
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.digest import short_digest
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: Identity of a violation: the code of the rule, file, column and subject.
Key = tuple[str, str | None, str | None, str | None]
#: The same with the version of the commit; None for a violation of a state, whichever commit led to it.
Violated = tuple[Key, "int | None"]
#: Returns the state before a violation; None if the log no longer has it.
Before = Callable[[], "TableState | None"]


_ORDER = {Severity.ERROR: 0, Severity.UNDECIDED: 1, Severity.WARNING: 2}


@dataclass(eq=False)
class Violation:
    """A broken rule.

    :param finding: finding about the commit that broke it
    :param still_open: check whether it is still open after a later commit; None if only the removal of its file can
        fix it
    :param before: returns the state that the commit found, if the rule compares with it
    :param paths: files that are still wrong, if it is about files: it is fixed when none is left
    :param files: number of files that were wrong
    :param healed: version that fixed it
    :param of_state: whether each state with its files shows it again
    :param cause: violation that it follows from
    """

    finding: Finding
    key: Violated
    still_open: StillOpen | None = None
    before: Before | None = None
    paths: set[str] = field(default_factory=set)
    files: int = 1
    healed: int | None = None
    of_state: bool = False
    cause: Violation | None = None

    @property
    def number(self) -> int:
        """Number of findings that it stands for: one for each file that is wrong, or that was wrong before the fix."""
        return self.files if self.healed is not None else max(len(self.paths), 1)

    @property
    def root(self) -> Violation:
        """The violation at the end of the chain of causes; itself if it has no cause."""
        return self if self.cause is None else self.cause.root


@dataclass(frozen=True)
class Detected:
    """A violation, as the check of a commit returns it.

    :param still_open: check whether it is still open after a later commit; None if only the removal of its file can
        fix it
    :param before: the state before, for a change of protocol or metadata
    """

    finding: Finding
    still_open: StillOpen | None = None
    before: TableState | None = None


def sound_before(healed: Sequence[Violation]) -> TableState | None:
    """Return the state before the oldest of these violations; None if unknown.

    A commit that fixes the violations returns to it.
    """
    states = [violation.before() for violation in healed if violation.before is not None]
    return min((state for state in states if state is not None), key=lambda state: state.version, default=None)


def group_of(finding: Finding) -> tuple[object, ...]:
    """Return the grouping key of a finding: one finding is reported for all with the same key."""
    return finding.code, finding.severity, finding.column, finding.subject


def key_of(finding: Finding) -> Key:
    """Return the identity of a finding."""
    return finding.code, finding.path, finding.column, finding.subject


def fingerprint(finding: Finding, table_id: str) -> str:
    """Return 16 hexadecimal digits that identify a violation as long as it is the same one."""
    # The oldest kept version changes from day to day, so it must not be part of the fingerprint.
    version = None if finding.at_or_before or rule_of(finding).reported_once else finding.version
    parts = (finding.code, table_id, finding.path, finding.column, finding.subject, version)
    text = "\0".join("" if part is None else str(part) for part in parts)
    return short_digest(text)


def worded(finding: Finding) -> Finding:
    """Return a finding with its message composed from its present fields."""
    rule = RULES.get(finding.code)
    if rule is None or finding.evidence is None:
        extra = [text for text in (finding.alike_text, finding.expired_text) if text not in finding.message]
        return replace(finding, message=" ".join((finding.message, *extra)))
    return rule.worded(finding)


def rank(violation: Violation) -> tuple[int, int, str]:
    """Return the sort key of violations: the worst first, then the oldest."""
    finding = violation.finding
    return _ORDER[finding.severity], finding.version or 0, finding.code
