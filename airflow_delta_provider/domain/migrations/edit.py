"""The metaData action after a step, for the result of a plan and for the commit of a step; drafts of tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, TypeVar

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.alter_columns.schema import (
    BELOW,
    Json,
    added,
    dropped,
    field_of,
    statistics_columns_after,
    with_field,
    with_struct,
)
from airflow_delta_provider.domain.changes.drop_features import DropSurvey
from airflow_delta_provider.domain.changes.plan import Draft
from airflow_delta_provider.domain.changes.steps import Parts, Step
from airflow_delta_provider.domain.changes.widen_types import widening_preparation
from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.delta.features.columns import TYPE_CHANGES_KEY
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import (
    CHAR_OR_VARCHAR,
    COMMENT,
    CURRENT_DEFAULT,
    Metadata,
    PhysicalPath,
)
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX, STATISTICS_COLUMNS
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.migrations.difference import column_changes, is_partitioned_otherwise
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.table_name import TableName

Change = TypeVar("Change")
#: Edits the nearest struct field of a path, given the rest of the path below it.
FieldEdit = Callable[[Json, Parts], Json]


def edited(step: steps.Step, metadata: Json) -> Json:
    """Return the metaData action after a step; ``metadata`` itself is not modified.

    New columns have neither ids nor physical names: the engine assigns them. A step that changes no metadata, such as
    one that drops a feature, leaves it as it is.

    :param metadata: JSON of the action
    :raises LookupError: if a column of the step does not exist
    """
    match step:
        case steps.InOneCommit():
            return reduce(lambda action, each: edited(each, action), step.steps, metadata)
        case steps.SetProperties():
            return {**metadata, "configuration": {**metadata.get("configuration", {}), **dict(step.properties)}}
        case steps.UnsetProperties():
            return _without_properties(metadata, step.names)
        case steps.AddConstraint():
            name = f"{CONSTRAINT_PREFIX}{step.name.lower()}"
            return edited(steps.SetProperties(((name, step.expression),)), metadata)
        case steps.DropConstraint():
            return _without_properties(metadata, [f"{CONSTRAINT_PREFIX}{step.name}"])
        case steps.CommentTable():
            others = {key: value for key, value in metadata.items() if key != "description"}
            return others if step.text is None else {**others, "description": step.text}
        case steps.RewriteTable():
            # No record of changes is needed: all files get the new types.
            cast = _with_fields(metadata, ((column.parts, partial(_rewritten, column.new)) for column in step.casts))
            return cast if step.partition_by is None else {**cast, "partitionColumns": list(step.partition_by)}
        case _:
            return _with_columns(step, metadata)


def _with_columns(step: steps.Step, metadata: Json) -> Json:
    match step:
        case steps.AddColumns():
            return _with_schema(metadata, added, step.columns)
        case steps.DropColumns():
            return _with_statistics(_with_schema(metadata, dropped, step.columns), drops=step.columns)
        case steps.RenameColumns():
            return _with_names(metadata, step.columns)
        case steps.WidenColumns():
            # Each change is recorded on the nearest struct field. PROTOCOL.md, Type Change Metadata.
            return _with_fields(metadata, ((column.parts, partial(_widened, column)) for column in step.columns))
        case steps.OrderFields():
            place = {name.lower(): index for index, name in enumerate(step.names)}
            return _with_schema(
                metadata, lambda schema, parent: with_struct(schema, parent, partial(_ordered, place)), [step.parent]
            )
        case steps.AllowNulls():
            return _with_fields(metadata, ((parts, partial(_nullable, True)) for parts in step.columns))
        case steps.ForbidNulls():
            return _with_fields(metadata, ((parts, partial(_nullable, False)) for parts in step.columns))
        case steps.CommentColumns():
            return _with_fields(metadata, ((c.parts, partial(_with_text, COMMENT, c.text)) for c in step.columns))
        case steps.SetDefaults():
            texts = ((column.parts, partial(_with_text, CURRENT_DEFAULT, column.text)) for column in step.columns)
            return _with_fields(metadata, texts)
        case _:
            return metadata


def _with_schema(metadata: Json, edit: Callable[[Json, Change], Json], changes: Iterable[Change]) -> Json:
    schema = reduce(edit, changes, json.loads(metadata["schemaString"]))
    return {**metadata, "schemaString": json.dumps(schema, ensure_ascii=False, separators=(",", ":"))}


def _with_fields(metadata: Json, edits: Iterable[tuple[Parts, FieldEdit]]) -> Json:
    return _with_schema(metadata, lambda schema, edit: _at_field(schema, *edit), edits)


def _with_names(metadata: Json, columns: Sequence[steps.ColumnName]) -> Json:
    """Rename the deepest columns first, and the columns of one struct all at once.

    The paths are those before any rename.
    """
    by_struct: dict[Parts, dict[str, str]] = {}
    for column in columns:
        by_struct.setdefault(column.parts[:-1], {})[column.parts[-1].lower()] = column.new
    top = by_struct.get((), {})

    def rename(schema: Json, parent: Parts) -> Json:
        return with_struct(schema, parent, partial(_renamed, by_struct[parent]))

    partitions = [top.get(name.lower(), name) for name in metadata.get("partitionColumns", ())]
    renamed = _with_schema(metadata, rename, sorted(by_struct, key=len, reverse=True))
    return _with_statistics({**renamed, "partitionColumns": partitions}, renames=columns)


def _with_statistics(metadata: Json, drops: Iterable[Parts] = (), renames: Iterable[steps.ColumnName] = ()) -> Json:
    """Return the metadata with an updated list of columns with statistics.

    The update is the same as by the engine's ALTER TABLE.
    """
    configuration = metadata.get("configuration") or {}
    listed = configuration.get(STATISTICS_COLUMNS)
    if not isinstance(listed, str):
        return metadata
    after = statistics_columns_after(listed, drops, renames)
    return {**metadata, "configuration": {**configuration, STATISTICS_COLUMNS: after}}


def _without_properties(metadata: Json, names: Iterable[str]) -> Json:
    gone = {name.lower() for name in names}
    kept = {name: value for name, value in metadata.get("configuration", {}).items() if name.lower() not in gone}
    return {**metadata, "configuration": kept}


def _with_text(key: str, text: str | None, field: Json, _: Parts) -> Json:
    others = {name: value for name, value in (field.get("metadata") or {}).items() if name != key}
    return {**field, "metadata": others if text is None else {**others, key: text}}


def _nullable(nullable: bool, field: Json, _: Parts) -> Json:
    return {**field, "nullable": nullable}


def _at_field(schema: Json, parts: Parts, edit: FieldEdit) -> Json:
    """Return a schema after ``edit`` of the nearest struct field of a path.

    ``edit`` also gets the rest of the path below that field.
    """
    depth = _depth_of_field(schema, parts)

    def change(struct: Json, _: PhysicalPath) -> Json:
        return with_field(struct, parts[depth], lambda field: edit(field, parts[depth + 1 :]))

    return with_struct(schema, parts[:depth], change)


def _depth_of_field(schema: Any, parts: Parts) -> int:
    """Return the index of the last of ``parts`` that names a field of a struct."""
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


def _ordered(place: Mapping[str, int], struct: Json, _: PhysicalPath) -> Json:
    return {**struct, "fields": sorted(struct["fields"], key=lambda field: place[field["name"].lower()])}


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
    """Return a field with another type, without records that describe only the old one."""
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


class MigrationDraft(Draft):
    """Follows the table through its steps, and collects the evidence that the plan rests on.

    :param survey: costs of dropping features
    """

    def __init__(
        self, table: TableName, spec: TableSpec, state: TableState, engine: Engine, survey: DropSurvey
    ) -> None:
        super().__init__(table, state, engine)
        self.spec = spec
        self.survey = survey
        self.columns = column_changes(state.metadata.schema, spec)
        self._cast_where_rows_are_rewritten()
        self.refusals += self.columns.refusals
        self._wants_files = False

    def _cast_where_rows_are_rewritten(self) -> None:
        """Turn widenings into casts if the rows are rewritten anyway.

        New files then have the wider types, and the table needs no type widening.
        """
        changes = self.columns
        has_to_rewrite = any(w.parts in changes.rewritable and not self._can_widen(w) for w in changes.widenings)
        renamed = Metadata.from_json(edited(steps.RenameColumns(tuple(changes.renames)), self.state.metadata.to_json()))
        if changes.casts or has_to_rewrite or is_partitioned_otherwise(renamed, self.spec):
            changes.casts += [steps.Cast(w.parts, w.old, w.new) for w in changes.widenings]
            changes.widenings.clear()

    def _can_widen(self, change: steps.ColumnType) -> bool:
        old, new = parse_type(change.old), parse_type(change.new)
        _, needed = widening_preparation([new], self.state, self.engine)
        return self.engine.widens(str(old), str(new)) and all(map(self.engine.knows, needed))

    @property
    def wants_files(self) -> bool:
        """True if planning in full needs the live files and they were not read yet."""
        return self._wants_files and self.before.files is None

    def take(self, *planned: Step) -> None:
        """Add steps, and continue with the table after them."""
        super().take(*planned)
        for step in planned:
            wire = edited(step, self.state.metadata.to_json())
            self.state = replace(self.state, metadata=Metadata.from_json(wire))

    def files(self) -> Sequence[LiveFile]:
        """Return the live files of the table; empty if they were not read yet.

        Records that the plan needs them.
        """
        self._wants_files = True
        return list(self.before.live_files)
