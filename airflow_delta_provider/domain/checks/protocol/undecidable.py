"""Tables of which the log does not show what they are: LG06, and TF17 of features that readers must support."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log import catalog_managed
from airflow_delta_provider.domain.checks.protocol.lists import UNKNOWN_FEATURE
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


@on_demand(UNKNOWN_FEATURE)
def why_undecidable(state: TableState) -> Iterator[Finding]:
    """Yield why the log does not show what the table is."""
    yield from catalog_managed.check_state(state)
    unknown = sorted((state.protocol.reader_features or frozenset()) - FEATURES.keys())
    if unknown:
        yield UNKNOWN_FEATURE.found(
            "The protocol has the reader feature {unknown}, which this version of the provider does not know.",
            effect="It may change what the log means.",
            remedy="Update the provider.",
            unknown=unknown,
            version=state.version,
        )
