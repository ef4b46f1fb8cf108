"""Table states in one call, for tests of plans and rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.table_name import TableName

TABLE = TableName.parse("/lake/t")
_UNKNOWN_TO_DELTA = {"columnMappingUsageTracking"}
ENGINE = Engine("4.2.0", "4.4.0", frozenset(name.casefold() for name in FEATURES.keys() - _UNKNOWN_TO_DELTA))

LEGACY = Protocol(1, 2)
WIDENING = LEGACY.supporting(["typeWidening"])
WIDENING_ON = {"delta.enableTypeWidening": "true"}


def field(name: str, data_type: DataType | str, **metadata: Any) -> StructField:
    """A nullable field; its type may be a primitive's JSON name."""
    resolved = PrimitiveType(data_type) if isinstance(data_type, str) else data_type
    return StructField(name, resolved, metadata={key.replace("__", "."): value for key, value in metadata.items()})


def struct(*fields: StructField) -> StructType:
    return StructType(fields)


def type_to_json(data_type: DataType) -> Any:
    """Write a type as Delta does: the inverse of ``type_from_json``."""
    if isinstance(data_type, (PrimitiveType, DecimalType)):
        return str(data_type)
    if isinstance(data_type, ArrayType):
        return {
            "type": "array",
            "elementType": type_to_json(data_type.element),
            "containsNull": data_type.contains_null,
        }
    if isinstance(data_type, MapType):
        return {
            "type": "map",
            "keyType": type_to_json(data_type.key),
            "valueType": type_to_json(data_type.value),
            "valueContainsNull": data_type.value_contains_null,
        }
    return {
        "type": "struct",
        "fields": [
            {"name": f.name, "type": type_to_json(f.data_type), "nullable": f.nullable, "metadata": dict(f.metadata)}
            for f in data_type.fields
        ],
    }


def metadata_of(schema: StructType, configuration: Mapping[str, str] | None = None) -> Metadata:
    return Metadata("id", json.dumps(type_to_json(schema)), (), dict(configuration or {}))


def state_of(
    schema: StructType,
    *,
    protocol: Protocol = LEGACY,
    configuration: Mapping[str, str] | None = None,
    files: Iterable[LiveFile] | None = None,
    version: int = 3,
) -> TableState:
    listed = None if files is None else {(file.path, ""): file for file in files}
    return TableState(version, protocol, metadata_of(schema, configuration), {}, listed)
