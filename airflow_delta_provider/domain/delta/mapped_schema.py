"""The schema with its column mapping: the id and the path in data files of every field.

PROTOCOL.md, Column Mapping and Field Path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.delta.column import Column, children
from airflow_delta_provider.domain.delta.data_type import StructField
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import MappingMode

ID = "delta.columnMapping.id"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
NESTED_IDS = "delta.columnMapping.nested.ids"

#: Path from the schema's root: physical names, and ``element``, ``key``, ``value`` in between.
PhysicalPath = tuple[str, ...]


@dataclass(frozen=True)
class MappedField:
    """A struct field.

    :param id: column mapping id; None if it is missing or not a 32-bit integer
    :param name: physical name; None if it is missing or not a string
    :param path: physical field path; None if a name on the way is missing
    :param nested_ids: ids of elements, keys and values below it, as Iceberg compatibility assigns them
    """

    column: Column
    id: int | None
    name: str | None
    path: PhysicalPath | None
    nested_ids: Mapping[str, Any]

    @property
    def ids(self) -> list[int]:
        """All ids that it uses, also for nested elements."""
        nested = [number for number in self.nested_ids.values() if is_id(number)]
        return nested if self.id is None else [self.id, *nested]

    @property
    def is_mapped(self) -> bool:
        """Return True if its metadata has any key of column mapping."""
        return any(key in field_metadata(self.column.field) for key in (ID, PHYSICAL_NAME, NESTED_IDS))


@dataclass(frozen=True)
class MappedSchema:
    """A schema with its mapping.

    :param fields: all struct fields at any depth, parents before children
    :param max_column_id: ``delta.columnMapping.maxColumnId``; None if it is missing or not an integer
    """

    mode: MappingMode
    fields: tuple[MappedField, ...]
    max_column_id: int | None

    @classmethod
    def of(cls, metadata: Metadata) -> MappedSchema:
        """Read the mapping. Ids and physical names that remain in mode none are included.

        :raises BrokenLogError: if the schema string is not a struct
        """
        fields: list[MappedField] = []
        for field in metadata.schema.fields:
            fields += _mapped(Column((field.name,), field.data_type, field, (), ("field",)), ())
        return cls(metadata.properties.mapping_mode, tuple(fields), metadata.properties.max_column_id)

    @classmethod
    def readable(cls, metadata: Metadata) -> MappedSchema | None:
        """Read the mapping; None if the schema cannot be read."""
        try:
            return cls.of(metadata)
        except BrokenLogError:
            return None

    @property
    def is_mapped(self) -> bool:
        """Return True if the mode is name or id."""
        return self.mode is not MappingMode.NONE

    @cached_property
    def ids(self) -> Counter[int]:
        """The number of uses of each id, by fields or by nested elements."""
        return Counter(number for field in self.fields for number in field.ids)

    @cached_property
    def gone(self) -> int:
        """The number of ids that no column has any more: the maximum number of dropped columns."""
        highest = self.max_column_id or 0
        return highest - sum(1 for number in self.ids if 0 < number <= highest)

    @cached_property
    def by_id(self) -> dict[int, MappedField]:
        """Fields by id, without ids that are used twice."""
        return {field.id: field for field in self.fields if field.id is not None and self.ids[field.id] == 1}

    @cached_property
    def by_path(self) -> dict[PhysicalPath, MappedField]:
        """Fields by physical path, without paths that are used twice."""
        taken = Counter(field.path for field in self.fields)
        return {field.path: field for field in self.fields if field.path is not None and taken[field.path] == 1}


def is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31


def field_metadata(field: StructField) -> Mapping[str, Any]:
    """Return the field's metadata, empty if the log does not have a JSON object there."""
    return field.metadata if isinstance(field.metadata, Mapping) else {}


def _mapped(column: Column, above: PhysicalPath | None) -> Iterator[MappedField]:
    path: PhysicalPath | None
    if column.kinds[-1] == "field":
        metadata = field_metadata(column.field)
        number, name, nested = metadata.get(ID), metadata.get(PHYSICAL_NAME), metadata.get(NESTED_IDS)
        name = name if isinstance(name, str) and name else None
        path = None if above is None or name is None else (*above, name)
        yield MappedField(
            column, number if is_id(number) else None, name, path, nested if isinstance(nested, Mapping) else {}
        )
    else:
        path = None if above is None else (*above, column.kinds[-1])
    for child in children(column):
        yield from _mapped(child, path)
