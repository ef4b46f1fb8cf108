"""All that must hold of protocol, metadata and domains of one version of a table, whatever led to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from airflow_delta_provider.domain.checks.column_mapping import checks as column_mapping
from airflow_delta_provider.domain.checks.metadata import checks as metadata
from airflow_delta_provider.domain.checks.metadata import clustering
from airflow_delta_provider.domain.checks.protocol import catalog_managed, iceberg_compat
from airflow_delta_provider.domain.checks.protocol import checks as protocol
from airflow_delta_provider.domain.checks.type_widening import checks as type_widening
from airflow_delta_provider.domain.checks.usage_tracking import checks as usage_tracking
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding

_FAMILIES: tuple[Callable[[TableState], Iterator[Finding]], ...] = (
    protocol.check_state,
    metadata.check_state,
    column_mapping.check_state,
    clustering.check_state,
    iceberg_compat.check_state,
    type_widening.check_state,
    catalog_managed.check_state,
    usage_tracking.check_state,
)


def check_state(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with a state, by every rule but those of row tracking."""
    for check_family in _FAMILIES:
        yield from check_family(state)
