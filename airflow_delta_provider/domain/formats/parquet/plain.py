"""The encoding PLAIN, and its variant BYTE_STREAM_SPLIT. parquet-format, ``Encodings.md``."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, unpack_from
from typing import Any

from airflow_delta_provider.domain.formats.parquet.bit_packing import unpacked
from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError
from airflow_delta_provider.domain.formats.parquet.schema import PhysicalType, SchemaElement

_FORMATS = {PhysicalType.INT32: "i", PhysicalType.INT64: "q", PhysicalType.FLOAT: "f", PhysicalType.DOUBLE: "d"}
_SIZES = {"i": 4, "q": 8, "f": 4, "d": 8}
_INT96_SIZE = 12
_LENGTH = Struct("<I")
_BOOLEANS = (False, True)


def plain(data: bytes, position: int, count: int, element: SchemaElement) -> Sequence[Any]:
    """Return ``count`` values; an INT96 as its twelve bytes.

    :raises ParquetError: if they end too early
    """
    physical_type = element.physical_type
    if physical_type is PhysicalType.BYTE_ARRAY:
        return _byte_arrays(data, position, count)
    if physical_type is PhysicalType.BOOLEAN:
        packed = _part(data, position, (count + 7) // 8)
        return booleans(unpacked(packed, 1)[:count])
    if physical_type in _FORMATS:
        return _numbers(data, position, count, _FORMATS[physical_type])
    size = value_size(element)
    return _slices(_part(data, position, count * size), size)


def byte_stream_split(data: bytes, position: int, count: int, element: SchemaElement) -> Sequence[Any]:
    """Return ``count`` values that are stored as all first bytes, then all second bytes, and so on.

    :raises ParquetError: if they end too early, or this encoding is not allowed for their type
    """
    if element.physical_type in (PhysicalType.BYTE_ARRAY, PhysicalType.BOOLEAN, PhysicalType.INT96):
        raise ParquetError(f"column {element.name} has an encoding that its type does not have")
    size = value_size(element)
    streams = _part(data, position, count * size)
    joined = bytearray(len(streams))
    for index in range(size):
        joined[index::size] = streams[index * count : (index + 1) * count]
    return plain(bytes(joined), 0, count, element)


def booleans(bits: Sequence[int]) -> Sequence[bool]:
    """Convert zeros and ones to booleans."""
    return list(map(_BOOLEANS.__getitem__, bits))


def value_size(element: SchemaElement) -> int:
    """Return the size of a value in bytes, for a type whose values have a fixed size.

    :raises ParquetError: if the schema does not contain it
    """
    if element.physical_type is PhysicalType.INT96:
        return _INT96_SIZE
    if element.physical_type in _FORMATS:
        return _SIZES[_FORMATS[element.physical_type]]
    if element.type_length is None or element.type_length < 1:
        raise ParquetError(f"its schema does not say how long the values of column {element.name} are")
    return element.type_length


def _numbers(data: bytes, position: int, count: int, form: str) -> Sequence[Any]:
    if position + count * _SIZES[form] > len(data):
        raise ParquetError("a page has too few values")
    return unpack_from(f"<{count}{form}", data, position)


def _byte_arrays(data: bytes, position: int, count: int) -> Sequence[bytes]:
    if position + count * _LENGTH.size > len(data):
        raise ParquetError("a page has too few values")
    found: list[bytes] = []
    append, length_at = found.append, _LENGTH.unpack_from
    end = len(data) - _LENGTH.size
    for _ in range(count):
        if position > end:
            raise ParquetError("a page has too few values")
        start = position + 4
        position = start + length_at(data, position)[0]
        append(data[start:position])
    if position > len(data):
        raise ParquetError("a page ends within a value")
    return found


def _part(data: bytes, position: int, size: int) -> bytes:
    if position + size > len(data):
        raise ParquetError("a page has too few values")
    return data[position : position + size]


def _slices(data: bytes, size: int) -> Sequence[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]
