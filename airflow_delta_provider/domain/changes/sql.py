"""Steps as SQL, with every identifier and literal quoted."""

from __future__ import annotations

from functools import singledispatch

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.request.table_name import TableName


@singledispatch
def render_sql(step: steps.Step, table: TableName) -> str | None:
    """Return the statement for ``step``; None if it has no SQL."""
    raise TypeError(f"no SQL for {step!r} on {table}")


@render_sql.register
def _(step: steps.SetProperties, table: TableName) -> str:
    properties = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in step.properties)
    return f"ALTER TABLE {table.sql} SET TBLPROPERTIES ({properties})"


@render_sql.register
def _(step: steps.WidenColumns, table: TableName) -> str:
    columns = ", ".join(f"{_path(column.parts)} TYPE {column.new}" for column in step.columns)
    return f"ALTER TABLE {table.sql} ALTER COLUMN {columns}"


@render_sql.register
def _(step: steps.RewriteWithoutMapping, table: TableName) -> str:
    del step
    return f"ALTER TABLE {table.sql} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"


@render_sql.register(steps.TrackUsage)
@render_sql.register(steps.CreateTable)
@render_sql.register(steps.MapColumns)
@render_sql.register(steps.Alteration)
@render_sql.register(steps.DisableMapping)
def _(step: steps.Step, table: TableName) -> None:
    del step, table  # no engine changes a table with usage tracking; to disable mapping, SQL would rewrite every file


@render_sql.register
def _(step: steps.DropColumns, table: TableName) -> str:
    return f"ALTER TABLE {table.sql} DROP COLUMNS ({', '.join(map(_path, step.columns))})"


@render_sql.register
def _(step: steps.RenameColumn, table: TableName) -> str:
    return f"ALTER TABLE {table.sql} RENAME COLUMN {_path(step.column.parts)} TO {quote(step.column.new)}"


@render_sql.register
def _(step: steps.AddColumns, table: TableName) -> str:
    columns = ", ".join(f"{_path(column.parts)} {column.type}" for column in step.columns)
    return f"ALTER TABLE {table.sql} ADD COLUMNS ({columns})"


def _path(parts: tuple[str, ...]) -> str:
    return ".".join(map(quote, parts))


@render_sql.register
def _(step: steps.DropFeature, table: TableName) -> str | None:
    if step.without_sql:
        return None
    return f"ALTER TABLE {table.sql} DROP FEATURE {quote(step.feature)}{' TRUNCATE HISTORY' * step.truncate_history}"


def literal(text: str) -> str:
    """Return ``text`` as an SQL string literal; nothing in it can end the quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
