"""Clustering and partitioning: MD14. PROTOCOL.md, Clustered Table."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.metadata.family import CLUSTERED, FAMILY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.clustering import CLUSTERING, clustering_columns
from airflow_delta_provider.domain.delta.features.data_files import CLUSTERING as CLUSTERING_FEATURE
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

CLUSTERED_AND_PARTITIONED = FAMILY.of(Scope.STATE).error(
    14,
    "clustered and partitioned",
    effect="Engines refuse the table, or no longer cluster it.",
    remedy="Rewrite the table with only one of the two; ALTER TABLE … CLUSTER BY NONE removes clustering.",
    source=CLUSTERED,
    shows="domainMetadata",
)


@on_state(CLUSTERED_AND_PARTITIONED)
def _clustered_and_partitioned(state: TableState) -> Iterator[Finding]:
    if not state.metadata.partition_columns:
        return
    columns = clustering_columns(state.domains.get(CLUSTERING))
    if columns or state.protocol.supports(CLUSTERING_FEATURE):
        yield CLUSTERED_AND_PARTITIONED.found(
            "The table is partitioned by {partitioned} and clustered by {clustered}; only one of the two is allowed."
            if columns
            else "The table is partitioned by {partitioned}, but the protocol has clustering; only one is allowed.",
            # Delta Spark partitions a table that was clustered: it cannot take the feature away.
            severity=None if columns else Severity.WARNING,
            effect=None if columns else "Engines that go by the feature take the table for a clustered one.",
            partitioned=list(map(str, state.metadata.partition_columns)),
            clustered=[".".join(parts[0]) for parts in columns],
        )
