"""The steps of a plan: inert values. ``sql.py`` renders them, ``jobs`` executes what is rendered.

What no SQL can do, ``jobs`` does in a commit of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from airflow_delta_provider.domain.delta.data_type import DataType
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type

#: A column's names from the top-level column down, with ``element``, ``key`` and ``value`` on the way.
Parts = tuple[str, ...]


@dataclass(frozen=True)
class SetProperties:
    """Set table properties, in one commit (enabling row tracking on a table with files takes more).

    :param properties: (name, value) pairs, sorted
    :param enables: features that the table has afterwards and had not before, sorted
    :param commits: commits expected
    """

    properties: tuple[tuple[str, str], ...]
    enables: tuple[str, ...] = ()
    commits: int = 1


@dataclass(frozen=True)
class ColumnType:
    """A column and the type it gets; types by their SQL names."""

    parts: Parts
    old: str
    new: str


@dataclass(frozen=True)
class WidenColumns:
    """Change the types of columns, all in one commit."""

    columns: tuple[ColumnType, ...]
    commits: int = 1


@dataclass(frozen=True)
class TrackUsage:
    """Switch usage tracking of column mapping on.

    :param dropped_or_renamed: ``true`` or ``false``: what the property says from then on
    """

    dropped_or_renamed: str
    commits: int = 1


@dataclass(frozen=True)
class MapColumns:
    """Switch column mapping on, by name, on a table with usage tracking."""

    commits: int = 1


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
class DropColumns:
    """Drop columns, by their paths, all in one commit."""

    columns: tuple[Parts, ...]
    commits: int = 1


@dataclass(frozen=True)
class RenameColumn:
    """Rename one column: SQL has no statement for several."""

    column: ColumnName
    commits: int = 1


@dataclass(frozen=True)
class AddColumns:
    """Add columns, all in one commit."""

    columns: tuple[NewColumn, ...]
    commits: int = 1


@dataclass(frozen=True)
class AlterColumns:
    """Drop, then rename, then add columns: each is named by its path in the schema that the changes before it leave.

    As a step it is one commit, for a table with usage tracking, which no engine changes.
    """

    drops: tuple[Parts, ...] = ()
    renames: tuple[ColumnName, ...] = ()
    adds: tuple[NewColumn, ...] = ()
    commits: int = 1

    @property
    def drops_or_renames(self) -> bool:
        """Whether a physical name may afterwards differ from the logical one, or be free although files have it."""
        return bool(self.drops or self.renames)


@dataclass(frozen=True)
class CreateTable:
    """Create an empty table with usage tracking of column mapping.

    :param columns: (name, SQL type) pairs, in their order
    :param partition_by: names of those that it is partitioned by
    """

    columns: tuple[tuple[str, str], ...]
    partition_by: tuple[str, ...] = ()
    commits: int = 1


@dataclass(frozen=True)
class DisableMapping:
    """Take column mapping out of the metadata.

    :param rests_on: what proves that it is safe: ``history``, ``footers`` or ``no files``
    """

    rests_on: str
    commits: int = 1


@dataclass(frozen=True)
class RewriteWithoutMapping:
    """Let the engine write every data file anew, without column mapping.

    :param files: how many files that is
    :param size: bytes of them
    """

    files: int
    size: int
    commits: int = 1


@dataclass(frozen=True)
class DropFeature:
    """Drop a table feature.

    :param truncate_history: delete the history that has traces of it, in place of protecting it
    :param by_hand: no SQL can do it
    :param files: data files that are rewritten
    :param size: how large those are, in bytes
    :param commits: commits expected
    """

    feature: str
    truncate_history: bool = False
    by_hand: bool = False
    files: int = 0
    size: int = 0
    commits: int = 1


Step = Union[
    SetProperties,
    WidenColumns,
    DropColumns,
    RenameColumn,
    AddColumns,
    AlterColumns,
    TrackUsage,
    MapColumns,
    CreateTable,
    DisableMapping,
    RewriteWithoutMapping,
    DropFeature,
]
