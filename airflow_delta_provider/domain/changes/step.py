"""A step of a plan, which knows its SQL, its sentence, its effects and the metadata after it; values in steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.data_type import DataType, path_text
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_state import CommitBase, TableState
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import counted, quote

Json = dict[str, Any]
#: A column's names from the top-level column down, with ``element``, ``key`` and ``value`` on the way.
Parts = tuple[str, ...]

RESTORE = "RESTORE to the version before, which also takes away all rows written since"


@dataclass(frozen=True)
class ColumnType:
    """A column with its old and new type, as SQL names."""

    parts: Parts
    old: str
    new: str


@dataclass(frozen=True)
class Cast(ColumnType):
    """A column whose type or nullability changes in a rewrite.

    :param null_on_loss: True if values that the cast loses become NULL
    """

    null_on_loss: bool = False


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
class ColumnText:
    """A column and its comment or default expression; None removes it."""

    parts: Parts
    text: str | None


@dataclass(frozen=True)
class Effects:
    """The wider effects of a step.

    :param metadata_only: True if no data file is read or written
    :param files: number of data files to rewrite
    :param size: total size of those files in bytes
    :param undo: sentences on how to undo the step
    :param breaks: sentences on what breaks downstream
    """

    metadata_only: bool = True
    files: int = 0
    size: int = 0
    undo: str = f"Declare the state before; or {RESTORE}."
    breaks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edit:
    """A change of protocol and metadata, in one commit by this provider.

    :param operation: name of the operation, Delta Spark's own if it has one
    :param parameters: parameters of the operation; values that are not strings are written as JSON strings, as Delta
        Spark does
    :param protocol: new protocol; None if it stays
    :param schema_string: new schema, as JSON; None if it stays
    """

    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    protocol: Protocol | None = None
    schema_string: str | None = None
    set_properties: Mapping[str, str] = field(default_factory=dict)
    unset_properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """A step of a plan: an inert value.

    A new step is a subclass with ``action``, and with ``clause`` or ``sql``. The other methods have defaults for a
    change of metadata that breaks nobody.

    :param commits: expected number of commits
    """

    #: End of its explanation.
    remark: ClassVar[str] = ""
    #: True if the engine may store an expression of the step, and then fail to evaluate it.
    stores_expressions: ClassVar[bool] = False
    #: True if the step breaks no reader or writer, whatever its values are.
    breaks_nobody: ClassVar[bool] = False
    #: True if a migration makes the change in one commit together with its neighbours.
    joins_others: ClassVar[bool] = False

    commits: int = field(default=1, kw_only=True)

    @property
    def action(self) -> str:
        """A description of the step without its number of commits."""
        raise NotImplementedError(f"no description of {self!r}")

    @property
    def explanation(self) -> str:
        """A one-line description of the step with its number of commits."""
        commits = "1 commit" if self.commits == 1 else f"about {self.commits} commits"
        return f"{self.action} ({commits}{self.remark})"

    @property
    def clause(self) -> str:
        """The part of its statement after ``ALTER TABLE`` and the table's name."""
        raise NotImplementedError(f"no SQL for {self!r}")

    def sql(self, table: TableName) -> str | None:
        """Return its statement; None if it has no SQL."""
        return f"ALTER TABLE {table.sql} {self.clause}"

    @property
    def can_be_rehearsed(self) -> bool:
        """True if an engine can execute the step on a private empty table, which has neither history nor files."""
        return True

    @property
    def is_additive(self) -> bool:
        """True if the step breaks no reader or writer."""
        return self.breaks_nobody

    @property
    def rewrites_files(self) -> bool:
        return False

    @property
    def reads_rows(self) -> bool:
        """True if the engine reads rows of the table to execute the step."""
        return self.rewrites_files

    @property
    def new_types(self) -> tuple[str, ...]:
        """SQL types of columns that it adds or changes."""
        return ()

    @property
    def new_properties(self) -> Mapping[str, str]:
        """Table properties that it sets: they may put features in use."""
        return {}

    @property
    def for_readers(self) -> Mapping[Parts, str]:
        """Columns that it changes for their readers, each with the end of a sentence."""
        return {}

    def effects(self, before: TableState) -> Effects:
        """Return its wider effects.

        :param before: state that the plan was made on
        """
        return Effects()

    def edited(self, metadata: Json) -> Json:
        """Return the metaData action after the step; ``metadata`` itself is not modified.

        New columns have neither ids nor physical names: the engine assigns them.

        :param metadata: JSON of the action
        :raises LookupError: if a column of the step does not exist
        """
        return metadata

    def edit(self, base: CommitBase) -> Edit:
        """Return the change for a step that this provider commits, on the version that it follows.

        :raises BrokenLogError: if the schema is damaged
        """
        raise TypeError(f"no edit for {self!r} after version {base.state.version}")

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        """Return its changes, as fields of ``PlannedMigration``.

        :param origin: function from a column's path to its path before all renames of the plan
        """
        return {}

    def path_before(self, path: Parts) -> Parts | None:
        """Return the path that a column had before the step; None if the step adds the column."""
        return path


def quoted_path(parts: Parts) -> str:
    return ".".join(map(quote, parts))


def quoted_paths(columns: Iterable[Parts]) -> str:
    return ", ".join(map(quoted_path, columns))


def path_texts(columns: Iterable[Parts]) -> str:
    """Return paths as people read them."""
    return ", ".join(map(path_text, columns))


def rename_texts(columns: Iterable[ColumnName]) -> str:
    """Return renames as people read them."""
    return ", ".join(f"{path_text(column.parts)} to {path_text((column.new,))}" for column in columns)


def new_column_texts(columns: Iterable[NewColumn]) -> str:
    """Return new columns with their types, as people read them."""
    return ", ".join(f"{path_text(column.parts)} {column.type}" for column in columns)


def size_text(size: int) -> str:
    """Return a number of bytes in a readable unit."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def files_and_size(files: int, size: int) -> str:
    """Return the number of data files and their total size, as a phrase."""
    return f"{counted(files, 'data file')} ({size_text(size)})"
