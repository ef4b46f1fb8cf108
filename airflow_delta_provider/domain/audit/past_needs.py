"""Needs of rules beyond their commit: facts that an audit saves, and facts that it reads again.

An audit that begins at a version has the past from its commits. An audit that resumes from a saved state must not
check with less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Need
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.row_tracking import ROW_TRACKING
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.verdict import Severity

#: Conditions on a table under which it may break a rule that only an audit's saved facts can check.
_MATTERS: Mapping[Need, Callable[[TableState], bool]] = {
    Need.COLUMN_IDS: lambda state: state.metadata.properties.is_mapped,
    Need.EVER_DROPPED: lambda state: (
        state.protocol.supports(USAGE_TRACKING) and not state.metadata.properties.has_dropped_or_renamed
    ),
    Need.HIGH_WATER_MARK: lambda state: (
        state.protocol.supports(ROW_TRACKING) and state.row_tracking.high_water_mark is None
    ),
}


def needing(need: Need) -> frozenset[str]:
    """Return the codes of the rules with a need."""
    return frozenset(rule.code for rule in RULES.values() if need in rule.needs)


def undecidable_rules(state: TableState) -> list[str]:
    """Return the codes of error rules that cannot be checked on the next commits from a state alone."""
    matters = {need for need, applies in _MATTERS.items() if applies(state)}
    return [
        rule.code for rule in RULES.values() if matters.intersection(rule.needs) and rule.severity is Severity.ERROR
    ]
