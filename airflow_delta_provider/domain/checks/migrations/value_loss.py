"""Whether another type holds every value that a column may have."""

from __future__ import annotations

from airflow_delta_provider.domain.delta.data_type import (
    BYTE,
    DATE,
    INTEGER,
    LONG,
    SHORT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)
from airflow_delta_provider.domain.delta.type_widening import can_widen

_STRING, _BINARY, _TIMESTAMP = PrimitiveType("string"), PrimitiveType("binary"), PrimitiveType("timestamp")
#: Digits that values of an integer type may have, and digits of which it holds every number.
_MOST_DIGITS: dict[DataType, int] = {BYTE: 3, SHORT: 5, INTEGER: 10, LONG: 19}


def holds_all(old: DataType, new: DataType) -> bool:
    """Whether each value of ``old`` has its own in ``new``; nested types are compared part by part."""
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return holds_all(old.element, new.element)
    if isinstance(old, MapType) and isinstance(new, MapType):
        return holds_all(old.key, new.key) and holds_all(old.value, new.value)
    if isinstance(old, StructType) and isinstance(new, StructType):
        others = {field.name.lower(): field.data_type for field in new.fields}
        return all(
            field.name.lower() in others and holds_all(field.data_type, others[field.name.lower()])
            for field in old.fields
        )
    if old == new or can_widen(old, new):
        return True
    if isinstance(new, DecimalType):
        return old in _MOST_DIGITS and new.precision - new.scale >= _MOST_DIGITS[old]
    if isinstance(old, DecimalType) and new in _MOST_DIGITS:
        return old.scale == 0 and old.precision < _MOST_DIGITS[new]
    if new == _STRING:
        return isinstance(old, (PrimitiveType, DecimalType)) and old != _BINARY
    return (old, new) == (DATE, _TIMESTAMP)
