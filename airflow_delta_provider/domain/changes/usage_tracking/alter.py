"""Changing the columns of a table with usage tracking, in one commit by this provider.

RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking. The value of the property after the commit
decides the physical names of new columns: a name that this commit frees is not free in data files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.changes.alter_columns.altered_schema import (
    Json,
    Mapper,
    Naming,
    altered,
    random_name,
    statistics_columns_after,
    taken_paths,
)
from airflow_delta_provider.domain.changes.alter_columns.past_columns import PastColumns
from airflow_delta_provider.domain.changes.alter_columns.plan import alteration_plan, resolve_allowed
from airflow_delta_provider.domain.changes.commit.edit import Edit
from airflow_delta_provider.domain.changes.commit.writable import check_writable
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.preconditions import check_tracked
from airflow_delta_provider.domain.changes.schema_string import SchemaText
from airflow_delta_provider.domain.changes.step import Alteration
from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType, StructType
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED, MAX_COLUMN_ID, STATISTICS_COLUMNS
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.domain.request.table_name import TableName

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
    before = MappedSchema.of(metadata)
    if not before.is_mapped:
        return TrackedSchema(altered(schema, alteration), {})
    says_used = metadata.properties.has_dropped_or_renamed
    used = alteration.drops_or_renames or says_used or past.ever_used
    paths = past.paths.union(field.path for field in before.fields if field.path is not None)
    taken = taken_paths(paths, (*metadata.partition_columns, *reserved))
    naming = Naming(unique=used or not past.is_complete, taken=taken, new_name=new_name)
    mapper = Mapper(naming, max([before.max_column_id or 0, *before.ids]))
    after = altered(schema, alteration, mapper)
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
