"""The changes that the columns of a table need, and the declaration of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from airflow_delta_provider.domain.changes.step import Cast, ColumnName, ColumnText, ColumnType, NewColumn, Parts
from airflow_delta_provider.domain.delta.data_type import StructField, StructType
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.spec.table_spec import ColumnSpec


@dataclass(frozen=True)
class Place:
    """A column's path before the renames of the plan, and its path after them."""

    old: Parts
    new: Parts

    def below(self, old: str, new: str | None = None) -> Place:
        """Return the place of a child, by its name before the renames and after them.

        :param new: name after the renames; None if it stays
        """
        return Place((*self.old, old), (*self.new, old if new is None else new))


@dataclass(frozen=True)
class Addition:
    """A column to add.

    :param parent: struct that gets the column
    :param required: True if the column is to be NOT NULL
    """

    parent: Place
    name: str
    type: str
    required: bool = False

    def column(self, *, renamed: bool) -> NewColumn:
        """Return the new column, by its path after the renames or before them."""
        return NewColumn((*(self.parent.new if renamed else self.parent.old), self.name), self.type)


@dataclass
class ColumnChanges:
    """The changes that the columns need. Unless noted, paths are those after the renames.

    :param renames: renames, by the paths before, deepest first
    :param rewritable: columns to widen that may also be rewritten
    :param casts: type changes that widening cannot do, for columns that may be rewritten
    :param orders: paths of structs, each with (name, is dropped) pairs of its columns in their new order
    :param required: columns that are to be NOT NULL
    :param renames_first: True if a column is added under a name that a rename frees
    :param drops_first: True if a column gets a name that a drop frees
    :param refusals: reasons why the table cannot reach the declared state
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


@dataclass(eq=False)
class Member:
    """A column that is in the table, in the spec, or in both.

    :param old: column in the table; None if it is to be added
    :param spec: declaration; None if the spec does not name the column
    :param goes: True if the column is to be dropped
    """

    old: StructField | None
    spec: ColumnSpec | None = None
    goes: bool = False

    @property
    def old_name(self) -> str:
        """The name before the renames."""
        return self.old.name if self.old is not None else self.name

    @property
    def name(self) -> str:
        """The name after the renames. A change of case only counts if the spec declares it as a rename."""
        if self.old is None or self.is_renamed:
            assert self.spec is not None
            return self.spec.name
        return self.old.name

    @property
    def is_renamed(self) -> bool:
        if self.old is None or self.spec is None or not isinstance(self.spec.renamed_from, str):
            return False
        return self.old.name.lower() == self.spec.renamed_from.lower() and self.old.name != self.spec.name


def members_of(struct: StructType, named: Sequence[ColumnSpec]) -> list[Member]:
    """Return the columns of a struct in its order, then the columns to add.

    A column with its old name is still to be renamed if no column has the new name, or if no other declaration claims
    the old name.
    """
    members = {column.name.lower(): Member(column) for column in struct.fields}
    declared = {spec.name.lower() for spec in named}
    for spec in named:
        old = spec.renamed_from.lower() if isinstance(spec.renamed_from, str) else ""
        if old in members and (spec.name.lower() not in members or old not in declared):
            members[old].spec = spec
    taken = {id(member.spec) for member in members.values()}
    added = []
    for spec in named:
        member = members.get(spec.name.lower())
        if id(spec) in taken:
            continue
        if member is None or member.spec is not None:
            added.append(Member(None, spec))
        else:
            member.spec = spec
    return [*members.values(), *added]
