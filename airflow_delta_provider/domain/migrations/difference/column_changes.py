"""What is to be changed of the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_delta_provider.domain.changes.step import (
    Cast,
    ColumnName,
    ColumnText,
    ColumnType,
    NewColumn,
    Parts,
)
from airflow_delta_provider.domain.report.finding import Finding


@dataclass(frozen=True)
class Place:
    """A column by its path before the renames of the plan, and after them."""

    old: Parts
    new: Parts

    def below(self, old: str, new: str | None = None) -> Place:
        """Return the place of something in it, by its name before the renames and after them."""
        return Place((*self.old, old), (*self.new, old if new is None else new))


@dataclass(frozen=True)
class Addition:
    """A column to add.

    :param parent: the struct that gets it
    :param required: whether it is to be NOT NULL
    """

    parent: Place
    name: str
    type: str
    required: bool = False

    def column(self, *, renamed: bool) -> NewColumn:
        """Return it, by its path after the renames or before them."""
        return NewColumn((*(self.parent.new if renamed else self.parent.old), self.name), self.type)


@dataclass
class ColumnChanges:
    """What is to be changed of the columns. Paths are those after the renames, where a change says nothing else.

    :param renames: by the paths before, the deepest first
    :param rewritable: columns among those to be widened that may be rewritten, too
    :param casts: types that widening does not reach, of columns that may be rewritten
    :param orders: by the path of a struct, the names of its columns in their new order, and whether each is dropped
    :param required: columns that are to be NOT NULL
    :param renames_first: whether a column is added under a name that a rename frees
    :param drops_first: whether a column gets a name that a drop frees
    :param refusals: why the table cannot become what is declared
    """

    adds: list[Addition] = field(default_factory=list)
    renames: list[ColumnName] = field(default_factory=list)
    widenings: list[ColumnType] = field(default_factory=list)
    rewritable: list[Parts] = field(default_factory=list)
    casts: list[Cast] = field(default_factory=list)
    orders: list[tuple[Parts, tuple[tuple[str, bool], ...]]] = field(default_factory=list)
    nullable: list[Parts] = field(default_factory=list)
    required: list[Parts] = field(default_factory=list)
    comments: list[ColumnText] = field(default_factory=list)
    defaults: list[ColumnText] = field(default_factory=list)
    drops: list[Place] = field(default_factory=list)
    renames_first: bool = False
    drops_first: bool = False
    refusals: list[Finding] = field(default_factory=list)
