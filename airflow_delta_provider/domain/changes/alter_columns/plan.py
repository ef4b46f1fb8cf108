"""Planning to drop, rename and add columns, and judging what the log says afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.alter_columns.alteration import AddColumn, Alteration, Parts, RenameColumn
from airflow_delta_provider.domain.changes.alter_columns.past_columns import PastColumns
from airflow_delta_provider.domain.changes.alter_columns.resolution import resolve
from airflow_delta_provider.domain.changes.alter_columns.restrictions import check_alteration
from airflow_delta_provider.domain.changes.commit.writable import check_writable
from airflow_delta_provider.domain.changes.plan import Plan, Planned
from airflow_delta_provider.domain.changes.preconditions import check_table
from airflow_delta_provider.domain.changes.usage_tracking.consistency import check_property, is_tracked
from airflow_delta_provider.domain.checks.column_mapping.outcome import NOT_AS_ASKED
from airflow_delta_provider.domain.checks.column_mapping.physical_paths import REUSED_PATH
from airflow_delta_provider.domain.delta.column import lowered, path_text
from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type, render_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.alter_columns import AlterColumnsOptions
from airflow_delta_provider.domain.request.table_name import TableName


def plan_altering(
    table: TableName, options: AlterColumnsOptions, state: TableState, engine: Engine, memory: PastColumns
) -> Planned:
    """Plan to change the columns: by SQL, a commit a statement; with usage tracking in one commit of our own.

    What is done already is left out, so that a second run plans nothing, and one after a failure the rest.

    :param memory: the columns that the table has had
    """
    if refused := (*_blocked(table, state, engine), *check_property(table.text, state)):
        return Planned(None, tuple(refused))
    alteration, refusals = resolve(options, state.metadata, memory)
    refusals += check_alteration(alteration, state)
    if refusals:
        return Planned(None, refusals)
    planned = _one_commit(alteration) if is_tracked(state) else _statements(alteration)
    emptied = sorted({lowered(parts) for parts in alteration.drops} & {lowered(add.parts) for add in alteration.adds})
    notes = tuple(_notes(planned, emptied))
    return Planned(Plan(table, planned, state.protocol, state.protocol, notes, once=bool(emptied)))


def alteration_of(step: steps.AlterColumns) -> Alteration:
    """Return what a step changes, as values."""
    return Alteration(
        step.drops,
        tuple(RenameColumn(column.parts, column.new) for column in step.renames),
        tuple(AddColumn(column.parts, parse_sql_type(column.type)) for column in step.adds),
    )


def verify_altered(alteration: Alteration, before: TableState, after: TableState) -> Iterator[Finding]:
    """Yield what is wrong with the columns after they were changed.

    What was dropped is gone; what was renamed has its id and its physical name still; what was added has its type,
    and lies where no column lay before.

    :param before: the state that the plan was made on
    """
    old, new = MappedSchema.of(before.metadata), MappedSchema.of(after.metadata)
    present = {lowered(field.column.parts): field for field in new.fields}
    for parts in alteration.drops:
        was = _at(old, parts)
        if was is not None and was.id in new.ids:
            yield _not_as_asked("{column} should have been dropped, but is still there", after, path_text(parts))
    for rename in alteration.renames:
        was = _at(old, rename.parts)
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
        elif render_sql_type(added.column.data_type) != render_sql_type(add.data_type):
            actual = render_sql_type(added.column.data_type)
            yield _not_as_asked(
                "{column} should have been added as {type}, but is {actual}",
                after,
                text,
                type=render_sql_type(add.data_type),
                actual=actual,
            )
        elif old.is_mapped and (added.path in old.by_path or added.id in old.ids):
            yield REUSED_PATH.found(
                "{column} was added where data files store another column: its values appear in the new one.",
                remedy="Do not read the column; RESTORE the table to the previous version.",
                version=after.version,
                column=text,
            )


def _at(schema: MappedSchema, parts: tuple[str, ...]) -> MappedField | None:
    return next((field for field in schema.fields if field.column.parts == parts), None)


def _not_as_asked(what: str, after: TableState, column: str, **facts: Any) -> Finding:
    return NOT_AS_ASKED.found(
        f"{what} at version {{version}}: another writer changed the table.",
        version=after.version,
        column=column,
        **facts,
    )


def _blocked(table: TableName, state: TableState, engine: Engine) -> tuple[Finding, ...]:
    if is_tracked(state):
        return check_writable(table.text, state)
    blocked = check_table(table.text, state.protocol, engine)
    return (blocked,) if blocked else ()


def _statements(alteration: Alteration) -> tuple[steps.Step, ...]:
    return (
        *((steps.DropColumns(alteration.drops),) if alteration.drops else ()),
        *(steps.RenameColumn(column) for column in _names(alteration)),
        *((steps.AddColumns(_new_columns(alteration)),) if alteration.adds else ()),
    )


def _one_commit(alteration: Alteration) -> tuple[steps.Step, ...]:
    if alteration.is_empty:
        return ()
    return (steps.AlterColumns(alteration.drops, _names(alteration), _new_columns(alteration)),)


def _names(alteration: Alteration) -> tuple[steps.ColumnName, ...]:
    return tuple(steps.ColumnName(rename.parts, rename.new) for rename in alteration.renames)


def _new_columns(alteration: Alteration) -> tuple[steps.NewColumn, ...]:
    return tuple(steps.NewColumn(add.parts, render_sql_type(add.data_type)) for add in alteration.adds)


def _notes(planned: tuple[steps.Step, ...], emptied: list[Parts]) -> Iterator[str]:
    if len(planned) > 1:
        yield f"Each statement is a commit of its own: {len(planned)}. If one fails, a rerun goes on from there."
    for parts in emptied:
        yield (
            f"{path_text(parts)} is dropped and added again: each run of this request empties it anew, but for the "
            "tries of one task. Ask for the drop once only."
        )
