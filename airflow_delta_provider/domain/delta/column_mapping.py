"""Column mapping: names and ids of columns in data files.

PROTOCOL.md, Column Mapping.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    type_to_json,
)
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import MappingMode

_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"
#: Metadata key from which Spark's Parquet reader takes the id of a field.
_PARQUET_FIELD_ID = "parquet.field.id"
#: Characters that Parquet writers refuse in names.
_REFUSED_BY_PARQUET = frozenset(" ,;{}()\n\t=")


def is_plain_name(name: str) -> bool:
    """Return True if data files can have a column of this name.

    Without column mapping, the table uses the same name.
    """
    return _REFUSED_BY_PARQUET.isdisjoint(name)


def physical_name(field: StructField, mode: MappingMode) -> str:
    if mode is MappingMode.NONE:
        return field.name
    return str(field.metadata.get(_PHYSICAL_NAME, field.name))


def physical_parts(column: Column, schema: StructType, mode: MappingMode) -> tuple[str, ...]:
    parts: list[str] = []
    here: DataType = schema
    for part, kind in zip(column.parts, column.kinds):
        if isinstance(here, StructType) and kind == "field":
            field = next(f for f in here.fields if f.name == part)
            parts.append(physical_name(field, mode))
            here = field.data_type
        else:
            parts.append(part)
            if isinstance(here, ArrayType):
                here = here.element
            elif isinstance(here, MapType):
                here = here.key if kind == "key" else here.value
    return tuple(parts)


def file_schema(metadata: Metadata, columns: frozenset[str]) -> dict[str, Any]:
    """Return the schema, as JSON for Spark, of top-level ``columns`` in data files.

    Every field is nullable, because files older than a column lack it. Fields have their ids in mode id.
    """
    mode = metadata.properties.mapping_mode
    fields = tuple(field for field in metadata.schema.fields if field.name in columns)
    json = type_to_json(StructType(fields), partial(_field_json, mode))
    assert isinstance(json, dict)
    return json


def _field_json(mode: MappingMode, field: StructField, path: tuple[str, ...]) -> dict[str, Any]:
    del path
    by_id = mode is MappingMode.ID and _ID in field.metadata
    return {
        "name": physical_name(field, mode),
        "type": type_to_json(field.data_type, partial(_field_json, mode)),
        "nullable": True,
        "metadata": {_PARQUET_FIELD_ID: field.metadata[_ID]} if by_id else {},
    }
