"""Steps as SQL. Every identifier and literal is quoted here, whatever it holds."""

from __future__ import annotations

from functools import singledispatch

from airflow_delta_provider.domain.delta.column import quote
from airflow_delta_provider.domain.delta.table_name import TableName
from airflow_delta_provider.domain.plan.step import (
    DropFeature,
    RemoveMapping,
    RewriteUnmapped,
    SetProperties,
    Step,
    WidenColumns,
)


@singledispatch
def render_sql(step: Step, table: TableName) -> str | None:
    """Return the one statement that does ``step`` to ``table``; None for a step that SQL has no statement for."""
    raise TypeError(f"no SQL for {step!r} on {table}")


@render_sql.register
def _(step: SetProperties, table: TableName) -> str:
    properties = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in step.properties)
    return f"ALTER TABLE {table.sql} SET TBLPROPERTIES ({properties})"


@render_sql.register
def _(step: WidenColumns, table: TableName) -> str:
    columns = ", ".join(f"{'.'.join(map(quote, column.parts))} TYPE {column.new}" for column in step.columns)
    return f"ALTER TABLE {table.sql} ALTER COLUMN {columns}"


@render_sql.register
def _(step: RemoveMapping, table: TableName) -> None:
    """It takes a transaction of the engine: SQL rewrites every file."""


@render_sql.register
def _(step: RewriteUnmapped, table: TableName) -> str:
    del step
    return f"ALTER TABLE {table.sql} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"


@render_sql.register
def _(step: DropFeature, table: TableName) -> str | None:
    if step.by_hand:
        return None
    return f"ALTER TABLE {table.sql} DROP FEATURE {quote(step.feature)}{' TRUNCATE HISTORY' * step.truncate_history}"


def literal(text: str) -> str:
    """Return ``text`` as an SQL string literal; nothing in it can end the quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
