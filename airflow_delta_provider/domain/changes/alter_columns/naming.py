"""The names in data files of columns that are added.

RFC Column Mapping Usage Tracking, Writer Requirements for Column Mapping. If no column was ever dropped or renamed, a
column keeps its own name in data files; but never a name under which a file may have other values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import uuid4

from airflow_delta_provider.domain.delta.column import folded
from airflow_delta_provider.domain.delta.column_mapping import is_plain_name
from airflow_delta_provider.domain.delta.mapped_schema import PhysicalPath

#: Columns that change data files have in addition to those of the table. PROTOCOL.md, Add CDC File.
CHANGE_DATA_NAMES = ("_change_type", "_commit_version", "_commit_timestamp")


def random_name() -> str:
    """Return a physical name that no column ever had."""
    return f"col-{uuid4()}"


@dataclass(frozen=True, kw_only=True)
class Naming:
    """The physical names that one commit assigns to the columns that it adds.

    :param unique: whether every name gets a UUID, because a column was dropped or renamed, at the latest by this commit
    :param taken: folded paths of all columns that exist or ever existed: no new column may have one
    :param new_name: makes a name with a UUID
    """

    unique: bool
    taken: frozenset[PhysicalPath]
    new_name: Callable[[], str] = random_name

    def physical_name(self, name: str, above: PhysicalPath) -> str:
        """Return the physical name of a new column.

        :param above: physical path of its parent
        """
        if self.unique or not is_plain_name(name) or folded((*above, name)) in self.taken:
            return self.new_name()
        return name


def taken_paths(paths: Iterable[PhysicalPath], reserved: Iterable[str]) -> frozenset[PhysicalPath]:
    """Return the folded paths that no new column may have.

    :param paths: physical paths of all columns that exist or ever existed
    :param reserved: names of top-level columns that writers use in addition to those of the schema: partition columns,
        materialized row ids
    """
    return frozenset(map(folded, paths)) | {folded((name,)) for name in (*reserved, *CHANGE_DATA_NAMES)}
