"""The steps of a plan: values that ``sql.py`` renders and ``explain.py`` describes.

Steps without SQL are committed by the provider itself.
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

    :param commits: commits expected
    """

    commits: int = field(default=1, kw_only=True)


@dataclass(frozen=True)
class SetProperties(Step):
    """Set table properties, in one commit (enabling row tracking on a table with files takes more).

    :param properties: (name, value) pairs, sorted
    :param enables: features that the step adds to the table, sorted
    """

    properties: tuple[tuple[str, str], ...]
    enables: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnType:
    """A column with its old and new type, by their SQL names."""

    parts: Parts
    old: str
    new: str


@dataclass(frozen=True)
class WidenColumns(Step):
    """Change the types of columns, all in one commit."""

    columns: tuple[ColumnType, ...]


@dataclass(frozen=True)
class TrackUsage(Step):
    """Enable usage tracking of column mapping.

    :param dropped_or_renamed: ``true`` or ``false``: the value of the property
    """

    dropped_or_renamed: str


@dataclass(frozen=True)
class MapColumns(Step):
    """Enable column mapping by name on a table with usage tracking."""


@dataclass(frozen=True)
class ColumnName:
    """A column and its new name; it keeps its place.

    :param parts: its path before
    """

    parts: Parts
    new: str

    @property
    def renamed(self) -> Parts:
        """Its path afterwards."""
        return (*self.parts[:-1], self.new)


@dataclass(frozen=True)
class NewColumn:
    """A column to add last in its struct, nullable, and its SQL type."""

    parts: Parts
    type: str

    @property
    def data_type(self) -> DataType:
        """Its type.

        :raises UnknownTypeError: if ``type`` is not a SQL type
        """
        return parse_sql_type(self.type)


@dataclass(frozen=True)
class DropColumns(Step):
    """Drop columns, by their paths, all in one commit."""

    columns: tuple[Parts, ...]


@dataclass(frozen=True)
class RenameColumn(Step):
    """Rename one column: SQL has no statement for several."""

    column: ColumnName


@dataclass(frozen=True)
class AddColumns(Step):
    """Add columns, all in one commit."""

    columns: tuple[NewColumn, ...]


@dataclass(frozen=True)
class Alteration(Step):
    """Drop, then rename, then add columns: each is named by its path in the schema that the changes before it leave.

    As a step it is one commit, for a table with usage tracking, which no engine changes.
    """

    drops: tuple[Parts, ...] = ()
    renames: tuple[ColumnName, ...] = ()
    adds: tuple[NewColumn, ...] = ()

    @property
    def drops_or_renames(self) -> bool:
        """Whether a physical name may afterwards differ from the logical one, or be free although files have it."""
        return bool(self.drops or self.renames)


@dataclass(frozen=True)
class CreateTable(Step):
    """Create an empty table with usage tracking of column mapping.

    :param columns: (name, SQL type) pairs, in their order
    :param partition_by: names of the partition columns
    """

    columns: tuple[tuple[str, str], ...]
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class DisableMapping(Step):
    """Disable column mapping in the metadata.

    :param rests_on: what proves that it is safe: ``history``, ``footers`` or ``no files``
    """

    rests_on: str


@dataclass(frozen=True)
class RewriteWithoutMapping(Step):
    """Let the engine rewrite every data file without column mapping.

    :param files: number of data files
    :param size: their total size in bytes
    """

    files: int
    size: int


@dataclass(frozen=True)
class DropFeature(Step):
    """Drop a table feature.

    :param truncate_history: delete the history with traces of it instead of protecting it
    :param without_sql: it has no SQL
    :param files: number of data files that are rewritten
    :param size: their total size in bytes
    """

    feature: str
    _: KW_ONLY
    truncate_history: bool = False
    without_sql: bool = False
    files: int = 0
    size: int = 0


@dataclass(frozen=True)
class UnsetProperties(Step):
    """Remove table properties.

    :param names: sorted
    """

    names: tuple[str, ...]


@dataclass(frozen=True)
class RenameColumns(Step):
    """Rename columns, all at once: names may be exchanged, and one may take the name that another gives up.

    Paths are those before any of the renames.
    """

    columns: tuple[ColumnName, ...]


@dataclass(frozen=True)
class OrderFields(Step):
    """Put the columns of the table, or the fields of a struct, in another order.

    :param parent: path of the struct; empty for the table
    :param names: all of its fields, in their new order
    """

    parent: Parts
    names: tuple[str, ...]


@dataclass(frozen=True)
class AllowNulls(Step):
    """Remove NOT NULL from columns."""

    columns: tuple[Parts, ...]


@dataclass(frozen=True)
class ForbidNulls(Step):
    """Set columns NOT NULL, after it was proven that none holds NULL."""

    columns: tuple[Parts, ...]


@dataclass(frozen=True)
class ColumnText:
    """A column and a text of it: a comment, or the expression of a default. None removes it."""

    parts: Parts
    text: str | None


@dataclass(frozen=True)
class CommentColumns(Step):
    """Set or remove the comments of columns."""

    columns: tuple[ColumnText, ...]


@dataclass(frozen=True)
class SetDefaults(Step):
    """Set or remove the defaults of columns: of rows written from then on."""

    columns: tuple[ColumnText, ...]


@dataclass(frozen=True)
class CommentTable(Step):
    """Set the comment of the table; None removes it."""

    text: str | None


@dataclass(frozen=True)
class AddConstraint(Step):
    """Add a CHECK constraint; the engine checks all rows first."""

    name: str
    expression: str


@dataclass(frozen=True)
class DropConstraint(Step):
    """Drop a CHECK constraint."""

    name: str


@dataclass(frozen=True)
class ClusterBy(Step):
    """Cluster what is written from then on by other columns; none ends it."""

    columns: tuple[Parts, ...]


@dataclass(frozen=True)
class Cast(ColumnType):
    """A column whose type or nullability changes by rewriting it.

    :param null_on_loss: whether values that the cast loses become NULL
    """

    null_on_loss: bool = False


@dataclass(frozen=True)
class RewriteTable(Step):
    """Rewrite all data files, in one transaction, with other types or another partitioning.

    :param casts: columns that get another type
    :param partition_by: partition columns afterwards; None where they stay
    :param time_zone: in which dates and times are read as moments, and written; None where no cast depends on it
    :param files: number of data files
    :param size: their total size in bytes
    """

    casts: tuple[Cast, ...]
    partition_by: tuple[str, ...] | None = None
    time_zone: str | None = None
    files: int = 0
    size: int = 0


@dataclass(frozen=True)
class InOneCommit(Step):
    """Several changes of metadata in one commit."""

    steps: tuple[Step, ...]


def each_step(planned: Iterable[Step]) -> Iterator[Step]:
    """Yield steps, and instead of those in one commit each of them."""
    for step in planned:
        if isinstance(step, InOneCommit):
            yield from step.steps
        else:
            yield step


def rewrites_files(step: Step) -> bool:
    """Whether a step of a migration writes data files again."""
    return isinstance(step, RewriteTable) or (isinstance(step, DropFeature) and step.files > 0)


def reads_rows(step: Step) -> bool:
    """Return True if the engine reads rows of the table to carry out a step."""
    return rewrites_files(step) or isinstance(step, (AddConstraint, DropFeature, ForbidNulls))
