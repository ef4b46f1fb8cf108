"""Steps as SQL, with every identifier and literal quoted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.request.table_name import TableName


def render_sql(step: steps.Step, table: TableName) -> str | None:
    """Return the statement for ``step``; None if it has no SQL.

    No engine changes a table with usage tracking. Disabling column mapping by SQL would rewrite every file.
    """
    match step:
        case (
            steps.TrackUsage() | steps.CreateTable() | steps.MapColumns() | steps.Alteration() | steps.DisableMapping()
        ):
            return None
        case steps.DropFeature(without_sql=True):
            return None
        case steps.InOneCommit():
            return ";\n".join(filter(None, (render_sql(each, table) for each in step.steps)))
        case steps.RenameColumns():
            return ";\n".join(f"ALTER TABLE {table.sql} RENAME COLUMN {_rename(one)}" for one in _renames(step))
        case steps.CommentTable():
            return f"COMMENT ON TABLE {table.sql} IS {'NULL' if step.text is None else literal(step.text)}"
        case steps.RewriteTable():
            return _replace(step, table)
        case _:
            return f"ALTER TABLE {table.sql} {_alteration(step)}"


def _alteration(step: steps.Step) -> str:
    """Return the part of the statement after ``ALTER TABLE`` and the table's name."""
    match step:
        case steps.SetProperties():
            properties = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in step.properties)
            return f"SET TBLPROPERTIES ({properties})"
        case steps.UnsetProperties():
            return f"UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(literal, step.names))})"
        case steps.RewriteWithoutMapping():
            return "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
        case steps.DropFeature():
            return f"DROP FEATURE {quote(step.feature)}{' TRUNCATE HISTORY' * step.truncate_history}"
        case steps.AddConstraint():
            return f"ADD CONSTRAINT {quote(step.name)} CHECK ({step.expression})"
        case steps.DropConstraint():
            return f"DROP CONSTRAINT {quote(step.name)}"
        case steps.ClusterBy():
            return f"CLUSTER BY {f'({_paths(step.columns)})' if step.columns else 'NONE'}"
        case steps.AddColumns():
            return f"ADD COLUMNS ({', '.join(f'{_path(column.parts)} {column.type}' for column in step.columns)})"
        case steps.DropColumns():
            return f"DROP COLUMNS ({_paths(step.columns)})"
        case steps.RenameColumn():
            return f"RENAME COLUMN {_rename(step.column)}"
        case _:
            return f"ALTER COLUMN {', '.join(_of_columns(step))}"


def _of_columns(step: steps.Step) -> Iterator[str]:
    """Yield the text after ``ALTER COLUMN`` for each column."""
    match step:
        case steps.WidenColumns():
            return (f"{_path(column.parts)} TYPE {column.new}" for column in step.columns)
        case steps.OrderFields():
            places = ["FIRST", *(f"AFTER {quote(name)}" for name in step.names)]
            return (f"{_path((*step.parent, name))} {place}" for name, place in zip(step.names, places))
        case steps.AllowNulls():
            return (f"{_path(parts)} DROP NOT NULL" for parts in step.columns)
        case steps.ForbidNulls():
            return (f"{_path(parts)} SET NOT NULL" for parts in step.columns)
        case steps.CommentColumns():
            return (f"{_path(column.parts)} COMMENT {literal(column.text or '')}" for column in step.columns)
        case steps.SetDefaults():
            changes = ((c.parts, "DROP DEFAULT" if c.text is None else f"SET DEFAULT {c.text}") for c in step.columns)
            return (f"{_path(parts)} {change}" for parts, change in changes)
        case _:
            raise TypeError(f"no SQL for {step!r}")


def _renames(step: steps.RenameColumns) -> Iterable[steps.ColumnName]:
    """Return one rename per column. Columns that swap names first get an unused temporary name."""
    taken = {lowered(column.parts) for column in step.columns}
    first, last = [], []
    for index, column in enumerate(step.columns):
        if lowered(column.renamed) in taken and lowered(column.renamed) != lowered(column.parts):
            passing = steps.ColumnName(column.parts, f"_renaming_{index}")
            first.append(passing)
            last.append(steps.ColumnName(passing.renamed, column.new))
        else:
            last.append(column)
    return (*first, *last)


def _rename(column: steps.ColumnName) -> str:
    return f"{_path(column.parts)} TO {quote(column.new)}"


def _replace(step: steps.RewriteTable, table: TableName) -> str:
    by = "" if step.partition_by is None else f" PARTITIONED BY ({', '.join(map(quote, step.partition_by))})"
    casts = "".join(
        f", {'try_cast' if cast.null_on_loss else 'cast'}({_path(cast.parts)} AS {cast.new}) AS {quote(cast.parts[-1])}"
        for cast in step.casts
    )
    zone = "" if step.time_zone is None else f"SET TIME ZONE {literal(step.time_zone)};\n"
    return f"{zone}REPLACE TABLE {table.sql} USING delta{by} AS SELECT *{casts} FROM {table.sql}"


def _path(parts: steps.Parts) -> str:
    return ".".join(map(quote, parts))


def _paths(columns: Iterable[steps.Parts]) -> str:
    return ", ".join(map(_path, columns))


def literal(text: str) -> str:
    """Return ``text`` as an SQL string literal, with quotes and backslashes escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
