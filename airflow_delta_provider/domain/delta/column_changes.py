"""Which columns a commit drops and renames, going by their ids, at any depth. RFC, delta-io/delta#2682.

``column_changes`` gives them, parents before children; of a dropped column those below it are left out.
``physical_paths`` gives where the columns of a schema lie in data files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema, PhysicalPath


class ChangeKind(str, Enum):
    """What a commit does to a column."""

    DROPPED = "dropped"
    RENAMED = "renamed"


@dataclass(frozen=True)
class ColumnChange:
    """One column before and after a commit.

    :param now: None of one that was dropped
    """

    kind: ChangeKind
    was: MappedField
    now: MappedField | None = None

    @property
    def text(self) -> str:
        """What the commit does, as a verb and its objects."""
        return f"drops {self.was.column}" if self.now is None else f"renames {self.was.column} to {self.now.column}"


def column_changes(before: MappedSchema, after: MappedSchema) -> Iterator[ColumnChange]:
    """Yield what a commit does to the columns that there were before it.

    Where one of the two has no mapping, there are no ids to go by: then a column is dropped whose name is gone.
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
    """Return the fields of a schema by where they lie in data files: without mapping, under their own names."""
    if not schema.is_mapped:
        return {field.column.parts: field for field in schema.fields}
    return {field.path: field for field in schema.fields if field.path is not None}
