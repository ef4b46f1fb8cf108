"""What is to be changed of the columns of a table, in the order in which it happens: drop, rename, add."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.domain.delta.data_type import DataType

#: A column's names from the top-level column down, with ``element``, ``key`` and ``value`` on the way.
Parts = tuple[str, ...]


@dataclass(frozen=True)
class RenameColumn:
    """A column that gets another name, in its place.

    :param parts: its path when its turn comes
    """

    parts: Parts
    new: str

    @property
    def renamed(self) -> Parts:
        """Its path afterwards."""
        return (*self.parts[:-1], self.new)


@dataclass(frozen=True)
class AddColumn:
    """A column that is added last in its struct, nullable.

    :param parts: its path, in the schema as it is after all drops and renames
    """

    parts: Parts
    data_type: DataType


@dataclass(frozen=True)
class Alteration:
    """Changes of one table's columns; each names a column by its path in the schema that the changes before leave.

    :param drops: paths of the columns that go
    """

    drops: tuple[Parts, ...] = ()
    renames: tuple[RenameColumn, ...] = ()
    adds: tuple[AddColumn, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be changed."""
        return not (self.drops or self.renames or self.adds)

    @property
    def drops_or_renames(self) -> bool:
        """Whether a physical name may no longer be the logical one, or free without being unused, afterwards."""
        return bool(self.drops or self.renames)
