"""How columns that are added are called in the data files, and which ids they get.

RFC Column Mapping Usage Tracking, Writer Requirements for Column Mapping. Where nothing was ever dropped or
renamed, a column's own name does; but a name under which other values may lie in a file never does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import uuid4

from airflow_delta_provider.domain.delta.column import folded
from airflow_delta_provider.domain.delta.column_mapping import is_plain_name
from airflow_delta_provider.domain.delta.mapped_schema import PhysicalPath

#: Columns that change data files have beside those of the table. PROTOCOL.md, Add CDC File.
CHANGE_DATA_NAMES = ("_change_type", "_commit_version", "_commit_timestamp")


def random_name() -> str:
    """Return a physical name that no other column ever had."""
    return f"col-{uuid4()}"


@dataclass(frozen=True)
class Naming:
    """The physical names that one commit gives to the columns that it adds.

    :param unique: every name gets a UUID: a column was dropped or renamed, by this commit at the latest
    :param taken: folded paths that no new column may have: those of all columns, now and ever
    :param new_name: makes a name with a UUID
    """

    unique: bool
    taken: frozenset[PhysicalPath]
    new_name: Callable[[], str] = random_name

    def physical_name(self, name: str, above: PhysicalPath) -> str:
        """Return the physical name of a new column.

        :param above: physical path of what it is added to
        """
        if self.unique or not is_plain_name(name) or folded((*above, name)) in self.taken:
            return self.new_name()
        return name


def taken_paths(paths: Iterable[PhysicalPath], reserved: Iterable[str]) -> frozenset[PhysicalPath]:
    """Return the folded paths that no new column may have.

    :param paths: physical paths, now and ever
    :param reserved: names of top-level columns that are in data files beside those of the schema, or are written
        beside them: partition columns, materialized row ids
    """
    return frozenset(map(folded, paths)) | {folded((name,)) for name in (*reserved, *CHANGE_DATA_NAMES)}
