"""The columns that a table has had: their paths in data files, and the ids behind each name.

This comes from metadata alone. ``ColumnHistory`` tracks the columns that files contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_delta_provider.domain.changes.step import Parts
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema, PhysicalPath
from airflow_delta_provider.domain.delta.metadata import Metadata


@dataclass(frozen=True)
class PastColumns:
    """The columns of the mapped versions of a table, including dropped ones.

    :param paths: physical paths of the columns
    :param ids: ids of the columns that a path has referred to since the table was mapped, oldest first, by lower-case
        path
    :param ever_mapped: True if a version had column mapping
    :param ever_used: True if a version recorded that a column had been dropped or renamed
    :param why_incomplete: reason why some versions or files may be unknown; empty if all are known
    """

    paths: frozenset[PhysicalPath] = frozenset()
    ids: Mapping[Parts, tuple[int, ...]] = field(default_factory=dict)
    ever_mapped: bool = False
    ever_used: bool = False
    why_incomplete: str = "its log was not read"

    @classmethod
    def of(cls, versions: Iterable[Metadata], why_incomplete: str = "") -> PastColumns:
        """Return the columns of some versions.

        :param versions: metadata of the versions, oldest first
        :param why_incomplete: reason why these may not be all versions of the table
        """
        paths: set[PhysicalPath] = set()
        ids: dict[Parts, tuple[int, ...]] = {}
        mapped = used = False
        for metadata in versions:
            mapped |= metadata.properties.is_mapped
            used |= metadata.properties.has_dropped_or_renamed
            try:
                schema = MappedSchema.of(metadata)
            except BrokenLogError as error:
                why_incomplete = str(error)
                continue
            if not schema.is_mapped:
                ids.clear()  # the next mapping starts over
                continue
            for column in schema.fields:
                if column.path is not None:
                    paths.add(column.path)
                parts = lowered(column.column.parts)
                known = ids.get(parts, ())
                if column.id is not None and known[-1:] != (column.id,):
                    ids[parts] = (*known, column.id)
        return cls(frozenset(paths), ids, mapped, used, why_incomplete)

    @property
    def is_complete(self) -> bool:
        """True if every version of the table is known."""
        return not self.why_incomplete

    @property
    def never_mapped(self) -> bool:
        """True if all versions are known and none had column mapping."""
        return self.is_complete and not self.ever_mapped

    def ids_at(self, parts: Parts) -> tuple[int, ...]:
        """Return the ids of the columns that ``parts`` has referred to, oldest first."""
        return self.ids.get(lowered(parts), ())
