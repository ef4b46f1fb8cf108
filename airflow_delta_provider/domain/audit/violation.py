"""A violation, while the history of a table is gone through: what it is about, what heals it, how it is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from airflow_delta_provider.domain.checks.healing import StillOpen
from airflow_delta_provider.domain.checks.registry import RULES, rule_of
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.digest import short_digest
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: What a violation is about: the code of the rule, file, column and subject.
Key = tuple[str, str | None, str | None, str | None]
#: The same, and the commit that did it; None where it is about a state, whoever brought the table there.
Violated = tuple[Key, "int | None"]
#: Gives the state before a violation; None where the log no longer has it.
Before = Callable[[], "TableState | None"]


_ORDER = {Severity.ERROR: 0, Severity.UNDECIDED: 1, Severity.WARNING: 2}


@dataclass(eq=False)
class Violation:
    """A broken rule.

    :param finding: as of the commit that broke it
    :param still_open: looks at later commits; None where only its file's removal heals it, if anything does
    :param before: gives the state that the commit found, where the rule compares with it
    :param paths: the files that are still wrong, where it is about files: it is healed when none is left
    :param files: how many were wrong
    :param healed: the version that put it right
    :param of_state: whether it is found again in each state
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
        """How many reports of the same words it is: one for each file that is wrong, or was before it was healed."""
        return self.files if self.healed is not None else max(len(self.paths), 1)

    @property
    def root(self) -> Violation:
        """What it follows from in the end: itself where it follows from nothing."""
        return self if self.cause is None else self.cause.root


@dataclass(frozen=True)
class Detected:
    """A violation, as the check of a commit returns it.

    :param still_open: looks at later commits; None where only its file's removal heals it, if anything does
    :param before: the state before, of a change of protocol or metadata
    """

    finding: Finding
    still_open: StillOpen | None = None
    before: TableState | None = None


def sound_before(healed: Sequence[Violation]) -> TableState | None:
    """Return the state before the oldest of those violations: what a commit leads back to that heals them."""
    states = [violation.before() for violation in healed if violation.before is not None]
    return min((state for state in states if state is not None), key=lambda state: state.version, default=None)


def group_of(finding: Finding) -> tuple[object, ...]:
    """Return what those violations have in common of which one is reported for all."""
    return finding.code, finding.severity, finding.column, finding.subject


def key_of(finding: Finding) -> Key:
    """Return what a finding is about."""
    return finding.code, finding.path, finding.column, finding.subject


def fingerprint(finding: Finding, table_id: str) -> str:
    """Return what stays the same as long as a violation is the same one, 16 hexadecimal digits."""
    # Which version is the oldest that is kept changes from day to day.
    version = None if finding.at_or_before or rule_of(finding).reported_once else finding.version
    parts = (finding.code, table_id, finding.path, finding.column, finding.subject, version)
    text = "\0".join("" if part is None else str(part) for part in parts)
    return short_digest(text)


def worded(finding: Finding) -> Finding:
    """Return a finding with its message composed again: of what it says now."""
    rule = RULES.get(finding.code)
    if rule is None or finding.evidence is None:
        extra = [text for text in (finding.alike_text, finding.expired_text) if text not in finding.message]
        return replace(finding, message=" ".join((finding.message, *extra)))
    return rule.worded(finding)


def rank(violation: Violation) -> tuple[int, int, str]:
    """Return what violations are sorted by: the worst first, then the oldest."""
    finding = violation.finding
    return _ORDER[finding.severity], finding.version or 0, finding.code
