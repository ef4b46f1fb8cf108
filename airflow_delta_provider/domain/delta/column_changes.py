"""The columns that a commit drops and renames, matched by id, at any depth.

RFC, delta-io/delta#2682. ``column_changes`` yields them, parents before children, without the children of a dropped
column. ``physical_paths`` returns the columns of a schema by their place in data files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema, PhysicalPath


class ChangeKind(str, Enum):
    """A kind of change of a column."""

    DROPPED = "dropped"
    RENAMED = "renamed"


@dataclass(frozen=True)
class ColumnChange:
    """One column before and after a commit.

    :param now: column after the commit; None if it was dropped
    """

    kind: ChangeKind
    was: MappedField
    now: MappedField | None = None

    @property
    def text(self) -> str:
        """The change as a verb and its objects."""
        return f"drops {self.was.column}" if self.now is None else f"renames {self.was.column} to {self.now.column}"


def column_changes(before: MappedSchema, after: MappedSchema) -> Iterator[ColumnChange]:
    """Yield the changes of a commit to the columns that existed before it.

    If one of the schemas has no mapping, there are no ids to compare. A column then counts as dropped if its name is
    missing.
    """
    gone: list[tuple[str, ...]] = []
    by_id = before.is_mapped and after.is_mapped
    names = {field.column.parts for field in after.fields}
    for was in before.fields:
        if any(was.column.parts[: len(parts)] == parts for parts in gone):
            continue
        if not by_id:
            dropped, now = was.column.parts not in names, None
        elif was.id is None or was.id not in before.by_id:
            continue
        else:
            dropped, now = was.id not in after.ids, after.by_id.get(was.id)
        if dropped:
            gone.append(was.column.parts)
            yield ColumnChange(ChangeKind.DROPPED, was)
        elif now is not None and now.column.field.name != was.column.field.name:
            yield ColumnChange(ChangeKind.RENAMED, was, now)


def physical_paths(schema: MappedSchema) -> dict[PhysicalPath, MappedField]:
    """Return the fields of a schema by their paths in data files; without mapping, by their own names."""
    if not schema.is_mapped:
        return {field.column.parts: field for field in schema.fields}
    return {field.path: field for field in schema.fields if field.path is not None}
