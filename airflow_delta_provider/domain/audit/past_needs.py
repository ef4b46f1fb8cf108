"""What each rule needs of the past, in addition to its commit: what of it is remembered, what is read again.

An audit that begins at a version has the past from its commits. One that continues from what an earlier one remembered
must not judge by less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Need
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.row_tracking import ROW_TRACKING
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.verdict import Severity

#: Where a table may break a rule for what only an audit's memory still tells.
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
    """Return the codes of the rules that need something."""
    return frozenset(rule.code for rule in RULES.values() if need in rule.needs)


def undecidable_rules(state: TableState) -> list[str]:
    """Return the codes of the errors that nobody can tell of the next commits who knows nothing but a state."""
    matters = {need for need, applies in _MATTERS.items() if applies(state)}
    return [
        rule.code for rule in RULES.values() if matters.intersection(rule.needs) and rule.severity is Severity.ERROR
    ]
