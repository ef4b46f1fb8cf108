"""Planning to disable the column mapping of a table with usage tracking, in one commit by the provider."""

from __future__ import annotations

from airflow_delta_provider.domain.changes.commit.writable import check_writable
from airflow_delta_provider.domain.changes.disable_mapping.mapped_table import MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.plan import check_mapping, disabling_plan, prove
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.preconditions import check_tracked
from airflow_delta_provider.domain.changes.step import DisableMapping
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import DisableColumnMappingOptions
from airflow_delta_provider.domain.request.table_name import TableName


def check_disabling_tracked(table: str, state: TableState) -> tuple[Finding, ...]:
    """Return why the mapping cannot be disabled at all, regardless of the files."""
    return (*check_writable(table, state), *check_tracked(table, state)) or check_mapping(table, state)


def plan_disabling_tracked(table: TableName, options: DisableColumnMappingOptions, found: MappedTable) -> Planned:
    """Plan to disable the mapping in the metadata, if that is proven to be safe: no engine can rewrite the files."""
    if refusals := check_disabling_tracked(table.text, found.state):
        return Planned(None, refusals)
    if not found.is_mapped:
        return Planned(disabling_plan(table, found, None))
    no_rewrite = requests.UNSUPPORTED_BY_ENGINE.found(
        "{table} has the table feature {feature}, so no engine can rewrite its files.",
        remedy="Drop that feature first.",
        table=table.text,
        feature=USAGE_TRACKING,
    )
    if options.strategy == "rewrite":
        return Planned(None, (no_rewrite,))
    proof = prove(found)
    if proof.rests_on is None:
        return Planned(None, (*proof.missing, no_rewrite))
    return Planned(disabling_plan(table, found, DisableMapping(proof.rests_on)))
