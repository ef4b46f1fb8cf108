"""Planning to drop, rename and add columns by SQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.changes.alter_columns.resolution import resolve
from airflow_delta_provider.domain.changes.plan import Draft, Plan, Planned, check_not_tracked, check_table
from airflow_delta_provider.domain.changes.schema import CHANGE_DATA_NAMES, TYPE_KEYS, PastColumns
from airflow_delta_provider.domain.changes.steps import (
    AddColumns,
    Alteration,
    DropColumns,
    NewColumn,
    Parts,
    RenameColumn,
    Step,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.column_mapping.names import NOT_AS_ASKED, REUSED_PATH
from airflow_delta_provider.domain.delta.data_type import (
    Column,
    PrimitiveType,
    StructField,
    StructType,
    all_columns,
    lowered,
    path_text,
)
from airflow_delta_provider.domain.delta.expression import expression_of_invariant, refers_to
from airflow_delta_provider.domain.delta.features.columns import GENERATED_COLUMNS, INVARIANTS
from airflow_delta_provider.domain.delta.features.log import CLUSTERING_DOMAIN, clustering_columns
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.metadata import is_plain_name, physical_parts
from airflow_delta_provider.domain.delta.protocol import has_feature
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import quote


def check_alteration(alteration: Alteration, state: TableState) -> tuple[Finding, ...]:
    """Return a refusal for each reason against the change; empty if it is allowed."""
    renamed = [rename.parts for rename in alteration.renames]
    return (
        *_needs_mapping(alteration, state),
        *_needed_columns(alteration.drops, state, is_renamed=False),
        *_needed_columns(renamed, _without(alteration.drops, state) if renamed else state, is_renamed=True),
        *_leaves_nothing(alteration, state),
        *(finding for add in alteration.adds for finding in _added(add, state)),
        *(f for r in alteration.renames for f in _named(r.renamed, state)),
    )


def _needed_columns(changed: Collection[Parts], state: TableState, *, is_renamed: bool) -> Iterator[Finding]:
    """Yield reasons why columns cannot be dropped or renamed."""
    paths = frozenset(changed)
    for column in all_columns(state.metadata.schema) if paths else ():
        if column.kinds[-1] == "field" and column.parts in paths:
            for rule in _COLUMN_RULES:
                yield from rule(column, state, is_renamed)


def _without(drops: Sequence[Parts], state: TableState) -> TableState:
    """Return the state after columns are dropped: drops come before renames."""
    if not drops:
        return state
    schema = Alteration(tuple(drops)).altered(parse_json(state.metadata.schema_string))
    return replace(state, metadata=replace(state.metadata, schema_string=json.dumps(schema)))


def _needs_mapping(alteration: Alteration, state: TableState) -> Iterator[Finding]:
    if alteration.drops_or_renames and not state.metadata.properties.is_mapped:
        yield requests.MAPPING_NEEDED.found(
            "Columns can be {changed} only with column mapping, which this table does not have "
            "(delta.columnMapping.mode is none).",
            changed="renamed" if alteration.renames else "dropped",
        )


def _partition(column: Column, state: TableState, is_renamed: bool) -> Iterator[Finding]:
    if lowered(column.parts) not in {lowered((name,)) for name in state.metadata.partition_columns}:
        return
    if not is_renamed:
        yield _needed(
            column,
            is_renamed,
            "the table is partitioned by it.",
            "Rewrite the table with other partition columns first: declare partition_by and rewrite: true in a spec.",
        )
        return
    for feature in FEATURES.values():
        if feature.keeps_iceberg and state.is_active(feature):
            yield _needed(
                column,
                is_renamed,
                "the table is partitioned by it, and with {feature}, partition columns keep their names.",
                f"Disable {feature.name} first, or keep the name.",
                feature=feature.name,
            )


def _clustering(column: Column, state: TableState, is_renamed: bool) -> Iterator[Finding]:
    """Refuse to drop a clustering column.

    Renaming is fine on a mapped table, which lists its clustering columns by physical names.
    """
    if is_renamed and state.metadata.properties.is_mapped:
        return
    metadata = state.metadata
    path = lowered(physical_parts(column, metadata.schema, metadata.properties.mapping_mode))
    for readings in clustering_columns(state.domains.get(CLUSTERING_DOMAIN)):
        if any(lowered(reading)[: len(path)] == path for reading in readings):
            yield _needed(
                column,
                is_renamed,
                "the table is clustered by it.",
                "Choose other columns first: ALTER TABLE … CLUSTER BY.",
            )


def _constraints(column: Column, state: TableState, is_renamed: bool) -> Iterator[Finding]:
    for name, expression in state.metadata.check_constraints.items():
        if refers_to(expression, column.parts):
            yield _needed(
                column,
                is_renamed,
                "the CHECK constraint {constraint!r} uses it ({expression}).",
                f"Drop the constraint first: ALTER TABLE … DROP CONSTRAINT {quote(name)}."
                + (" Then rename the column, and add the constraint again with the new name." if is_renamed else ""),
                constraint=name,
                expression=expression,
            )


def _invariants(column: Column, state: TableState, is_renamed: bool) -> Iterator[Finding]:
    """Refuse changes that leave an invariant with a missing column.

    A dropped column takes its own invariant with it.
    """
    for other, text in state.metadata.column_texts(INVARIANTS.field_key):
        expression = str(expression_of_invariant(text) or text)
        is_within = lowered(other.parts[: len(column.parts)]) == lowered(column.parts)
        if refers_to(expression, column.parts) and (is_renamed or not is_within):
            yield _needed(
                column,
                is_renamed,
                "the invariant of {other} uses it ({expression}).",
                _drop_first(other, state, "No statement removes an invariant from a column"),
                other=other,
                expression=text,
            )


def _generated(column: Column, state: TableState, is_renamed: bool) -> Iterator[Finding]:
    for other, expression in state.metadata.column_texts(GENERATED_COLUMNS.field_key):
        if refers_to(expression, column.parts) and other.parts != column.parts:
            yield _needed(
                column,
                is_renamed,
                "the generated column {other} uses it ({expression}).",
                _drop_first(other, state, "No statement adds a generated column again, or changes its expression"),
                other=other,
                expression=expression,
            )


def _drop_first(other: Column, state: TableState, why: str) -> str:
    """Return the remedy for a column that blocks a change of another one: drop it, if possible.

    :param why: reason why nothing simpler helps, as a sentence without its full stop
    """
    kept = any(finding for rule in (_partition, _clustering, _constraints) for finding in rule(other, state, False))
    copy = "copy the table to a new one, created as it should be"
    if kept:
        return f"{why}, and {other} cannot be dropped either: {copy}."
    return f"{why}: {copy}, or drop {other} before, in a request of its own."


_COLUMN_RULES: tuple[Callable[[Column, TableState, bool], Iterator[Finding]], ...] = (
    _partition,
    _clustering,
    _constraints,
    _invariants,
    _generated,
)


def _needed(column: Column, is_renamed: bool, why: str, remedy: str, **facts: Any) -> Finding:
    evidence = f"{{column}} cannot be {'renamed' if is_renamed else 'dropped'}: {why}"
    return requests.COLUMN_NEEDED.found(evidence, remedy=remedy, column=column, **facts)


def _leaves_nothing(alteration: Alteration, state: TableState) -> Iterator[Finding]:
    """Refuse to drop the last field of a struct, or the last column that is not a partition column."""
    schema = Alteration(alteration.drops).altered(parse_json(state.metadata.schema_string))
    for parts in alteration.drops:
        above = _struct_at(schema, parts[:-1])
        partitions = {lowered((name,)) for name in state.metadata.partition_columns} if len(parts) == 1 else set()
        if above is not None and all(lowered((field["name"],)) in partitions for field in above["fields"]):
            where = "the table" if len(parts) == 1 else path_text(parts[:-1])
            yield requests.COLUMN_NEEDED.found(
                "{column} cannot be dropped: it is the last column of {parent}.",
                remedy=f"Add another column first, or drop {where} itself.",
                column=path_text(parts),
                parent=where,
            )
            return


def _struct_at(schema: Any, parts: Parts) -> Any:
    """Return the struct at a path of a schema's JSON; None if it was dropped."""
    for part in parts:
        if schema["type"] == "struct":
            schema = next((field["type"] for field in schema["fields"] if field["name"] == part), None)
        else:
            schema = schema[TYPE_KEYS[part]]
        if schema is None:
            return None
    return schema


def _added(add: NewColumn, state: TableState) -> Iterator[Finding]:
    column = Column(add.parts, add.data_type, StructField(add.parts[-1], add.data_type), (), ("field",))
    name = path_text(add.parts)
    yield from _named(add.parts, state)
    for below in all_columns(StructType((column.field,))):
        if below.data_type == _VOID:
            yield requests.UNSUPPORTED_COLUMN.found(
                "{column} cannot be added as void: it could never store a value.",
                remedy="Use the type that its values will have.",
                column=name,
            )
        for feature in FEATURES.values():
            if below.data_type == feature.column_type and not has_feature(state.protocol.features, feature.name):
                yield requests.UNSUPPORTED_COLUMN.found(
                    "{column} cannot be added as {type}: the type {needing} needs the table feature {feature}, which "
                    "the protocol ({protocol}) does not list.",
                    remedy="Enable the feature first.",
                    column=name,
                    type=add.data_type,
                    needing=below.data_type,
                    feature=feature,
                    protocol=state.protocol,
                )
        if len(below.parts) > 1 and below.kinds[-1] == "field":
            yield from _named((*add.parts, *below.parts[1:]), state)


_VOID = PrimitiveType("void")


def _named(parts: Parts, state: TableState) -> Iterator[Finding]:
    """Refuse invalid or reserved names."""
    name, text = parts[-1], path_text(parts)
    properties = state.metadata.properties
    if not properties.is_mapped and not is_plain_name(name):
        yield requests.ILLEGAL_NAME.found(
            "{column} cannot be the name of a column of this table: without column mapping, names must not contain a "
            "space, a line break, a tab or any of ,;{{}}()=.",
            remedy="Choose another name, or enable the feature columnMapping first (features: [columnMapping]).",
            column=text,
        )
    if len(parts) > 1:
        return
    taken = {reserved.lower() for reserved in properties.materialized_columns}
    if properties.change_data_feed:
        taken |= set(CHANGE_DATA_NAMES)
    if name.lower() in taken:
        yield requests.ILLEGAL_NAME.found(
            "{column} cannot be the name of a column of this table: row tracking or the change data feed reserves it.",
            column=text,
        )


def plan_altering(
    table: TableName, options: AlterColumnsOptions, state: TableState, engine: Engine, past: PastColumns
) -> Planned:
    """Plan to change the columns, with one statement and commit per kind of change and per rename.

    Changes that are already done are left out. A second run plans nothing, and a run after a failure plans the rest.

    :param past: columns that the table has had
    """
    draft = Draft(table, state, engine)
    draft.refusals += (*check_table(table.text, state.protocol, engine), *check_not_tracked(table.text, state))
    if draft.refusals:
        return draft.planned()
    alteration, refusals = resolve(options, state.metadata, past)
    draft.refusals += refusals
    alter(draft, alteration, tuple(_statements(alteration)))
    if draft.refusals:
        return draft.planned()
    return Planned(alteration_plan(table, state, alteration, tuple(draft.steps)))


def alter(draft: Draft, alteration: Alteration, steps: Sequence[Step]) -> None:
    """Add the steps of an alteration; or refuse, with every reason against it."""
    draft.refusals += check_alteration(alteration, draft.state)
    if not draft.refusals:
        draft.take(*steps)


def _statements(alteration: Alteration) -> Iterator[Step]:
    if alteration.drops:
        yield DropColumns(alteration.drops)
    yield from map(RenameColumn, alteration.renames)
    if alteration.adds:
        yield AddColumns(alteration.adds)


def resolve_allowed(
    options: AlterColumnsOptions, state: TableState, past: PastColumns
) -> tuple[Alteration, tuple[Finding, ...]]:
    """Return the requested change, and the reasons why this provider must not commit it itself."""
    alteration, refusals = resolve(options, state.metadata, past)
    return alteration, (*refusals, *check_alteration(alteration, state), *_partitions_renamed(alteration, state))


def _partitions_renamed(alteration: Alteration, state: TableState) -> Iterator[Finding]:
    partitions = {lowered((name,)) for name in state.metadata.partition_columns}
    for rename in alteration.renames:
        if lowered(rename.parts) in partitions:
            yield requests.COLUMN_NEEDED.found(
                "{column} cannot be renamed: the table is partitioned by it, and commits of this provider do not "
                "rename partition columns.",
                remedy="Drop the feature columnMappingUsageTracking; then the engine can rename the column.",
                column=path_text(rename.parts),
            )


def alteration_plan(table: TableName, state: TableState, alteration: Alteration, steps: tuple[Step, ...]) -> Plan:
    """Return the plan for an alteration, with notes for users."""
    emptied = sorted({lowered(parts) for parts in alteration.drops} & {lowered(add.parts) for add in alteration.adds})
    notes = [
        f"{path_text(parts)} is dropped and added again: every run of this request empties it again, except for "
        "retries of the same task. Request the drop only once."
        for parts in emptied
    ]
    if len(steps) > 1:
        notes.insert(0, f"Each statement is its own commit: {len(steps)}. If one fails, a rerun resumes there.")
    return Plan(table, steps, state.protocol, state.protocol, tuple(notes), once=bool(emptied))


def verify_altered(alteration: Alteration, before: TableState, after: TableState) -> Iterator[Finding]:
    """Yield differences between the columns and the planned change.

    A dropped column must be absent. A renamed column must keep its id and physical name. An added column must have its
    type, and a path in data files that no column had before.

    :param before: state that the plan was made on
    """
    old, new = before.metadata.mapped_schema, after.metadata.mapped_schema
    was_at = {field.column.parts: field for field in reversed(old.fields)}
    present = {lowered(field.column.parts): field for field in new.fields}
    for parts in alteration.drops:
        was = was_at.get(parts)
        if was is not None and was.id in new.ids:
            yield _not_as_asked("{column} should have been dropped, but is still there", after, path_text(parts))
    for rename in alteration.renames:
        was = was_at.get(rename.parts)
        now = None if was is None or was.id is None else new.by_id.get(was.id)
        if was is not None and (now is None or now.name != was.name or now.column.parts[-1] != rename.new):
            actual = "gone" if now is None else f"called {now.column}, under {now.name!r} in data files"
            what = "{column} should have been renamed to {new!r}, but is {actual}"
            yield _not_as_asked(what, after, path_text(rename.parts), new=rename.new, actual=actual)
    for add in alteration.adds:
        added = present.get(lowered(add.parts))
        text = path_text(add.parts)
        if added is None:
            yield _not_as_asked("{column} should have been added, but is missing", after, text)
        elif render_sql_type(added.column.data_type) != add.type:
            actual = render_sql_type(added.column.data_type)
            yield _not_as_asked(
                "{column} should have been added as {type}, but is {actual}", after, text, type=add.type, actual=actual
            )
        elif old.is_mapped and (added.path in old.by_path or added.id in old.ids):
            yield REUSED_PATH.found(
                "{column} was added where data files store another column: its values appear in the new one.",
                remedy="Do not read the column; RESTORE the table to the previous version.",
                version=after.version,
                column=text,
            )


def _not_as_asked(what: str, after: TableState, column: str, **facts: Any) -> Finding:
    return NOT_AS_ASKED.found(
        f"{what} at version {{version}}: another writer changed the table.",
        version=after.version,
        column=column,
        **facts,
    )
