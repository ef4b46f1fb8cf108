"""The columns of a struct: those that a table has, and those that its spec declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.data_type import (
    StructField,
    StructType,
)
from airflow_delta_provider.domain.spec.table_spec import (
    ColumnSpec,
)


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
