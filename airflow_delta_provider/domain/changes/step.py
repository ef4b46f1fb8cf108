"""The steps of a plan: values that ``sql.py`` renders and ``explain.py`` describes.

The provider itself commits steps that have no SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field

from airflow_delta_provider.domain.delta.data_type import DataType
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type

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
