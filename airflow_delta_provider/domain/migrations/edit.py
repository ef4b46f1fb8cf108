"""The metaData action after a step: what a plan leads to, and what the commit of a step writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial, singledispatch
from typing import Any

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.alter_columns.altered_schema import added, dropped
from airflow_delta_provider.domain.changes.step import Parts
from airflow_delta_provider.domain.changes.struct_at import BELOW, Json, field_of, with_field, with_struct
from airflow_delta_provider.domain.delta.field_keys import CHAR_OR_VARCHAR, COMMENT, CURRENT_DEFAULT
from airflow_delta_provider.domain.delta.mapped_schema import PhysicalPath
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX
from airflow_delta_provider.domain.delta.type_widening import TYPE_CHANGES_KEY


@singledispatch
def edited(step: steps.Step, metadata: Json) -> Json:
    """Return the metaData action after a step; ``metadata`` itself is not modified.

    New columns have neither ids nor physical names: the engine assigns them. A step that changes no metadata, such as
    one that drops a feature, leaves it as it is.

    :param metadata: the action's JSON
    :raises LookupError: if a column of the step does not exist
    """
    del step
    return metadata


@edited.register
def _(step: steps.InOneCommit, metadata: Json) -> Json:
    for each in step.steps:
        metadata = edited(each, metadata)
    return metadata


@edited.register
def _(step: steps.SetProperties, metadata: Json) -> Json:
    return {**metadata, "configuration": {**metadata.get("configuration", {}), **dict(step.properties)}}


@edited.register
def _(step: steps.UnsetProperties, metadata: Json) -> Json:
    return _without_properties(metadata, step.names)


@edited.register
def _(step: steps.AddColumns, metadata: Json) -> Json:
    def add(schema: Json) -> Json:
        for column in step.columns:
            schema = added(schema, column)
        return schema

    return _with_schema(metadata, add)


@edited.register
def _(step: steps.RenameColumn, metadata: Json) -> Json:
    return edited(steps.RenameColumns((step.column,)), metadata)


@edited.register
def _(step: steps.RenameColumns, metadata: Json) -> Json:
    """The paths are those before: so the deepest are renamed first, and those of one struct all at once."""
    by_struct: dict[Parts, dict[str, str]] = {}
    for column in step.columns:
        by_struct.setdefault(column.parts[:-1], {})[column.parts[-1].lower()] = column.new
    top = by_struct.get((), {})

    def rename(schema: Json) -> Json:
        for parent in sorted(by_struct, key=len, reverse=True):
            schema = with_struct(schema, parent, partial(_renamed, by_struct[parent]))
        return schema

    partitions = [top.get(name.lower(), name) for name in metadata.get("partitionColumns", ())]
    return {**_with_schema(metadata, rename), "partitionColumns": partitions}


@edited.register
def _(step: steps.WidenColumns, metadata: Json) -> Json:
    """Each change is recorded on the nearest struct field. PROTOCOL.md, Type Change Metadata."""

    def widen(schema: Json) -> Json:
        for column in step.columns:
            schema = _at_field(schema, column.parts, partial(_widened, column))
        return schema

    return _with_schema(metadata, widen)


@edited.register
def _(step: steps.OrderFields, metadata: Json) -> Json:
    place = {name.lower(): index for index, name in enumerate(step.names)}

    def order(struct: Json, _: PhysicalPath) -> Json:
        return {**struct, "fields": sorted(struct["fields"], key=lambda field: place[field["name"].lower()])}

    return _with_schema(metadata, lambda schema: with_struct(schema, step.parent, order))


@edited.register
def _(step: steps.AllowNulls, metadata: Json) -> Json:
    return _with_fields(metadata, step.columns, lambda field: {**field, "nullable": True})


@edited.register
def _(step: steps.ForbidNulls, metadata: Json) -> Json:
    return _with_fields(metadata, step.columns, lambda field: {**field, "nullable": False})


@edited.register
def _(step: steps.CommentColumns, metadata: Json) -> Json:
    return _with_texts(metadata, step.columns, COMMENT)


@edited.register
def _(step: steps.SetDefaults, metadata: Json) -> Json:
    return _with_texts(metadata, step.columns, CURRENT_DEFAULT)


@edited.register
def _(step: steps.CommentTable, metadata: Json) -> Json:
    others = {key: value for key, value in metadata.items() if key != "description"}
    return others if step.text is None else {**others, "description": step.text}


@edited.register
def _(step: steps.AddConstraint, metadata: Json) -> Json:
    return edited(steps.SetProperties(((f"{CONSTRAINT_PREFIX}{step.name.lower()}", step.expression),)), metadata)


@edited.register
def _(step: steps.DropConstraint, metadata: Json) -> Json:
    return _without_properties(metadata, [f"{CONSTRAINT_PREFIX}{step.name}"])


@edited.register
def _(step: steps.DropColumns, metadata: Json) -> Json:
    def drop(schema: Json) -> Json:
        for parts in step.columns:
            schema = dropped(schema, parts)
        return schema

    return _with_schema(metadata, drop)


@edited.register
def _(step: steps.RewriteTable, metadata: Json) -> Json:
    """The columns have their new types, without a record of changes: all files have them, too."""

    def cast(schema: Json) -> Json:
        for column in step.casts:
            schema = _at_field(schema, column.parts, partial(_rewritten, column.new))
        return schema

    changed = _with_schema(metadata, cast)
    return changed if step.partition_by is None else {**changed, "partitionColumns": list(step.partition_by)}


def _with_schema(metadata: Json, edit: Callable[[Json], Json]) -> Json:
    schema = edit(json.loads(metadata["schemaString"]))
    return {**metadata, "schemaString": json.dumps(schema, ensure_ascii=False, separators=(",", ":"))}


def _without_properties(metadata: Json, names: Iterable[str]) -> Json:
    gone = {name.lower() for name in names}
    kept = {name: value for name, value in metadata.get("configuration", {}).items() if name.lower() not in gone}
    return {**metadata, "configuration": kept}


def _with_texts(metadata: Json, columns: Iterable[steps.ColumnText], key: str) -> Json:
    return _with_each_field(metadata, ((column.parts, partial(_with_text, key, column.text)) for column in columns))


def _with_text(key: str, text: str | None, field: Json) -> Json:
    others = {name: value for name, value in (field.get("metadata") or {}).items() if name != key}
    return {**field, "metadata": others if text is None else {**others, key: text}}


def _with_fields(metadata: Json, columns: Iterable[Parts], edit: Callable[[Json], Json]) -> Json:
    return _with_each_field(metadata, ((parts, edit) for parts in columns))


def _with_each_field(metadata: Json, edits: Iterable[tuple[Parts, Callable[[Json], Json]]]) -> Json:
    def change(schema: Json) -> Json:
        for parts, edit in edits:
            schema = _at_field(schema, parts, partial(_edited_itself, edit))
        return schema

    return _with_schema(metadata, change)


def _edited_itself(edit: Callable[[Json], Json], field: Json, below: Parts) -> Json:
    del below
    return edit(field)


def _at_field(schema: Json, parts: Parts, edit: Callable[[Json, Parts], Json]) -> Json:
    """Return a schema after ``edit`` of the nearest struct field of a path; it also gets the steps below that."""
    depth = _depth_of_field(schema, parts)

    def change(struct: Json, _: PhysicalPath) -> Json:
        return with_field(struct, parts[depth], lambda field: edit(field, parts[depth + 1 :]))

    return with_struct(schema, parts[:depth], change)


def _depth_of_field(schema: Any, parts: Parts) -> int:
    """Return which of ``parts`` is the last that names a field of a struct."""
    found = 0
    for index, part in enumerate(parts):
        if not isinstance(schema, dict):
            raise LookupError(f"there is no column {'.'.join(parts)!r}")
        if schema["type"] == "struct":
            found = index
            schema = field_of(schema, part)["type"]
        else:
            schema = schema[BELOW[part]]
    return found


def _renamed(names: Mapping[str, str], struct: Json, _: PhysicalPath) -> Json:
    fields = [{**field, "name": names.get(field["name"].lower(), field["name"])} for field in struct["fields"]]
    return {**struct, "fields": fields}


def _widened(column: steps.ColumnType, field: Json, below: Parts) -> Json:
    old, new = parse_sql_type(column.old), parse_sql_type(column.new)
    change = {"fromType": str(old), "toType": str(new)}
    if below:
        change["fieldPath"] = ".".join(below)
    metadata = field.get("metadata") or {}
    recorded = [*metadata.get(TYPE_CHANGES_KEY, ()), change]
    return {**_cast(column.new, field, below), "metadata": {**metadata, TYPE_CHANGES_KEY: recorded}}


def _rewritten(new: str, field: Json, below: Parts) -> Json:
    """Return a field with another type, which nothing that is recorded of the old one describes."""
    metadata = {key: value for key, value in (field.get("metadata") or {}).items() if key != CHAR_OR_VARCHAR}
    path = ".".join(below) or None
    recorded = [change for change in metadata.pop(TYPE_CHANGES_KEY, ()) if change.get("fieldPath") != path]
    kept = {TYPE_CHANGES_KEY: recorded} if recorded else {}
    return {**_cast(new, field, below), "metadata": {**metadata, **kept}}


def _cast(new: str, field: Json, below: Parts) -> Json:
    return {**field, "type": _with_type(field["type"], below, str(parse_sql_type(new)))}


def _with_type(wire: Any, below: Parts, name: str) -> Any:
    if not below:
        return name
    key = BELOW[below[0]]
    return {**wire, key: _with_type(wire[key], below[1:], name)}
