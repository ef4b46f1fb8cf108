"""Tables whose log does not tell what they are: LG06. PROTOCOL.md, Catalog-managed tables."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.log import rules
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


@on_state()
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield that a catalog knows more of the table than its log."""
    if state.protocol.features.intersection(CATALOG_MANAGED):
        yield rules.CATALOG_MANAGED.finding(
            "The table is managed by a catalog, which may have commits that the log does not hold yet: what its "
            "directory says is not the table. Check it where its catalog lets it be read.",
            version=state.version,
        )
