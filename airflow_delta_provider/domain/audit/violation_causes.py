"""Causes of violations."""

from __future__ import annotations

from airflow_delta_provider.domain.audit.violation import Violation
from airflow_delta_provider.domain.checks.registry import CAUSES, RULES, rule_of
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity


def cause_of(violation: Violation, others: list[Violation]) -> Violation | None:
    """Return the violation that caused this one, in the same commit or, if the rule allows it, an earlier one.

    None if no violation did.
    """
    finding = violation.finding
    how = rule_of(finding).follows_from
    if how.any_commit and (commit := next((other for other in others if _explains(other.finding, finding)), None)):
        return commit
    afterwards = [rule if isinstance(rule, Rule) else RULES[rule] for rule in how.afterwards]
    for code in CAUSES.get(finding.code, ()):
        for other in others:
            cause = other.finding
            if other is violation or cause.code != code:
                continue
            is_later = (cause.version or 0) > (finding.version or 0)
            allowed = (how.earlier if is_later else how.later) or cause.version == finding.version
            columns = how.same_file or RULES[code].of_all_columns or _related(finding.column, cause.column)
            if RULES[code] in afterwards:
                allowed, columns = (cause.version or 0) < (finding.version or 0), True
            if (how.same_file or how.any_commit) and cause.path != finding.path:
                continue
            if columns and allowed and _has_no_part_in(other, violation):
                return other
    return None


def _explains(cause: Finding, derived: Finding) -> bool:
    """Return True if ``cause`` explains why a file derived from the commits contradicts them."""
    from_commit = (
        not rule_of(cause).follows_from.any_commit and cause.severity is Severity.ERROR and cause.action is not None
    )
    return from_commit and (cause.version or 0) <= (derived.version or 0)


def _related(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return True
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _has_no_part_in(cause: Violation, violation: Violation) -> bool:
    """Return True if ``cause`` does not itself follow from ``violation``."""
    seen: Violation | None = cause
    while seen is not None:
        if seen is violation:
            return False
        seen = seen.cause
    return True
