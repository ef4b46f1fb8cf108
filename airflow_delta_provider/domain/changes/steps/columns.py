"""Steps that change columns, and their edits of a schema as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from airflow_delta_provider.domain.changes.schema import (
    add_column,
    cast_field,
    drop_columns,
    edit_columns,
    edit_schema,
    edit_struct,
    rename_columns,
    update_statistics_columns,
)
from airflow_delta_provider.domain.changes.step import (
    RESTORE,
    ColumnName,
    ColumnText,
    ColumnType,
    Effects,
    Json,
    NewColumn,
    Parts,
    Step,
    new_column_texts,
    path_texts,
    quoted_path,
    quoted_paths,
    rename_texts,
)
from airflow_delta_provider.domain.checks.migrations.planned import (
    CHANGE_DATA_BREAKS,
    STREAM_BREAKS,
    STREAMS_RESTART,
    AddedColumn,
    RenamedColumn,
    RetypedColumn,
)
from airflow_delta_provider.domain.delta.data_type import lowered, path_text
from airflow_delta_provider.domain.delta.expression import refers_to
from airflow_delta_provider.domain.delta.features.columns import GENERATED_COLUMNS, TYPE_CHANGES_KEY
from airflow_delta_provider.domain.delta.metadata import COMMENT, CURRENT_DEFAULT, PhysicalPath
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import literal, quote

_VIEWS = "Views and queries that name {columns} fail."
RETYPED = "becomes {}: it fails or overflows until it is created again"


@dataclass(frozen=True)
class AddColumns(Step):
    """Adds columns, all in one commit."""

    joins_others: ClassVar[bool] = True
    breaks_nobody: ClassVar[bool] = True

    columns: tuple[NewColumn, ...]

    @property
    def action(self) -> str:
        return f"add {new_column_texts(self.columns)}"

    @property
    def clause(self) -> str:
        return f"ADD COLUMNS ({', '.join(f'{quoted_path(column.parts)} {column.type}' for column in self.columns)})"

    @property
    def new_types(self) -> tuple[str, ...]:
        return tuple(column.type for column in self.columns)

    def effects(self, before: TableState) -> Effects:
        return Effects(
            undo=f"Declare the column as dropped, which needs column mapping; or {RESTORE}.",
            breaks=(STREAMS_RESTART, "Writers that insert by position with the old number of columns fail."),
        )

    def edited(self, metadata: Json) -> Json:
        return edit_schema(metadata, add_column, self.columns)

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"added": tuple(AddedColumn(column.parts, column.data_type) for column in self.columns)}

    def path_before(self, path: Parts) -> Parts | None:
        new = [lowered(column.parts) for column in self.columns]
        return None if any(lowered(path)[: len(each)] == each for each in new) else path


@dataclass(frozen=True)
class DropColumns(Step):
    """Drops columns, by their paths, all in one commit."""

    joins_others: ClassVar[bool] = True

    columns: tuple[Parts, ...]

    @property
    def action(self) -> str:
        return f"drop {path_texts(self.columns)}"

    @property
    def clause(self) -> str:
        return f"DROP COLUMNS ({quoted_paths(self.columns)})"

    @property
    def for_readers(self) -> Mapping[Parts, str]:
        return dict.fromkeys(self.columns, "is dropped: it fails")

    def effects(self, before: TableState) -> Effects:
        generated = before.metadata.column_texts(GENERATED_COLUMNS.field_key)
        return Effects(
            undo=f"{RESTORE}. Files keep the values until they are rewritten.",
            breaks=(
                STREAM_BREAKS.effect,
                *_change_data(before),
                _VIEWS.format(columns=path_texts(self.columns)),
                *(
                    f"The generated column {column} needs it."
                    for column, text in generated
                    if any(refers_to(text, parts) for parts in self.columns)
                ),
            ),
        )

    def edited(self, metadata: Json) -> Json:
        return update_statistics_columns(edit_schema(metadata, drop_columns, [self.columns]), drops=self.columns)

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"dropped": tuple(map(origin, self.columns))}


@dataclass(frozen=True)
class RenameColumn(Step):
    """Renames one column: SQL has no statement for several."""

    column: ColumnName

    @property
    def action(self) -> str:
        return f"rename {rename_texts((self.column,))}"

    @property
    def clause(self) -> str:
        return f"RENAME COLUMN {quoted_path(self.column.parts)} TO {quote(self.column.new)}"


@dataclass(frozen=True)
class RenameColumns(Step):
    """Renames columns all at once, so columns may swap names or reuse a name that another gives up.

    All paths are those before the renames.
    """

    joins_others: ClassVar[bool] = True

    columns: tuple[ColumnName, ...]

    @property
    def action(self) -> str:
        return f"rename {rename_texts(self.columns)}"

    def sql(self, table: TableName) -> str | None:
        return ";\n".join(f"ALTER TABLE {table.sql} {RenameColumn(column).clause}" for column in self._one_by_one())

    def _one_by_one(self) -> Iterable[ColumnName]:
        """Return one rename per column. Columns that swap names first get an unused temporary name."""
        taken = {lowered(column.parts) for column in self.columns}
        first, last = [], []
        for index, column in enumerate(self.columns):
            if lowered(column.renamed) in taken and lowered(column.renamed) != lowered(column.parts):
                passing = ColumnName(column.parts, f"_renaming_{index}")
                first.append(passing)
                last.append(ColumnName(passing.renamed, column.new))
            else:
                last.append(column)
        return (*first, *last)

    @property
    def for_readers(self) -> Mapping[Parts, str]:
        text = "is renamed to {}: it fails until it is created again"
        return {column.parts: text.format(column.new) for column in self.columns}

    def effects(self, before: TableState) -> Effects:
        columns = path_texts(column.parts for column in self.columns)
        return Effects(
            undo=f"Rename back; or {RESTORE}.",
            breaks=(STREAM_BREAKS.effect, *_change_data(before), _VIEWS.format(columns=columns)),
        )

    def edited(self, metadata: Json) -> Json:
        return _with_names(metadata, self.columns)

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        new = {column.parts: column.new for column in self.columns}
        renamed = (RenamedColumn(origin(path), renamed_path(path, new)) for path in new)
        return {"renamed": tuple(each for each in renamed if each.old != each.new)}

    def path_before(self, path: Parts) -> Parts:
        old: Parts = ()
        for name in path:
            names = (
                column.parts[-1]
                for column in self.columns
                if lowered(column.parts[:-1]) == lowered(old) and column.new.lower() == name.lower()
            )
            old = (*old, next(names, name))
        return old


@dataclass(frozen=True)
class _AlterColumns(Step):
    """A statement that alters columns one after another."""

    @property
    def clause(self) -> str:
        return f"ALTER COLUMN {', '.join(self._clauses())}"

    def _clauses(self) -> Iterator[str]:
        """Yield the text after ``ALTER COLUMN`` for each column."""
        raise NotImplementedError


@dataclass(frozen=True)
class WidenColumns(_AlterColumns):
    """Changes the types of columns, all in one commit."""

    joins_others: ClassVar[bool] = True

    columns: tuple[ColumnType, ...]

    @property
    def action(self) -> str:
        return f"widen {', '.join(f'{path_text(c.parts)} {c.old} -> {c.new}' for c in self.columns)}"

    def _clauses(self) -> Iterator[str]:
        return (f"{quoted_path(column.parts)} TYPE {column.new}" for column in self.columns)

    @property
    def new_types(self) -> tuple[str, ...]:
        return tuple(column.new for column in self.columns)

    @property
    def for_readers(self) -> Mapping[Parts, str]:
        return {column.parts: RETYPED.format(column.new) for column in self.columns}

    def effects(self, before: TableState) -> Effects:
        return Effects(
            undo=f"Not by a change of types: copy the rows to a new table. Or {RESTORE}; the table feature stays.",
            breaks=(
                STREAMS_RESTART,
                *_change_data(before),
                "Readers that do not know type widening cannot read the table.",
                "Readers with the old type in their own schema may overflow.",
            ),
        )

    def edited(self, metadata: Json) -> Json:
        # Each change is recorded on the nearest struct field. PROTOCOL.md, Type Change Metadata.
        return edit_columns(metadata, ((column.parts, partial(_widened, column)) for column in self.columns))

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"retyped": tuple(retyped(column, origin) for column in self.columns)}


@dataclass(frozen=True)
class OrderFields(_AlterColumns):
    """Reorders the columns of the table, or the fields of a struct.

    :param parent: path of the struct; empty for the table
    :param names: names of all its fields, in their new order
    """

    joins_others: ClassVar[bool] = True
    breaks_nobody: ClassVar[bool] = True

    parent: Parts
    names: tuple[str, ...]

    @property
    def action(self) -> str:
        where = f" of {path_text(self.parent)}" if self.parent else ""
        return f"put the columns{where} in the order {path_texts((name,) for name in self.names)}"

    def _clauses(self) -> Iterator[str]:
        places = ["FIRST", *(f"AFTER {quote(name)}" for name in self.names)]
        return (f"{quoted_path((*self.parent, name))} {place}" for name, place in zip(self.names, places))

    def effects(self, before: TableState) -> Effects:
        return Effects(
            undo=f"Declare the old order; or {RESTORE}.",
            breaks=("Writers that insert by position write other columns.", "Readers of SELECT * see another order."),
        )

    def edited(self, metadata: Json) -> Json:
        place = {name.lower(): index for index, name in enumerate(self.names)}
        return edit_schema(
            metadata, lambda schema, parent: edit_struct(schema, parent, partial(_ordered, place)), [self.parent]
        )

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"reordered": (origin(self.parent),)}


@dataclass(frozen=True)
class AllowNulls(_AlterColumns):
    """Removes NOT NULL from columns."""

    joins_others: ClassVar[bool] = True
    breaks_nobody: ClassVar[bool] = True

    columns: tuple[Parts, ...]

    @property
    def action(self) -> str:
        return f"allow NULL in {path_texts(self.columns)}"

    def _clauses(self) -> Iterator[str]:
        return (f"{quoted_path(parts)} DROP NOT NULL" for parts in self.columns)

    def edited(self, metadata: Json) -> Json:
        return edit_columns(metadata, ((parts, partial(_nullable, True)) for parts in self.columns))

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"nulls_allowed": tuple(map(origin, self.columns))}


@dataclass(frozen=True)
class ForbidNulls(_AlterColumns):
    """Sets columns NOT NULL, after it was proven that none contains NULL."""

    columns: tuple[Parts, ...]

    @property
    def action(self) -> str:
        return f"forbid NULL in {path_texts(self.columns)}, after all rows were checked"

    def _clauses(self) -> Iterator[str]:
        return (f"{quoted_path(parts)} SET NOT NULL" for parts in self.columns)

    @property
    def reads_rows(self) -> bool:
        return True

    def effects(self, before: TableState) -> Effects:
        return Effects(
            metadata_only=False,
            undo="Declare the columns nullable.",
            breaks=("Writers that leave the column out, or write NULL, fail.",),
        )

    def edited(self, metadata: Json) -> Json:
        return edit_columns(metadata, ((parts, partial(_nullable, False)) for parts in self.columns))

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"nulls_forbidden": tuple(map(origin, self.columns))}


@dataclass(frozen=True)
class CommentColumns(_AlterColumns):
    """Sets or removes the comments of columns."""

    joins_others: ClassVar[bool] = True
    breaks_nobody: ClassVar[bool] = True

    columns: tuple[ColumnText, ...]

    @property
    def action(self) -> str:
        return f"set the comment of {_texts(self.columns)}"

    def _clauses(self) -> Iterator[str]:
        return (f"{quoted_path(column.parts)} COMMENT {literal(column.text or '')}" for column in self.columns)

    def edited(self, metadata: Json) -> Json:
        return edit_columns(metadata, ((c.parts, partial(_with_text, COMMENT, c.text)) for c in self.columns))


@dataclass(frozen=True)
class SetDefaults(_AlterColumns):
    """Sets or removes the defaults of columns, for rows written from then on."""

    joins_others: ClassVar[bool] = True
    breaks_nobody: ClassVar[bool] = True
    stores_expressions: ClassVar[bool] = True

    columns: tuple[ColumnText, ...]

    @property
    def action(self) -> str:
        return f"set the default of {_texts(self.columns)}"

    def _clauses(self) -> Iterator[str]:
        changes = ((c.parts, "DROP DEFAULT" if c.text is None else f"SET DEFAULT {c.text}") for c in self.columns)
        return (f"{quoted_path(parts)} {change}" for parts, change in changes)

    def edited(self, metadata: Json) -> Json:
        texts = ((column.parts, partial(_with_text, CURRENT_DEFAULT, column.text)) for column in self.columns)
        return edit_columns(metadata, texts)

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"defaults": {origin(c.parts): c.text for c in self.columns if c.text is not None}}


def renamed_path(path: Parts, renames: Mapping[Parts, str]) -> Parts:
    """Return a path after all renames, which name columns by their paths before."""
    return tuple(renames.get(path[: length + 1], path[length]) for length in range(len(path)))


def retyped(column: ColumnType, origin: Callable[[Parts], Parts], *, null_on_loss: bool = False) -> RetypedColumn:
    return RetypedColumn(origin(column.parts), parse_sql_type(column.old), parse_sql_type(column.new), null_on_loss)


def _texts(columns: Iterable[ColumnText]) -> str:
    return ", ".join(f"{path_text(c.parts)} to {'nothing' if c.text is None else repr(c.text)}" for c in columns)


def _change_data(before: TableState) -> Iterator[str]:
    if before.metadata.properties.change_data_feed:
        yield CHANGE_DATA_BREAKS.effect


def _with_names(metadata: Json, columns: Sequence[ColumnName]) -> Json:
    """Rename columns, with paths before any rename."""
    top = {column.parts[0].lower(): column.new for column in columns if len(column.parts) == 1}
    partitions = [top.get(name.lower(), name) for name in metadata.get("partitionColumns", ())]
    renamed = edit_schema(metadata, rename_columns, [columns])
    return update_statistics_columns({**renamed, "partitionColumns": partitions}, renames=columns)


def _with_text(key: str, text: str | None, field: Json, _: Parts) -> Json:
    others = {name: value for name, value in (field.get("metadata") or {}).items() if name != key}
    return {**field, "metadata": others if text is None else {**others, key: text}}


def _nullable(nullable: bool, field: Json, _: Parts) -> Json:
    return {**field, "nullable": nullable}


def _ordered(place: Mapping[str, int], struct: Json, _: PhysicalPath) -> Json:
    return {**struct, "fields": sorted(struct["fields"], key=lambda field: place[field["name"].lower()])}


def _widened(column: ColumnType, field: Json, below: Parts) -> Json:
    old, new = parse_sql_type(column.old), parse_sql_type(column.new)
    change = {"fromType": str(old), "toType": str(new)}
    if below:
        change["fieldPath"] = ".".join(below)
    metadata = field.get("metadata") or {}
    recorded = [*metadata.get(TYPE_CHANGES_KEY, ()), change]
    return {**cast_field(column.new, field, below), "metadata": {**metadata, TYPE_CHANGES_KEY: recorded}}
