"""Planning to enable usage tracking, or column mapping on a table with usage tracking.

RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking. A table is tracked as unused only if no live
file can contain a dropped column: otherwise a new column of that name would get its values.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_delta_provider.domain.changes.alter_columns.plan import alteration_plan, resolve_allowed
from airflow_delta_provider.domain.changes.plan import Plan, Planned, check_not_tracked, check_tracked, is_tracked
from airflow_delta_provider.domain.changes.provider_commit import (
    CommitIdentity,
    check_first_commit,
    check_writable,
    commit_info,
    lines_of,
)
from airflow_delta_provider.domain.changes.schema import (
    Mapper,
    NewPhysicalNames,
    PastColumns,
    SchemaText,
    add_column,
    random_name,
    statistics_columns_after,
    taken_paths,
)
from airflow_delta_provider.domain.changes.step import Edit, Json
from airflow_delta_provider.domain.changes.steps import Alteration, MapColumns, NewColumn, Step, TrackUsage
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.protocol.missing_features import used_features
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.commit import ENGINES, Action
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType, StructType, UnknownTypeError, path_text
from airflow_delta_provider.domain.delta.features.columns import COLUMN_MAPPING, USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import (
    COLUMN_MAPPING_MODE,
    DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
    STATISTICS_COLUMNS,
)
from airflow_delta_provider.domain.delta.table_state import CommitBase, TableState
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    CreateTableOptions,
    EnableFeatureOptions,
)
from airflow_delta_provider.domain.table_name import TableName

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
    left = [field for field in state.metadata.mapped_schema.fields if field.is_mapped]
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


_STRUCTURE = {ArrayType: "array", MapType: "map", StructType: "struct"}


@dataclass(frozen=True)
class TrackedSchema:
    """A schema after a commit, with the properties that the commit sets.

    :param properties: table properties that get a value
    """

    schema: Json
    properties: Mapping[str, str]


def plan_altering_tracked(
    table: TableName, options: AlterColumnsOptions, state: TableState, past: PastColumns
) -> Planned:
    """Plan to change the columns; changes that are already done are left out.

    :param past: columns that the table has had
    """
    if refusals := (*check_writable(table.text, state), *check_tracked(table.text, state)):
        return Planned(None, refusals)
    alteration, refusals = resolve_allowed(options, state, past)
    if refusals:
        return Planned(None, refusals)
    steps = () if alteration == Alteration() else (alteration,)
    return Planned(alteration_plan(table, state, alteration, steps))


def alter_tracked(
    schema: Json,
    metadata: Metadata,
    alteration: Alteration,
    past: PastColumns,
    reserved: Iterable[str] = (),
    new_name: Callable[[], str] = random_name,
) -> TrackedSchema:
    """Return the schema after the change; new columns of a mapped table get ids and physical names.

    If the past is not fully known, a dropped column may have any name in data files. All new columns then get UUIDs, as
    if a column had been dropped.

    :param schema: schema of ``metadata``, as JSON
    :param past: columns of all versions before
    :param reserved: further column names that data files use
    """
    before = metadata.mapped_schema
    if not before.is_mapped:
        return TrackedSchema(alteration.altered(schema), {})
    says_used = metadata.properties.has_dropped_or_renamed
    used = alteration.drops_or_renames or says_used or past.ever_used
    paths = past.paths.union(field.path for field in before.fields if field.path is not None)
    taken = taken_paths(paths, (*metadata.partition_columns, *reserved))
    naming = NewPhysicalNames(with_uuid=used or not past.is_complete, taken=taken, new_name=new_name)
    mapper = Mapper(naming, max([before.max_column_id or 0, *before.ids]))
    after = alteration.altered(schema, mapper)
    properties = {MAX_COLUMN_ID: str(mapper.max_column_id)}
    return TrackedSchema(after, properties | {DROPPED_OR_RENAMED: "true"} if used else properties)


def altering_edit(alteration: Alteration, base: CommitBase, past: PastColumns) -> Edit:
    """Return the edit that makes the change on the version that it follows.

    :param past: columns of all versions before
    :raises BrokenLogError: if the schema is damaged
    """
    state = base.state
    text = SchemaText.read(state.metadata.schema_string)
    reserved = state.metadata.properties.materialized_columns
    after = alter_tracked(text.schema, state.metadata, alteration, past, reserved)
    operation, parameters = _operation(alteration)
    properties = dict(after.properties)
    if listed := state.metadata.properties.statistics_columns:
        properties[STATISTICS_COLUMNS] = statistics_columns_after(listed, alteration.drops, alteration.renames)
    return Edit(
        operation, parameters, schema_string=replace(text, schema=after.schema).write(), set_properties=properties
    )


def _operation(alteration: Alteration) -> tuple[str, dict[str, Any]]:
    """Return the commit's operation and parameters, named as in Delta Spark if it has a name for them."""
    drops = [path_text(parts) for parts in alteration.drops]
    renames = {path_text(rename.parts): path_text(rename.renamed) for rename in alteration.renames}
    adds = [
        {
            "column": {
                "name": path_text(add.parts),
                "type": _STRUCTURE.get(type(add.data_type)) or str(add.data_type),
                "nullable": True,
                "metadata": {},
            }
        }
        for add in alteration.adds
    ]
    if drops and not (renames or adds):
        return "DROP COLUMNS", {"columns": drops}
    if adds and not (renames or drops):
        return "ADD COLUMNS", {"columns": adds}
    if len(renames) == 1 and not (drops or adds):
        ((old, new),) = renames.items()
        return "RENAME COLUMN", {"oldColumnPath": old, "newColumnPath": new}
    return "ALTER COLUMNS", {"drop": drops, "rename": renames, "add": adds}


#: Protocol that Delta Spark gives every new table.
_USUAL = Protocol(1, 2)


@dataclass(frozen=True)
class NewTable:
    metadata: dict[str, Any]
    protocol: Protocol

    @property
    def state(self) -> TableState:
        """The table's state at version 0."""
        return TableState(0, self.protocol, Metadata.from_json(self.metadata), {}, {})

    def lines(self, stamp: CommitIdentity) -> list[str]:
        """Return the lines of the table's first commit."""
        edit = Edit(
            "CREATE TABLE",
            {
                "isManaged": "false",
                "partitionBy": self.metadata["partitionColumns"],
                "properties": self.metadata["configuration"],
            },
        )
        actions: list[Action] = [
            {"commitInfo": commit_info(edit, stamp, None)},
            {"protocol": self.protocol.to_json()},
            {"metaData": {**self.metadata, "createdTime": stamp.now}},
        ]
        return lines_of(actions)


def new_table(options: CreateTableOptions) -> tuple[NewTable | None, tuple[Finding, ...]]:
    """Return the requested table, or the reasons why it cannot exist."""
    schema: dict[str, Any] = {"type": "struct", "fields": []}
    mapper = Mapper(NewPhysicalNames(with_uuid=False, taken=taken_paths((), ())), 0)
    refusals = list(_same_names(options))
    for name, text in options.columns.items():
        try:
            schema = add_column(schema, NewColumn((name,), text), mapper)
        except UnknownTypeError as error:
            refusals.append(requests.UNSUPPORTED_COLUMN.found("{column}: {error}", column=name, error=Prose(error)))
    if refusals:
        return None, tuple(refusals)
    metadata = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema, ensure_ascii=False, separators=(",", ":")),
        "partitionColumns": list(options.partition_by),
        "configuration": {
            COLUMN_MAPPING_MODE: "name",
            MAX_COLUMN_ID: str(mapper.max_column_id),
            DROPPED_OR_RENAMED: "false",
        },
    }
    state = TableState(0, _USUAL, Metadata.from_json(metadata))
    table = NewTable(metadata, _USUAL.supporting([USAGE_TRACKING.name, *used_features(state)]))
    broken = check_first_commit(table.lines(CommitIdentity(0, "")))
    return (None, broken) if broken else (table, ())


def check_lockout(table: str, options: CreateTableOptions) -> Finding | None:
    """Return a refusal unless the user acknowledged that no engine can write to the table."""
    if options.acknowledge_writer_lockout:
        return None
    return requests.WRITER_LOCKOUT.found(
        "No engine could write to {table}: no known version of {engines} implements {feature}.",
        table=table,
        engines=list(ENGINES),
        feature=USAGE_TRACKING,
    )


def is_same(options: CreateTableOptions, wanted: TableState, there: TableState) -> bool:
    """Return True if a table is the requested one, so a second run has nothing to do."""
    return (
        there.metadata.schema == wanted.metadata.schema
        and there.metadata.partition_columns == options.partition_by
        and there.protocol.supports(USAGE_TRACKING)
    )


def _same_names(options: CreateTableOptions) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name in options.columns:
        if name.lower() in seen:
            yield requests.COLUMN_EXISTS.found(
                "{other!r} and {column!r} are the same name to engines, which ignore case.",
                remedy="Name each column once.",
                column=name,
                other=seen[name.lower()],
            )
        seen.setdefault(name.lower(), name)
