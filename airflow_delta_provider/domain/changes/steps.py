"""The steps of a plan: inert values, their SQL and their sentences.

The provider itself commits steps that have no SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field

from airflow_delta_provider.domain.delta.data_type import DataType, lowered, path_text
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import quote

#: A column's names from the top-level column down, with ``element``, ``key`` and ``value`` on the way.
Parts = tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A step of a plan.

    :param commits: expected number of commits
    """

    commits: int = field(default=1, kw_only=True)


@dataclass(frozen=True)
class SetProperties(Step):
    """Sets table properties, in one commit (more to enable row tracking on a table with files).

    :param properties: (name, value) pairs, sorted
    :param enables: features that the step adds to the table, sorted
    """

    properties: tuple[tuple[str, str], ...]
    enables: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnType:
    """A column with its old and new type, as SQL names."""

    parts: Parts
    old: str
    new: str


@dataclass(frozen=True)
class WidenColumns(Step):
    """Changes the types of columns, all in one commit."""

    columns: tuple[ColumnType, ...]


@dataclass(frozen=True)
class TrackUsage(Step):
    """Enables usage tracking of column mapping.

    :param dropped_or_renamed: value of the property, ``true`` or ``false``
    """

    dropped_or_renamed: str


@dataclass(frozen=True)
class MapColumns(Step):
    """Enables column mapping by name on a table with usage tracking."""


@dataclass(frozen=True)
class ColumnName:
    """A column and its new name; its position stays.

    :param parts: path before the rename
    """

    parts: Parts
    new: str

    @property
    def renamed(self) -> Parts:
        """The path after the rename."""
        return (*self.parts[:-1], self.new)


@dataclass(frozen=True)
class NewColumn:
    """A nullable column to add as the last one of its struct, with its SQL type."""

    parts: Parts
    type: str

    @property
    def data_type(self) -> DataType:
        """The parsed type.

        :raises UnknownTypeError: if ``type`` is not a SQL type
        """
        return parse_sql_type(self.type)


@dataclass(frozen=True)
class DropColumns(Step):
    """Drops columns, by their paths, all in one commit."""

    columns: tuple[Parts, ...]


@dataclass(frozen=True)
class RenameColumn(Step):
    """Renames one column: SQL has no statement for several."""

    column: ColumnName


@dataclass(frozen=True)
class AddColumns(Step):
    """Adds columns, all in one commit."""

    columns: tuple[NewColumn, ...]


@dataclass(frozen=True)
class Alteration(Step):
    """Drops, then renames, then adds columns.

    Each path refers to the schema that the changes before it leave. As a step, it is one commit by the provider, for a
    table with usage tracking, which no engine changes.
    """

    drops: tuple[Parts, ...] = ()
    renames: tuple[ColumnName, ...] = ()
    adds: tuple[NewColumn, ...] = ()

    @property
    def drops_or_renames(self) -> bool:
        """True if a physical name may then differ from its logical one, or be unused but still in files."""
        return bool(self.drops or self.renames)


@dataclass(frozen=True)
class CreateTable(Step):
    """Creates an empty table with usage tracking of column mapping.

    :param columns: (name, SQL type) pairs, in their order
    :param partition_by: names of the partition columns
    """

    columns: tuple[tuple[str, str], ...]
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class DisableMapping(Step):
    """Disables column mapping in the metadata.

    :param rests_on: proof that this is safe: ``history``, ``footers`` or ``no files``
    """

    rests_on: str


@dataclass(frozen=True)
class RewriteWithoutMapping(Step):
    """Lets the engine rewrite every data file without column mapping.

    :param files: number of data files
    :param size: total size of the files in bytes
    """

    files: int
    size: int


@dataclass(frozen=True)
class DropFeature(Step):
    """Drops a table feature.

    :param truncate_history: True to delete history with traces of the feature, instead of protecting that history
    :param without_sql: True if the step has no SQL
    :param files: number of data files to rewrite
    :param size: total size of those files in bytes
    """

    feature: str
    _: KW_ONLY
    truncate_history: bool = False
    without_sql: bool = False
    files: int = 0
    size: int = 0


@dataclass(frozen=True)
class UnsetProperties(Step):
    """Removes table properties.

    :param names: property names, sorted
    """

    names: tuple[str, ...]


@dataclass(frozen=True)
class RenameColumns(Step):
    """Renames columns all at once, so columns may swap names or reuse a name that another gives up.

    All paths are those before the renames.
    """

    columns: tuple[ColumnName, ...]


@dataclass(frozen=True)
class OrderFields(Step):
    """Reorders the columns of the table, or the fields of a struct.

    :param parent: path of the struct; empty for the table
    :param names: names of all its fields, in their new order
    """

    parent: Parts
    names: tuple[str, ...]


@dataclass(frozen=True)
class AllowNulls(Step):
    """Removes NOT NULL from columns."""

    columns: tuple[Parts, ...]


@dataclass(frozen=True)
class ForbidNulls(Step):
    """Sets columns NOT NULL, after it was proven that none contains NULL."""

    columns: tuple[Parts, ...]


@dataclass(frozen=True)
class ColumnText:
    """A column and its comment or default expression; None removes it."""

    parts: Parts
    text: str | None


@dataclass(frozen=True)
class CommentColumns(Step):
    """Sets or removes the comments of columns."""

    columns: tuple[ColumnText, ...]


@dataclass(frozen=True)
class SetDefaults(Step):
    """Sets or removes the defaults of columns, for rows written from then on."""

    columns: tuple[ColumnText, ...]


@dataclass(frozen=True)
class CommentTable(Step):
    """Sets the comment of the table; None removes it."""

    text: str | None


@dataclass(frozen=True)
class AddConstraint(Step):
    """Adds a CHECK constraint; the engine checks all rows first."""

    name: str
    expression: str


@dataclass(frozen=True)
class DropConstraint(Step):
    name: str


@dataclass(frozen=True)
class ClusterBy(Step):
    """Clusters data written from then on by other columns; an empty tuple ends clustering."""

    columns: tuple[Parts, ...]


@dataclass(frozen=True)
class Cast(ColumnType):
    """A column whose type or nullability changes in a rewrite.

    :param null_on_loss: True if values that the cast loses become NULL
    """

    null_on_loss: bool = False


@dataclass(frozen=True)
class RewriteTable(Step):
    """Rewrites all data files in one transaction, with other types or another partitioning.

    :param casts: columns that get another type
    :param partition_by: partition columns after the rewrite; None if they stay the same
    :param time_zone: zone for casts between local dates or times and moments; None if no cast depends on it
    :param files: number of data files
    :param size: total size of the files in bytes
    """

    casts: tuple[Cast, ...]
    partition_by: tuple[str, ...] | None = None
    time_zone: str | None = None
    files: int = 0
    size: int = 0


@dataclass(frozen=True)
class InOneCommit(Step):
    """Several metadata changes in one commit."""

    steps: tuple[Step, ...]


def each_step(planned: Iterable[Step]) -> Iterator[Step]:
    """Yield all steps, with :class:`InOneCommit` replaced by its steps."""
    for step in planned:
        if isinstance(step, InOneCommit):
            yield from step.steps
        else:
            yield step


def rewrites_files(step: Step) -> bool:
    """Return True if a step of a migration rewrites data files."""
    return isinstance(step, RewriteTable) or (isinstance(step, DropFeature) and step.files > 0)


def reads_rows(step: Step) -> bool:
    """Return True if the engine reads rows of the table to execute a step."""
    return rewrites_files(step) or isinstance(step, (AddConstraint, DropFeature, ForbidNulls))


def render_sql(step: Step, table: TableName) -> str | None:
    """Return the statement for ``step``; None if it has no SQL.

    No engine changes a table with usage tracking. Disabling column mapping by SQL would rewrite every file.
    """
    match step:
        case TrackUsage() | CreateTable() | MapColumns() | Alteration() | DisableMapping():
            return None
        case DropFeature(without_sql=True):
            return None
        case InOneCommit():
            return ";\n".join(filter(None, (render_sql(each, table) for each in step.steps)))
        case RenameColumns():
            return ";\n".join(f"ALTER TABLE {table.sql} RENAME COLUMN {_rename(one)}" for one in _single_renames(step))
        case CommentTable():
            return f"COMMENT ON TABLE {table.sql} IS {'NULL' if step.text is None else literal(step.text)}"
        case RewriteTable():
            return _replace(step, table)
        case _:
            return f"ALTER TABLE {table.sql} {_alteration(step)}"


def _alteration(step: Step) -> str:
    """Return the part of the statement after ``ALTER TABLE`` and the table's name."""
    match step:
        case SetProperties():
            properties = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in step.properties)
            return f"SET TBLPROPERTIES ({properties})"
        case UnsetProperties():
            return f"UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(literal, step.names))})"
        case RewriteWithoutMapping():
            return "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
        case DropFeature():
            return f"DROP FEATURE {quote(step.feature)}{' TRUNCATE HISTORY' * step.truncate_history}"
        case AddConstraint():
            return f"ADD CONSTRAINT {quote(step.name)} CHECK ({step.expression})"
        case DropConstraint():
            return f"DROP CONSTRAINT {quote(step.name)}"
        case ClusterBy():
            return f"CLUSTER BY {f'({_quoted_paths(step.columns)})' if step.columns else 'NONE'}"
        case AddColumns():
            return f"ADD COLUMNS ({', '.join(f'{_path(column.parts)} {column.type}' for column in step.columns)})"
        case DropColumns():
            return f"DROP COLUMNS ({_quoted_paths(step.columns)})"
        case RenameColumn():
            return f"RENAME COLUMN {_rename(step.column)}"
        case _:
            return f"ALTER COLUMN {', '.join(_of_columns(step))}"


def _of_columns(step: Step) -> Iterator[str]:
    """Yield the text after ``ALTER COLUMN`` for each column."""
    match step:
        case WidenColumns():
            return (f"{_path(column.parts)} TYPE {column.new}" for column in step.columns)
        case OrderFields():
            places = ["FIRST", *(f"AFTER {quote(name)}" for name in step.names)]
            return (f"{_path((*step.parent, name))} {place}" for name, place in zip(step.names, places))
        case AllowNulls():
            return (f"{_path(parts)} DROP NOT NULL" for parts in step.columns)
        case ForbidNulls():
            return (f"{_path(parts)} SET NOT NULL" for parts in step.columns)
        case CommentColumns():
            return (f"{_path(column.parts)} COMMENT {literal(column.text or '')}" for column in step.columns)
        case SetDefaults():
            changes = ((c.parts, "DROP DEFAULT" if c.text is None else f"SET DEFAULT {c.text}") for c in step.columns)
            return (f"{_path(parts)} {change}" for parts, change in changes)
        case _:
            raise TypeError(f"no SQL for {step!r}")


def _single_renames(step: RenameColumns) -> Iterable[ColumnName]:
    """Return one rename per column. Columns that swap names first get an unused temporary name."""
    taken = {lowered(column.parts) for column in step.columns}
    first, last = [], []
    for index, column in enumerate(step.columns):
        if lowered(column.renamed) in taken and lowered(column.renamed) != lowered(column.parts):
            passing = ColumnName(column.parts, f"_renaming_{index}")
            first.append(passing)
            last.append(ColumnName(passing.renamed, column.new))
        else:
            last.append(column)
    return (*first, *last)


def _rename(column: ColumnName) -> str:
    return f"{_path(column.parts)} TO {quote(column.new)}"


def _replace(step: RewriteTable, table: TableName) -> str:
    by = "" if step.partition_by is None else f" PARTITIONED BY ({', '.join(map(quote, step.partition_by))})"
    casts = "".join(
        f", {'try_cast' if cast.null_on_loss else 'cast'}({_path(cast.parts)} AS {cast.new}) AS {quote(cast.parts[-1])}"
        for cast in step.casts
    )
    zone = "" if step.time_zone is None else f"SET TIME ZONE {literal(step.time_zone)};\n"
    return f"{zone}REPLACE TABLE {table.sql} USING delta{by} AS SELECT *{casts} FROM {table.sql}"


def _path(parts: Parts) -> str:
    return ".".join(map(quote, parts))


def _quoted_paths(columns: Iterable[Parts]) -> str:
    return ", ".join(map(_path, columns))


def literal(text: str) -> str:
    """Return ``text`` as an SQL string literal, with quotes and backslashes escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_PROOFS = {
    "history": "as the history proves safe",
    "footers": "as the footers of all live files prove safe",
    "no files": "while there is no data file",
}


def explain(step: Step) -> str:
    """Return a one-line description of ``step`` with its number of commits."""
    commits = "1 commit" if step.commits == 1 else f"about {step.commits} commits"
    own = isinstance(step, (TrackUsage, MapColumns, CreateTable))
    return f"{action_of(step)} ({commits}{', not by SQL' if own else ''})"


def action_of(step: Step) -> str:
    """Return a description of ``step`` without its number of commits."""
    match step:
        case SetProperties():
            properties = ", ".join(f"{name}={value}" for name, value in step.properties)
            enables = f", which enables {', '.join(step.enables)}" if step.enables else ""
            return f"set {properties}{enables}"
        case UnsetProperties():
            return f"unset {', '.join(step.names)}"
        case TrackUsage():
            value = f"delta.columnMapping.hasDroppedOrRenamed={step.dropped_or_renamed}"
            return f"add columnMappingUsageTracking to the protocol and set {value}"
        case DropFeature():
            rewrites = f", which rewrites {counted(step.files, step.size)}" if step.files else ""
            truncates = ", and truncate the history that has traces of it" if step.truncate_history else ""
            return f"drop {step.feature}{rewrites}{truncates}"
        case MapColumns():
            return "map all columns by name, each to its own name"
        case DisableMapping():
            return f"disable column mapping in the metadata without rewriting data, {_PROOFS[step.rests_on]}"
        case RewriteWithoutMapping():
            return f"rewrite {counted(step.files, step.size)} without column mapping"
        case Alteration():
            parts = (
                f"drop {_paths(step.drops)}" if step.drops else "",
                f"rename {_renames(step.renames)}" if step.renames else "",
                f"add {_adds(step.adds)}" if step.adds else "",
            )
            return f"{', then '.join(filter(None, parts))}, in one commit by this provider"
        case CreateTable():
            columns = ", ".join(f"{path_text((name,))} {data_type}" for name, data_type in step.columns)
            by = f", partitioned by {_names(step.partition_by)}" if step.partition_by else ""
            return f"create an empty table with {columns}{by}, tracked and mapped by name"
        case CommentTable():
            return (
                "remove the comment of the table"
                if step.text is None
                else f"set the comment of the table to {step.text!r}"
            )
        case AddConstraint():
            return f"add the CHECK constraint {step.name} ({step.expression}), after all rows were checked"
        case DropConstraint():
            return f"drop the CHECK constraint {step.name}"
        case ClusterBy():
            return f"cluster the table by {_paths(step.columns)}" if step.columns else "no longer cluster the table"
        case RewriteTable():
            return f"rewrite {counted(step.files, step.size)} with {', '.join(_rewritten(step))}"
        case InOneCommit():
            return "; ".join(map(action_of, step.steps))
        case _:
            return _on_columns(step)


def _on_columns(step: Step) -> str:
    match step:
        case AddColumns():
            return f"add {_adds(step.columns)}"
        case DropColumns():
            return f"drop {_paths(step.columns)}"
        case RenameColumn():
            return f"rename {_renames((step.column,))}"
        case RenameColumns():
            return f"rename {_renames(step.columns)}"
        case WidenColumns():
            columns = ", ".join(f"{path_text(column.parts)} {column.old} -> {column.new}" for column in step.columns)
            return f"widen {columns}"
        case OrderFields():
            where = f" of {path_text(step.parent)}" if step.parent else ""
            return f"put the columns{where} in the order {_names(step.names)}"
        case AllowNulls():
            return f"allow NULL in {_paths(step.columns)}"
        case ForbidNulls():
            return f"forbid NULL in {_paths(step.columns)}, after all rows were checked"
        case CommentColumns():
            return f"set the comment of {_texts(step.columns)}"
        case SetDefaults():
            return f"set the default of {_texts(step.columns)}"
        case _:
            raise TypeError(f"no explanation for {step!r}")


def _rewritten(step: RewriteTable) -> Iterator[str]:
    yield from (f"{path_text(cast.parts)} {cast.old} -> {cast.new}" for cast in step.casts)
    if step.partition_by is not None:
        yield f"partitioned by {_names(step.partition_by)}" if step.partition_by else "without partitions"
    if step.time_zone is not None:
        yield f"times in the zone {step.time_zone}"


def _names(names: Iterable[str]) -> str:
    return _paths((name,) for name in names)


def _paths(columns: Iterable[Parts]) -> str:
    return ", ".join(map(path_text, columns))


def _renames(columns: Iterable[ColumnName]) -> str:
    return ", ".join(f"{path_text(column.parts)} to {path_text((column.new,))}" for column in columns)


def _adds(columns: Iterable[NewColumn]) -> str:
    return ", ".join(f"{path_text(column.parts)} {column.type}" for column in columns)


def _texts(columns: Iterable[ColumnText]) -> str:
    return ", ".join(f"{path_text(c.parts)} to {'nothing' if c.text is None else repr(c.text)}" for c in columns)


def size_text(size: int) -> str:
    """Return a number of bytes in a readable unit."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def counted(files: int, size: int) -> str:
    """Return the number of data files and their total size, as a phrase."""
    return f"{files_text(files)} ({size_text(size)})"


def files_text(files: int) -> str:
    """Return the number of data files, as a phrase."""
    return "1 data file" if files == 1 else f"{files:,} data files"
