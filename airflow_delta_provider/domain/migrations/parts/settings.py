"""Table properties and clustering."""

from __future__ import annotations

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.column import all_columns, lowered, path_text
from airflow_delta_provider.domain.delta.features.data_files import CLUSTERING
from airflow_delta_provider.domain.migrations.difference.table import (
    is_clustered_otherwise,
    new_properties,
    old_properties,
)
from airflow_delta_provider.domain.migrations.draft import MigrationDraft


def set_properties(draft: MigrationDraft) -> None:
    """Properties that enable no feature."""
    if properties := new_properties(draft.state.metadata, draft.spec):
        draft.take(steps.SetProperties(tuple(sorted(properties.items()))))
    if unset := old_properties(draft.state.metadata, draft.spec):
        draft.take(unset)


def cluster(draft: MigrationDraft) -> None:
    """Other clustering columns, or none."""
    if not is_clustered_otherwise(draft.state, draft.spec):
        return
    columns = draft.spec.cluster_by or ()
    if columns and draft.state.metadata.partition_columns:
        evidence = "{table} is partitioned, so it cannot be clustered."
        draft.refusals.append(
            requests.NEEDS_REWRITE.found(
                evidence, remedy="Declare partition_by: [] with rewrite: true, too.", table=draft.table.text
            )
        )
    known = {lowered(column.parts) for column in all_columns(draft.state.metadata.schema)}
    for path in columns:
        if lowered(path) not in known:
            evidence = "There is no column {column} that the table can be clustered by."
            draft.refusals.append(requests.UNKNOWN_COLUMN.found(evidence, column=path_text(path)))
    draft.take(steps.ClusterBy(tuple(columns)))
    if columns:
        draft.support([CLUSTERING.name])
