"""Plans of repairs.

Each correction is tried: an audit reads the log as if the correction were its next commit. The correction is kept if a
finding is gone, and no rule is broken more often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.checks.rule import RepairMethod
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.repair.corrections import (
    Correction,
    Past,
    Situation,
    proposals,
    version_before,
    visible_columns,
)
from airflow_delta_provider.domain.repair.logged_table import LoggedTable
from airflow_delta_provider.domain.report.report import Finding

#: Audits the log as if the repair were its next commit, and returns the open findings; None if that commit cannot be
#: read.
Audit = Callable[[LoggedTable], "Sequence[Finding] | None"]
#: Code, version, path, column and subject of a finding.
Identity = tuple[str, "int | None", "str | None", "str | None", "str | None"]
#: Maximum number of corrections that are tried for a table.
_MOST_TRIED = 2000
#: Maximum number of changes of a correction that is tried without each of them, to find those that it needs.
_MOST_MINIMIZED = 12


@dataclass(frozen=True)
class Fix:
    """A correction and the findings that it fixes."""

    correction: Correction
    fixes: tuple[Finding, ...]


@dataclass(frozen=True)
class Outcome:
    """The corrections that fix findings of a table, and the findings that stay open.

    :param open: findings that an audit has after the repair
    :param forbidden: information that corrections without permission would lose, by :func:`identity_of` their finding
    :param hindered: reasons why the table cannot go back to the version before an open finding
    :param permissions: fingerprints of the findings whose corrections lose information, in the order of their use
    """

    table: LoggedTable
    repaired: tuple[Fix, ...]
    open: tuple[Finding, ...]
    forbidden: Mapping[Identity, tuple[str, ...]]
    hindered: Mapping[Identity, str]
    permissions: tuple[str, ...] = ()


class Planner:
    """Looks for corrections of one table.

    :param audit: audits the table as repaired
    :param permitted: returns True if a correction that loses information may be used for a finding
    """

    def __init__(
        self,
        state: TableState,
        table: LoggedTable,
        past: Past,
        audit: Audit,
        permitted: Callable[[Finding], bool] = lambda _: True,
    ) -> None:
        self._state = state
        self._table = table
        self._past = past
        self._audit = audit
        self._permitted = permitted
        self._tried = 0
        self._forbidden: dict[Identity, tuple[str, ...]] = {}
        self._permissions: list[str] = []

    def plan(self, findings: Iterable[Finding]) -> Outcome:
        """Correct finding by finding, those with the oldest versions first, until no correction helps."""
        table, repaired = self._table, list[Fix]()
        open_now = [finding for finding in findings if finding.is_open]
        progress = True
        while progress:
            progress = False
            for finding in sorted(open_now, key=_order):
                if finding not in open_now:
                    continue
                found = self._correct(table, finding, open_now)
                if found is not None:
                    table, after, correction = found
                    fixed = tuple(other for other in open_now if identity_of(other) not in set(map(identity_of, after)))
                    if correction.back_to is not None:  # earlier corrections no longer matter
                        fixed = (*(other for each in repaired for other in each.fixes), *fixed)
                        repaired.clear()
                        del self._permissions[:-1]
                    repaired.append(Fix(correction, fixed))
                    open_now, progress = list(after), True
        hindered = {identity_of(finding): self._why_not_back(table, finding) for finding in open_now}
        return Outcome(
            table, tuple(repaired), tuple(open_now), self._forbidden, hindered, tuple(dict.fromkeys(self._permissions))
        )

    def _why_not_back(self, table: LoggedTable, finding: Finding) -> str:
        if RepairMethod.EARLIER_VERSION not in rule_of(finding).all_repairs:
            return ""
        before = version_before(Situation(finding, self._state, table, self._past))
        return before if isinstance(before, str) else "Going back to the version before it would break another rule."

    def _correct(
        self, table: LoggedTable, finding: Finding, open_now: Sequence[Finding]
    ) -> tuple[LoggedTable, Sequence[Finding], Correction] | None:
        situation = Situation(finding, self._state, table, self._past)
        found = (proposal for method in rule_of(finding).all_repairs for proposal in proposals(method, situation))
        later: list[Correction] = []
        tried: list[tuple[Correction, Sequence[Finding]]] = []
        for correction in found:
            lost = self._loses(table, correction)
            if lost is None:
                continue
            if lost.loses:
                later.append(lost)
                continue
            after = self._found(table, lost)
            if self._is_better(after, finding, open_now):
                return self._smallest(table, lost, after, finding, open_now)
            tried.append((lost, after or ()))
        for correction, after in tried:
            if (outcome := self._extended(table, correction, after, finding, open_now)) is not None:
                return outcome
        for correction in later:
            after = self._found(table, correction)
            if self._is_better(after, finding, open_now):
                outcome = self._smallest(table, correction, after, finding, open_now)
                if self._permitted(finding):
                    self._permissions.append(finding.fingerprint or "")
                    return outcome
                self._forbidden.setdefault(identity_of(finding), outcome[2].loses)
                break
        return None

    def _loses(self, table: LoggedTable, correction: Correction) -> Correction | None:
        """Return the correction with all that is lost by it and that readers see; None if it does not fit the table."""
        try:
            after = correction.applied(table)
        except KeyError:
            return None
        if after.metadata == table.metadata:
            return correction
        before, then = visible_columns(table.metadata), visible_columns(after.metadata)
        lost = [name for name in before if name not in then] if before and then else []
        otherwise = [name for name in before if name in then and before[name] != then[name]]
        loses: tuple[str, ...] = (f"Readers no longer see the columns {', '.join(lost)}.",) if lost else ()
        sees: tuple[str, ...] = (f"These columns then have other values: {', '.join(otherwise)}.",) if otherwise else ()
        back = [name for name in then if name not in before] if before else []
        sees += (f"Readers see these columns again: {', '.join(back)}.",) if back else ()
        return replace(correction, loses=(*correction.loses, *loses), sees=(*correction.sees, *sees))

    def _smallest(
        self,
        table: LoggedTable,
        correction: Correction,
        after: Sequence[Finding],
        finding: Finding,
        open_now: Sequence[Finding],
    ) -> tuple[LoggedTable, Sequence[Finding], Correction]:
        """Leave out changes that are not needed. Return the table, its findings and the correction."""
        if 1 < len(correction.changes) <= _MOST_MINIMIZED and not correction.copied:
            for change in correction.changes:
                fewer = replace(correction, changes=tuple(c for c in correction.changes if c != change))
                found = self._found(table, fewer) if fewer.changes else ()
                if fewer.changes and self._is_better(found, finding, open_now) and len(found) <= len(after):
                    correction, after = fewer, found
        return correction.applied(table), after, self._loses(table, correction) or correction

    def _extended(
        self,
        table: LoggedTable,
        correction: Correction,
        found: Sequence[Finding],
        finding: Finding,
        open_now: Sequence[Finding],
    ) -> tuple[LoggedTable, Sequence[Finding], Correction] | None:
        """Combine a correction with a second one, which fixes the first new finding; None if no combination helps.

        For example: if the protocol lists row tracking again, files without row ids become a violation. The second
        correction gives them ids.

        :param found: findings after the first correction
        """
        for new in [other for other in found if other.version == self._state.version + 1][:1]:
            situation = Situation(new, self._state, correction.applied(table), self._past)
            for more in (more for method in rule_of(new).all_repairs for more in proposals(method, situation)):
                if more.loses:
                    continue
                both = correction.and_then(more)
                after = self._found(table, both)
                if self._is_better(after, finding, open_now):
                    return both.applied(table), after, self._loses(table, both) or both
        return None

    def _found(self, table: LoggedTable, correction: Correction) -> Sequence[Finding] | None:
        """Return the findings after a correction; None if it does not fit, or if its commit cannot be read."""
        if self._tried >= _MOST_TRIED:
            return None
        self._tried += 1
        try:
            return self._audit(correction.applied(table))
        except KeyError:
            return None

    def _is_better(
        self, found: Sequence[Finding] | None, finding: Finding, open_now: Sequence[Finding]
    ) -> TypeGuard[Sequence[Finding]]:
        """Return True if the finding is gone, or its rule has fewer problems, and nothing is worse."""
        if found is None or breaks_more(open_now, found, self._state.version + 1):
            return False
        same = {identity_of(other) for other in found}
        return identity_of(finding) not in same or _counts(found)[finding.code] < _counts(open_now)[finding.code]


#: Families in the order in which the findings of one version are fixed: those that cause others come first.
_FAMILIES = ("LG", "TF", "MD", "CM", "UT", "TW", "AC", "RT", "DF")


def _order(finding: Finding) -> tuple[int, int, str]:
    """Return the sort key of a finding: version, family, code."""
    family = finding.code[:2]
    place = _FAMILIES.index(family) if family in _FAMILIES else len(_FAMILIES)
    return (-1 if finding.version is None else finding.version), place, finding.code


def identity_of(finding: Finding) -> Identity:
    """Return the identity of a finding within one table; its version is part of it."""
    return finding.code, finding.version, finding.path, finding.column, finding.subject


def _counts(findings: Iterable[Finding]) -> Counter[str]:
    """Return the number of problems by rule: a finding may stand for several."""
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[finding.code] += 1 + (finding.alike or 0)
    return counts


def breaks_more(before: Iterable[Finding], after: Sequence[Finding], version: int) -> bool:
    """Return True if the repair's own commit has a finding, or if a rule is broken more often than before.

    :param before: open findings before the repair
    :param after: open findings after it
    :param version: version of the repair's commit
    """
    if any(finding.version == version for finding in after):
        return True
    known = _counts(before)
    return any(number > known[code] for code, number in _counts(after).items())
