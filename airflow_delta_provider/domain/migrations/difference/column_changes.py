"""What is to be changed of the columns of a table, and what is declared of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from airflow_delta_provider.domain.changes.step import Cast, ColumnName, ColumnText, ColumnType, NewColumn, Parts
from airflow_delta_provider.domain.delta.data_type import StructField, StructType
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.spec.table_spec import ColumnSpec


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


@dataclass(eq=False)
class Member:
    """A column of the table, one that is declared, or both.

    :param old: as the table has it; None where it is to be added
    :param spec: as it is declared; None where nothing is said of it
    :param goes: whether it is to be dropped
    """

    old: StructField | None
    spec: ColumnSpec | None = None
    goes: bool = False

    @property
    def old_name(self) -> str:
        """What it is called before the renames."""
        return self.old.name if self.old is not None else self.name

    @property
    def name(self) -> str:
        """What it is called afterwards: a name in another case is not another name, unless it is said to be."""
        if self.old is None or self.is_renamed:
            assert self.spec is not None
            return self.spec.name
        return self.old.name

    @property
    def is_renamed(self) -> bool:
        """Whether it gets another name."""
        if self.old is None or self.spec is None or not isinstance(self.spec.renamed_from, str):
            return False
        return self.old.name.lower() == self.spec.renamed_from.lower() and self.old.name != self.spec.name


def members_of(struct: StructType, named: Sequence[ColumnSpec]) -> list[Member]:
    """Return the columns of a struct in its order, then those that are to be added.

    A column is still to be renamed if it has its old name, and nothing has the new one or nothing else is declared to
    have the old one.
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
