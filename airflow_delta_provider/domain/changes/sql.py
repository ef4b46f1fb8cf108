"""Steps as SQL, with every identifier and literal quoted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.delta.column import lowered
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


@render_sql.register
def _(step: steps.UnsetProperties, table: TableName) -> str:
    return f"ALTER TABLE {table.sql} UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(literal, step.names))})"


@render_sql.register
def _(step: steps.RenameColumns, table: TableName) -> str:
    """One statement each; where names are exchanged, by way of a name that nothing has."""
    taken = {lowered(column.parts) for column in step.columns}
    first, last = [], []
    for index, column in enumerate(step.columns):
        if lowered(column.renamed) in taken and lowered(column.renamed) != lowered(column.parts):
            passing = steps.ColumnName(column.parts, f"_renaming_{index}")
            first.append(passing)
            last.append(steps.ColumnName(passing.renamed, column.new))
        else:
            last.append(column)
    return ";\n".join(
        f"ALTER TABLE {table.sql} RENAME COLUMN {_path(column.parts)} TO {quote(column.new)}"
        for column in (*first, *last)
    )


@render_sql.register
def _(step: steps.OrderFields, table: TableName) -> str:
    paths = [_path((*step.parent, name)) for name in step.names]
    places = ["FIRST", *(f"AFTER {quote(name)}" for name in step.names)]
    return _alter_columns(table, (f"{path} {place}" for path, place in zip(paths, places)))


@render_sql.register
def _(step: steps.AllowNulls, table: TableName) -> str:
    return _alter_columns(table, (f"{_path(parts)} DROP NOT NULL" for parts in step.columns))


@render_sql.register
def _(step: steps.ForbidNulls, table: TableName) -> str:
    return _alter_columns(table, (f"{_path(parts)} SET NOT NULL" for parts in step.columns))


@render_sql.register
def _(step: steps.CommentColumns, table: TableName) -> str:
    return _alter_columns(table, (f"{_path(c.parts)} COMMENT {literal(c.text or '')}" for c in step.columns))


@render_sql.register
def _(step: steps.SetDefaults, table: TableName) -> str:
    return _alter_columns(
        table,
        (
            f"{_path(c.parts)} DROP DEFAULT" if c.text is None else f"{_path(c.parts)} SET DEFAULT {c.text}"
            for c in step.columns
        ),
    )


@render_sql.register
def _(step: steps.CommentTable, table: TableName) -> str:
    return f"COMMENT ON TABLE {table.sql} IS {'NULL' if step.text is None else literal(step.text)}"


@render_sql.register
def _(step: steps.AddConstraint, table: TableName) -> str:
    return f"ALTER TABLE {table.sql} ADD CONSTRAINT {quote(step.name)} CHECK ({step.expression})"


@render_sql.register
def _(step: steps.DropConstraint, table: TableName) -> str:
    return f"ALTER TABLE {table.sql} DROP CONSTRAINT {quote(step.name)}"


@render_sql.register
def _(step: steps.ClusterBy, table: TableName) -> str:
    columns = f"({', '.join(map(_path, step.columns))})" if step.columns else "NONE"
    return f"ALTER TABLE {table.sql} CLUSTER BY {columns}"


@render_sql.register
def _(step: steps.RewriteTable, table: TableName) -> str:
    by = "" if step.partition_by is None else f" PARTITIONED BY ({', '.join(map(quote, step.partition_by))})"
    casts = "".join(
        f", {'try_cast' if cast.null_on_loss else 'cast'}({_path(cast.parts)} AS {cast.new}) AS {quote(cast.parts[-1])}"
        for cast in step.casts
    )
    zone = "" if step.time_zone is None else f"SET TIME ZONE {literal(step.time_zone)};\n"
    return f"{zone}REPLACE TABLE {table.sql} USING delta{by} AS SELECT *{casts} FROM {table.sql}"


@render_sql.register
def _(step: steps.InOneCommit, table: TableName) -> str:
    return ";\n".join(filter(None, (render_sql(each, table) for each in step.steps)))


def _alter_columns(table: TableName, changes: Iterable[str]) -> str:
    return f"ALTER TABLE {table.sql} ALTER COLUMN {', '.join(changes)}"


def literal(text: str) -> str:
    """Return ``text`` as an SQL string literal; nothing in it can end the quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
