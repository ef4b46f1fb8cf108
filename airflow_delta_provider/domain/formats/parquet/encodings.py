"""Decoding of the values of a page. parquet-format, ``Encodings.md``."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.formats.parquet.bit_packing import levels, runs
from airflow_delta_provider.domain.formats.parquet.delta_encodings import (
    delta_binary_packed,
    delta_byte_array,
    delta_length_byte_array,
)
from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError, UnsupportedError
from airflow_delta_provider.domain.formats.parquet.plain import booleans, byte_stream_split, plain
from airflow_delta_provider.domain.formats.parquet.schema import PhysicalType, SchemaElement
from airflow_delta_provider.domain.formats.parquet.values import converted

#: Bytes of a Python object, and of a reference to one.
_OBJECT_SIZE, _REFERENCE_SIZE = 40, 8
_RUN_LENGTH_SIZE = 4


class Encoding(IntEnum):
    """Encodings of values or levels, by their numbers in ``parquet.thrift``."""

    PLAIN = 0
    PLAIN_DICTIONARY = 2
    RLE = 3
    DELTA_BINARY_PACKED = 5
    DELTA_LENGTH_BYTE_ARRAY = 6
    DELTA_BYTE_ARRAY = 7
    RLE_DICTIONARY = 8
    BYTE_STREAM_SPLIT = 9


_BITS = {PhysicalType.INT32: 32, PhysicalType.INT64: 64}
_OF_BYTES = (PhysicalType.BYTE_ARRAY, PhysicalType.FIXED_LEN_BYTE_ARRAY)


def decoded(
    encoding: int, data: bytes, position: int, count: int, element: SchemaElement, budget: Budget
) -> Sequence[Any]:
    """Return ``count`` values of a column that are not dictionary indices.

    :param position: start of the values in the page
    :raises UnsupportedError: if the encoding is not supported here
    :raises ParquetError: if they are damaged
    :raises TooLargeError: if they exceed the budget
    """
    physical_type = element.physical_type
    budget.take(count * _OBJECT_SIZE + (len(data) - position if physical_type in _OF_BYTES else 0))
    values: Sequence[Any]
    if encoding == Encoding.PLAIN:
        values = plain(data, position, count, element)
    elif encoding == Encoding.DELTA_BINARY_PACKED and physical_type in _BITS:
        values, _ = delta_binary_packed(data, position, count, _BITS[physical_type])
    elif encoding == Encoding.DELTA_LENGTH_BYTE_ARRAY and physical_type is PhysicalType.BYTE_ARRAY:
        values = delta_length_byte_array(data, position, count)
    elif encoding == Encoding.DELTA_BYTE_ARRAY and physical_type in _OF_BYTES:
        values = delta_byte_array(data, position, count, budget)
    elif encoding == Encoding.RLE and physical_type is PhysicalType.BOOLEAN:
        values = booleans(levels(data, position + _RUN_LENGTH_SIZE, 1, count))
    elif encoding == Encoding.BYTE_STREAM_SPLIT:
        values = byte_stream_split(data, position, count, element)
    else:
        raise UnsupportedError(f"column {element.name} is in encoding {encoding}, which cannot be read here")
    return converted(values, element)


def looked_up(
    data: bytes, position: int, count: int, dictionary: Sequence[Any] | None, budget: Budget
) -> Sequence[Any]:
    """Return ``count`` values of a page with dictionary indices.

    :param position: start of the indices, which is the byte with their bit width
    :param dictionary: values of the dictionary; None if the column has none
    :raises ParquetError: if they are damaged
    :raises TooLargeError: if they exceed the budget; a value counts as often as it is used
    """
    if dictionary is None:
        raise ParquetError("a page refers to a dictionary, and there is none before it")
    if position >= len(data):
        raise ParquetError("a page has too few values")
    budget.take(count * _REFERENCE_SIZE)
    values: list[Any] = []
    sizes = [len(value) for value in dictionary] if dictionary and isinstance(dictionary[0], (str, bytes)) else []
    try:
        for length, run in runs(data, position + 1, data[position], count):
            if sizes:
                budget.take(sizes[run] * length if isinstance(run, int) else sum(map(sizes.__getitem__, run)))
            values += [dictionary[run]] * length if isinstance(run, int) else map(dictionary.__getitem__, run)
    except IndexError:
        raise ParquetError(f"a page refers to a value that its dictionary of {len(dictionary)} does not have") from None
    return values
