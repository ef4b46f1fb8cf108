"""Tables of which a catalog knows more than the log: LG06. PROTOCOL.md, Catalog-managed tables."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.log import rules
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


@on_state(rules.CATALOG_MANAGED)
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield that a catalog knows more of the table than its log."""
    managing = sorted(state.protocol.features.intersection(CATALOG_MANAGED))
    if managing:
        yield rules.CATALOG_MANAGED.found(
            "The table is managed by a catalog: its protocol has {features}.", features=managing, version=state.version
        )
