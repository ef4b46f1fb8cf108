"""Clustering and partitioning: MD14. PROTOCOL.md, Clustered Table."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.metadata import rules as metadata_rules
from airflow_delta_provider.domain.delta.clustering import CLUSTERING, clustering_columns
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


@on_state()
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield whether a table is clustered and partitioned at once."""
    columns = clustering_columns(state.domains.get(CLUSTERING))
    if not columns:
        return
    if state.metadata.partition_columns:
        yield metadata_rules.CLUSTERED_AND_PARTITIONED.finding(
            f"The table is partitioned by {', '.join(map(str, state.metadata.partition_columns))} and clustered by "
            f"{', '.join('.'.join(parts[0]) for parts in columns)}; it may be only one of both: engines refuse it, or "
            "no longer cluster it. ALTER TABLE … CLUSTER BY NONE takes clustering away.",
            version=state.version,
        )
