"""Planning to disable column mapping, by the engine or in one commit by the provider.

The provider commits it if the table has usage tracking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_delta_provider.domain.changes.commit.writable import check_writable
from airflow_delta_provider.domain.changes.disable_mapping.column_history import MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.proof import Proof, check_can_disable, prove_disabling
from airflow_delta_provider.domain.changes.explain import size_text
from airflow_delta_provider.domain.changes.plan import Plan, Planned
from airflow_delta_provider.domain.changes.preconditions import check_table, check_tracked
from airflow_delta_provider.domain.changes.step import DisableMapping, RewriteWithoutMapping, Step
from airflow_delta_provider.domain.checks import disable_mapping as rules
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.delta.clustering import named_by_files
from airflow_delta_provider.domain.delta.external_owners import managing
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import DisableColumnMappingOptions
from airflow_delta_provider.domain.request.table_name import TableName


def check_disabling(table: str, state: TableState, engine: Engine) -> tuple[Finding, ...]:
    """Return reasons why the mapping cannot be disabled at all, regardless of the files."""
    if managed := managing(state.protocol, state.metadata.configuration):
        return (requests.catalog_managed(table, managed[0]),)
    return check_table(table, state.protocol, engine) or check_mapping(table, state)


def check_mapping(table: str, state: TableState) -> tuple[Finding, ...]:
    """Return reasons in the metadata why the mapping is needed; empty if there is no mapping."""
    if not state.metadata.properties.is_mapped:
        return ()
    return (*check_can_disable(table, state.metadata), *_clustered(table, state))


def plan_disabling(
    table: TableName, options: DisableColumnMappingOptions, found: MappedTable, engine: Engine
) -> Planned:
    """Plan to disable the mapping: in the metadata if that is proven safe, else with a rewrite."""
    if refusals := check_disabling(table.text, found.state, engine):
        return Planned(None, refusals)
    if not found.is_mapped:
        return Planned(disabling_plan(table, found, None))
    files = found.state.live_files
    rewrite = RewriteWithoutMapping(len(files), sum(file.size for file in files))
    if options.strategy == "rewrite":
        if too_old := _check_rewriting(engine):
            return Planned(None, too_old)
        refused = () if options.allow_rewrite else (_not_allowed(table, rewrite),)
        return Planned(disabling_plan(table, found, rewrite), refused)
    proof = prove(found)
    if proof.rests_on is not None:
        return Planned(disabling_plan(table, found, DisableMapping(proof.rests_on)))
    if options.allow_rewrite:
        too_old = _check_rewriting(engine)
        return Planned(None, (*proof.missing, *too_old)) if too_old else Planned(disabling_plan(table, found, rewrite))
    lost = found.footers is not None and found.footers.lost  # then the engine cannot rewrite the files either
    if options.strategy == "auto" and not lost:
        return Planned(disabling_plan(table, found, rewrite), (*proof.missing, _not_allowed(table, rewrite)))
    return Planned(None, proof.missing)


def prove(found: MappedTable) -> Proof:
    """Return the proof that changing only the metadata is safe, or the reasons why it is not proven."""
    return prove_disabling(found.state.metadata, found.known, found.footers, is_empty=found.state.files == {})


def disabling_plan(table: TableName, found: MappedTable, step: Step | None) -> Plan:
    """Return the plan of one step, with notes; ``step`` is None if there is nothing to do."""
    protocol = found.state.protocol
    if step is None:
        return Plan(table, (), protocol, protocol)
    return Plan(table, (step,), protocol, protocol, tuple(_notes(found)))


def _clustered(table: str, state: TableState) -> Iterator[Finding]:
    columns = named_by_files(state.metadata, state.domains)
    if columns:
        yield rules.CLUSTERED.found(
            "{table} is clustered by {columns}, recorded by physical names, which disabling column mapping does not "
            "change.",
            column=columns[0],
            table=table,
            columns=columns,
        )


def _notes(found: MappedTable) -> Iterator[str]:
    state = found.state
    if state.metadata.properties.change_data_feed:
        yield (
            "The change data feed is enabled. Reading it across this commit fails with "
            "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE: let its readers reach this version first, then resume "
            "after it."
        )
    if found.last_stream is not None:
        yield (
            f"Version {found.last_stream} was written by a stream. Streams that read this table fail with "
            "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG and have to start over, or track the schema "
            "with schemaTrackingLocation; streams that write it fail once with DELTA_METADATA_CHANGED."
        )
    yield (
        f"The protocol ({state.protocol}) keeps columnMapping, so readers still have to support it. ALTER TABLE … DROP "
        "FEATURE columnMapping would remove it, but add checkpointProtection with writer version 7, which locks out "
        "writers that do not support that."
    )


def _check_rewriting(engine: Engine) -> tuple[Finding, ...]:
    """Return a refusal if the engine cannot rewrite the files without the mapping."""
    if engine.rewrites_without_mapping:
        return ()
    evidence = "{engine} cannot disable column mapping by rewriting the files."
    remedy = "Use Delta 3.3 or later."
    return (requests.UNSUPPORTED_BY_ENGINE.found(evidence, remedy=remedy, engine=engine),)


def _not_allowed(table: TableName, rewrite: RewriteWithoutMapping) -> Finding:
    return rules.REWRITE_NOT_ALLOWED.found(
        "The engine would rewrite {files:data file} ({size}) of {table} in one commit.",
        table=table.text,
        files=rewrite.files,
        size=size_text(rewrite.size),
    )


def check_disabling_tracked(table: str, state: TableState) -> tuple[Finding, ...]:
    """Return reasons why a tracked table's mapping cannot be disabled, regardless of the files."""
    return (*check_writable(table, state), *check_tracked(table, state)) or check_mapping(table, state)


def plan_disabling_tracked(table: TableName, options: DisableColumnMappingOptions, found: MappedTable) -> Planned:
    """Plan to disable the mapping in the metadata, if that is proven safe.

    No engine can rewrite the files of such a table.
    """
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
        return Planned(None, (*map(_after_dropping, proof.missing), no_rewrite))
    return Planned(disabling_plan(table, found, DisableMapping(proof.rests_on)))


def _after_dropping(finding: Finding) -> Finding:
    """Return a finding whose remedy, if it asks for a rewrite, also says to drop usage tracking first."""
    rule = rule_of(finding)
    remedy = rule.remedy if finding.remedy is None else finding.remedy
    if "allow_rewrite" not in remedy:
        return finding
    first = f"Files are rewritten only once the table feature {USAGE_TRACKING} is dropped: do that first."
    return rule.worded(replace(finding, remedy=f"{remedy} {first}"))
