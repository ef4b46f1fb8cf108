"""Planning to enable usage tracking, or column mapping on a table with usage tracking.

RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking. A table is tracked as unused only if no live
file can contain a dropped column: otherwise a new column of that name would get its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from airflow_delta_provider.domain.changes.alter_columns.past_columns import PastColumns
from airflow_delta_provider.domain.changes.commit.writable import check_writable
from airflow_delta_provider.domain.changes.plan import Plan, Planned
from airflow_delta_provider.domain.changes.preconditions import check_not_tracked, check_tracked, is_tracked
from airflow_delta_provider.domain.changes.step import MapColumns, Step, TrackUsage
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.features.column_mapping import COLUMN_MAPPING, USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.writer import ENGINES
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.domain.request.table_name import TableName

_EXPERIMENTAL = "Experimental: the RFC that defines the feature is not adopted yet, and no engine implements it."


@dataclass(frozen=True)
class Evidence:
    """Facts about a table in addition to its newest state.

    :param past: columns that the table has had
    :param foreign_columns: reason why the footers do not prove that live files have only the table's columns; empty if
        they prove it, None if they were not read
    :param writers: number of recent commits by engine, latest first
    """

    past: PastColumns
    foreign_columns: str | None = None
    writers: Mapping[str, int] = field(default_factory=dict)


def concerns_tracking(options: EnableFeatureOptions, state: TableState) -> bool:
    """Return True if a request enables usage tracking, or column mapping on a tracked table.

    No engine can do either.
    """
    names = {feature_named(name).name for name in options.features}
    return USAGE_TRACKING.name in names or (COLUMN_MAPPING.name in names and is_tracked(state))


def needs_footers(state: TableState, past: PastColumns) -> bool:
    """Return True if only the footers of the live files can show that a table is unused."""
    mapped = state.metadata.properties.is_mapped
    return not (mapped or past.ever_used or past.never_mapped)


def plan_tracking(table: TableName, options: EnableFeatureOptions, state: TableState, evidence: Evidence) -> Planned:
    """Plan to enable usage tracking and column mapping, in one commit each.

    Features that are already enabled are left out.
    """
    tracked = is_tracked(state)
    incomplete = (check_tracked if tracked else check_not_tracked)(table.text, state)
    if refused := (*check_writable(table.text, state), *_check_request(options), *incomplete):
        return Planned(None, refused)
    steps: list[Step] = []
    refusals: list[Finding] = []
    if not tracked:
        value = usage_value(table.text, state, evidence)
        if isinstance(value, Finding):
            return Planned(None, (value,))
        steps.append(TrackUsage(value))
    asked = any(feature_named(name) == COLUMN_MAPPING for name in options.features)
    if asked and not state.metadata.properties.is_mapped:
        refusals += _left_over(table.text, state)
        steps.append(MapColumns())
    after = state.protocol.supporting([USAGE_TRACKING.name])
    notes = (_EXPERIMENTAL,) if TrackUsage in map(type, steps) else ()
    plan = Plan(table, tuple(steps), state.protocol, after, notes)
    if notes and not options.acknowledge_writer_lockout:
        refusals.append(_lockout(plan, evidence.writers))
    return Planned(plan, tuple(refusals))


def usage_value(table: str, state: TableState, evidence: Evidence) -> str | Finding:
    """Return the value of the tracking property from now on, or a refusal if it is unknown."""
    past = evidence.past
    if state.metadata.properties.is_mapped or past.ever_used:
        return "true"
    if past.never_mapped or evidence.foreign_columns == "":
        return "false"
    had = "had column mapping before" if past.ever_mapped else "may have had column mapping before: {why}"
    return requests.USAGE_UNKNOWN.found(
        f"{{table}} {had}. Its data files may still contain columns that were dropped then, and {{files}}.",
        table=table,
        why=Prose(past.why_incomplete),
        files=Prose(evidence.foreign_columns),
    )


def _check_request(options: EnableFeatureOptions) -> Iterator[Finding]:
    others = [name for name in options.features if feature_named(name) not in (USAGE_TRACKING, COLUMN_MAPPING)]
    others += options.properties
    if others:
        yield requests.NOT_TOGETHER.found(
            "{others} cannot be enabled together with {feature}, which no engine supports.",
            others=others,
            feature=USAGE_TRACKING,
        )


def _left_over(table: str, state: TableState) -> Iterator[Finding]:
    left = [field for field in MappedSchema.of(state.metadata).fields if field.is_mapped]
    if left:
        yield requests.TRACKING_INCOMPLETE.found(
            "{table} has no column mapping, but {column} still has metadata of an earlier one.",
            effect="The column's name in data files is unknown.",
            remedy="RESTORE the table to an earlier version.",
            column=left[0].column,
            table=table,
        )


def _lockout(plan: Plan, writers: Mapping[str, int]) -> Finding:
    wrote = " Recent writers of the table that would be locked out: {writers}." if writers else ""
    readers = ""
    if plan.protocol_after.min_reader_version > plan.protocol_before.min_reader_version:
        readers = f" Readers that do not support {COLUMN_MAPPING} are also locked out."
    return requests.WRITER_LOCKOUT.found(
        f"{{feature}} would lock every engine out of writing to {{table}}.{wrote} Also locked out, in every known "
        "version: {engines}. The protocol would change from {before} to {after}.",
        effect=f"{requests.WRITER_LOCKOUT.effect} From then on only your own writers that support the feature, and "
        f"this provider, can INSERT, MERGE, OPTIMIZE, VACUUM or ALTER TABLE.{readers}",
        feature=USAGE_TRACKING,
        table=plan.table.text,
        writers=[f"{writer} ({times} commit{'s' if times > 1 else ''})" for writer, times in writers.items()],
        engines=list(ENGINES),
        before=plan.protocol_before,
        after=plan.protocol_after,
    )
