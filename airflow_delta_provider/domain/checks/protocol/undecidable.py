"""Tables of which the log does not tell what they are: LG06, and TF17 of what readers need."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.protocol import catalog_managed, rules
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


def why_undecidable(state: TableState) -> Iterator[Finding]:
    """Yield why the log does not tell what the table is."""
    yield from catalog_managed.check_state(state)
    unknown = sorted((state.protocol.reader_features or frozenset()) - FEATURES.keys())
    if unknown:
        yield rules.UNKNOWN_FEATURE.finding(
            f"The protocol has the reader feature {', '.join(unknown)}, which this version of the provider does not "
            "know: it may change what the log means. Update the provider.",
            version=state.version,
        )
