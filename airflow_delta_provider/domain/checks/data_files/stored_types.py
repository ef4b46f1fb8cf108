"""What Delta types are stored as in Parquet.

PROTOCOL.md, Delta Data Type to Parquet Type Mappings; parquet-format, ``LogicalTypes.md``; and what engines are known
to write, even if the protocol does not name it.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.type_widening.type_record import is_text
from airflow_delta_provider.domain.delta.data_type import DataType, DecimalType, PrimitiveType
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, PhysicalType, SchemaElement, TimeUnit

#: What Delta types are stored as: physical types with what they are said to mean.
_INT32 = {(PhysicalType.INT32, None), (PhysicalType.INT32, LogicalKind.INTEGER)}
_TIMESTAMP = {(PhysicalType.INT96, None), (PhysicalType.INT64, LogicalKind.TIMESTAMP)}
_STORED: dict[str, set[tuple[PhysicalType, LogicalKind | None]]] = {
    "boolean": {(PhysicalType.BOOLEAN, None)},
    "byte": _INT32,
    "short": _INT32,
    "integer": _INT32,
    "long": {(PhysicalType.INT64, None), (PhysicalType.INT64, LogicalKind.INTEGER)},
    "float": {(PhysicalType.FLOAT, None)},
    "double": {(PhysicalType.DOUBLE, None)},
    "date": {(PhysicalType.INT32, None), (PhysicalType.INT32, LogicalKind.DATE)},
    "timestamp": _TIMESTAMP,
    "timestamp_ntz": _TIMESTAMP,
}
_BYTES = (PhysicalType.BYTE_ARRAY, PhysicalType.FIXED_LEN_BYTE_ARRAY)


def is_checked(data_type: DataType) -> bool:
    """Whether it is known what a column of that type is stored as."""
    if isinstance(data_type, PrimitiveType):
        return data_type.name in _STORED or data_type.name == "binary" or is_text(data_type)
    return isinstance(data_type, DecimalType)


def may_be(element: SchemaElement, data_type: DataType) -> bool:
    """Whether a leaf of a file may hold values of a type that is checked."""
    logical = element.logical_type
    kind = None if logical is None else logical.kind
    if isinstance(data_type, DecimalType):
        if logical is None or kind is not LogicalKind.DECIMAL:
            return False
        said = (logical.precision, logical.scale or 0)
        return logical.precision is None or said == (data_type.precision, data_type.scale)
    assert isinstance(data_type, PrimitiveType)
    if logical is not None and kind is LogicalKind.TIMESTAMP and logical.unit is TimeUnit.NANOS:
        return False  # which Spark refuses to read
    if data_type.name in _STORED:
        return (element.physical_type, kind) in _STORED[data_type.name]
    return element.physical_type in _BYTES and kind is not LogicalKind.DECIMAL


def described(element: SchemaElement) -> str:
    """Return the type of a file's column, for people."""
    logical = element.logical_type
    physical = "a group" if element.physical_type is None else element.physical_type.name
    if logical is None:
        return physical
    meaning = logical.kind.value
    if logical.kind is LogicalKind.DECIMAL:
        meaning = f"decimal({logical.precision},{logical.scale or 0})"
    elif logical.unit is TimeUnit.NANOS:
        meaning = f"{meaning} in nanoseconds"
    return f"{physical} ({meaning})"
