"""Decoding of the values of a page, and their Python values. parquet-format, ``Encodings.md``, ``LogicalTypes.md``.

Dates, times and timestamps become strings, because Python's own types end with the year 9999: ``2024-02-29``,
``12:30:01.000005``, ``2024-02-29 12:30:01.000005``. Timestamps in UTC end with ``Z``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Context, Decimal, Inexact, InvalidOperation
from enum import IntEnum
from functools import cache
from itertools import accumulate, pairwise
from struct import Struct, unpack, unpack_from
from typing import Any

from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.formats.parquet.schema import (
    LogicalKind,
    LogicalType,
    PhysicalType,
    SchemaElement,
    TimeUnit,
)
from airflow_delta_provider.domain.formats.parquet.thrift import BrokenValueError, ParquetError, UnsupportedError

#: Function that converts stored values to Python values.
Conversion = Callable[[Sequence[Any]], Sequence[Any]]

_TEXTS = (LogicalKind.STRING, LogicalKind.ENUM, LogicalKind.JSON)
#: Maximum number of digits in a decimal, more than any writer uses.
_MOST_DIGITS = 1000
_HALF = Struct("<e")
_INT96 = Struct("<qi")


def converted(values: Sequence[Any], element: SchemaElement) -> Sequence[Any]:
    """Convert stored values to strings, numbers or booleans; other types stay bytes.

    :param values: stored values; an INT96 as its twelve bytes
    :raises BrokenValueError: if a value is invalid for its type
    :raises ParquetError: if there is no such type
    """
    conversion = _conversion(element)
    if conversion is None:
        return values
    try:
        return conversion(values)
    except (ValueError, InvalidOperation, Inexact) as error:
        raise BrokenValueError(f"column {element.name} has a value that is none of its type: {error}") from None


def _conversion(element: SchemaElement) -> Conversion | None:
    physical, logical = element.physical_type, element.logical_type
    if physical is PhysicalType.INT96:
        return _int96
    if logical is None:
        return None
    kind = logical.kind
    if physical is PhysicalType.BYTE_ARRAY and kind in _TEXTS:
        return _texts
    if kind is LogicalKind.DECIMAL:
        return _decimals(logical, as_bytes=physical not in (PhysicalType.INT32, PhysicalType.INT64))
    if physical is PhysicalType.INT32 or physical is PhysicalType.INT64:
        return _of_integers(logical, 32 if physical is PhysicalType.INT32 else 64)
    if kind is LogicalKind.FLOAT16 and element.type_length == _HALF.size:
        return lambda values: [_HALF.unpack(value)[0] for value in values]
    return None


def _of_integers(logical: LogicalType, bits: int) -> Conversion | None:
    kind, unit = logical.kind, logical.unit
    if kind is LogicalKind.INTEGER and logical.signed is False:
        mask = (1 << bits) - 1
        return lambda values: [value & mask for value in values]
    if kind is LogicalKind.DATE:
        return lambda values: list(map(_date, values))
    if kind is LogicalKind.TIMESTAMP and unit is not None:
        zone = "Z" if logical.adjusted_to_utc else ""
        return lambda values: [_timestamp(value, unit) + zone for value in values]
    if kind is LogicalKind.TIME and unit is not None:
        return lambda values: [_time(value, unit) for value in values]
    return None


def _texts(values: Sequence[bytes]) -> Sequence[str]:
    return [value.decode() for value in values]


def _decimals(logical: LogicalType, *, as_bytes: bool) -> Conversion:
    scale, precision = logical.scale or 0, logical.precision or 0
    if not 0 < precision <= _MOST_DIGITS or not 0 <= scale <= precision:
        raise ParquetError(f"its schema has decimals of {precision} digits, {scale} of them behind the point")
    exact = Context(prec=_MOST_DIGITS, traps=[InvalidOperation, Inexact])

    def decimals(values: Sequence[Any]) -> Sequence[Decimal]:
        numbers = [int.from_bytes(value, "big", signed=True) for value in values] if as_bytes else values
        return [exact.scaleb(exact.create_decimal(number), -scale) for number in numbers]

    return decimals


_EPOCH_DAY = date(1970, 1, 1).toordinal()
#: The calendar repeats after this number of years, which have this number of days.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_JULIAN_EPOCH_DAY = 2_440_588
_DAY_SECONDS = 86_400
#: Units per second, and digits after the point, by unit.
_UNITS = {TimeUnit.MILLIS: (1_000, 3), TimeUnit.MICROS: (1_000_000, 6), TimeUnit.NANOS: (1_000_000_000, 9)}


def _date(days: int) -> str:
    cycles, rest = divmod(days + _EPOCH_DAY - 1, _CYCLE_DAYS)
    day = date.fromordinal(rest + 1)
    year = day.year + cycles * _CYCLE_YEARS
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{day.month:02d}-{day.day:02d}"


def _time(value: int, unit: TimeUnit) -> str:
    per_second, digits = _UNITS[unit]
    seconds, fraction = divmod(value, per_second)
    if not 0 <= seconds < _DAY_SECONDS:
        raise ValueError("no day has such a time")
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:0{digits}d}"


def _timestamp(value: int, unit: TimeUnit) -> str:
    days, time = divmod(value, _DAY_SECONDS * _UNITS[unit][0])
    return f"{_date(days)} {_time(time, unit)}"


def _int96(values: Sequence[bytes]) -> Sequence[str]:
    """Convert INT96 timestamps of Impala and Spark.

    Each has the nanoseconds of the day, then the Julian day number.
    """
    return [
        _timestamp((day - _JULIAN_EPOCH_DAY) * _DAY_SECONDS * 1_000_000 + nanoseconds // 1000, TimeUnit.MICROS)
        for nanoseconds, day in map(_INT96.unpack, values)
    ]


_MOST_WIDTH = 32
#: Widths with several integers per byte.
_TABLED = (1, 2, 4)
#: Widths that :mod:`struct` can unpack.
_WHOLE = {16: "H", 32: "I", 64: "Q"}


def varint(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned integer of at most 64 bits. Return it with the position after it.

    :raises ParquetError: if it does not end
    """
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise ParquetError("a page ends within a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ParquetError("a number in a page has no end")


def unpacked(packed: bytes, width: int) -> Sequence[int]:
    """Return the integers in whole groups of eight, least significant bit first.

    :param packed: packed groups; the number of bytes is a multiple of ``width``
    :param width: number of bits of an integer, from 1 to 64
    """
    if width in _TABLED:
        return b"".join(map(_table(width).__getitem__, packed))
    if width == 8:
        return packed
    if width in _WHOLE:
        return unpack(f"<{len(packed) * 8 // width}{_WHOLE[width]}", packed)
    mask = (1 << width) - 1
    second, third, fourth, fifth, sixth, seventh, eighth = range(width, 8 * width, width)
    found: list[int] = []
    for start in range(0, len(packed), width):
        group = int.from_bytes(packed[start : start + width], "little")
        found += (
            group & mask,
            group >> second & mask,
            group >> third & mask,
            group >> fourth & mask,
            group >> fifth & mask,
            group >> sixth & mask,
            group >> seventh & mask,
            group >> eighth,
        )
    return found


@cache
def _table(width: int) -> list[bytes]:
    mask = (1 << width) - 1
    return [bytes([byte >> shift & mask for shift in range(0, 8, width)]) for byte in range(256)]


def runs(data: bytes, position: int, width: int, count: int) -> Iterator[tuple[int, int | Sequence[int]]]:
    """Yield ``count`` integers in runs.

    Each run has its length, and either one repeated integer or all its integers.

    :param width: number of bits of an integer, at most 32
    :raises ParquetError: if the data ends too early
    """
    if width > _MOST_WIDTH:
        raise ParquetError(f"a page has integers of {width} bits, where {_MOST_WIDTH} are the most")
    value_size = (width + 7) // 8
    while count > 0:
        header, position = varint(data, position)
        if header & 1:
            groups = min(header >> 1, (count + 7) // 8)
            packed = data[position : position + groups * width]
            position += (header >> 1) * width
            if len(packed) * 8 < min(groups * 8, count) * width:
                raise ParquetError("a page ends within a run")
            length = min(groups * 8, count)
            packed = packed.ljust(groups * width, b"\x00")  # some writers leave out unneeded bytes
            yield length, unpacked(packed, width)[:length] if width else bytes(length)
        else:
            length = min(header >> 1, count)
            if position + value_size > len(data):
                raise ParquetError("a page ends within a run")
            value = int.from_bytes(data[position : position + value_size], "little")
            if value >> width:
                raise ParquetError(f"a page has the integer {value}, which takes more than {width} bits")
            position += value_size
            yield length, value
        count -= length


def levels(data: bytes, position: int, highest: int, count: int) -> bytes:
    """Return ``count`` levels between 0 and ``highest``, one per byte.

    :raises ParquetError: if they end too early, or one is higher
    """
    pieces = [
        bytes([run]) * length if isinstance(run, int) else bytes(run)
        for length, run in runs(data, position, highest.bit_length(), count)
    ]
    found = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    if found.translate(None, bytes(range(highest + 1))):
        raise ParquetError(f"a page has the level {max(found)}, where {highest} is the highest")
    return found


_FORMATS = {PhysicalType.INT32: "i", PhysicalType.INT64: "q", PhysicalType.FLOAT: "f", PhysicalType.DOUBLE: "d"}
_SIZES = {"i": 4, "q": 8, "f": 4, "d": 8}
_INT96_SIZE = 12
_LENGTH = Struct("<I")
#: Values whose lengths are compared at once.
_MOST_TOGETHER = 4096
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
    part = _part(data, position, count * size)
    return [part[start : start + size] for start in range(0, len(part), size)]


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


def longest_byte_array(data: bytes, count: int) -> int:
    """Return the size of the longest value in a dictionary of strings, in bytes; 0 if it is empty.

    :raises ParquetError: if it ends too early
    """
    position = longest = before = 0
    together = 1
    length_at, end = _LENGTH.unpack_from, len(data) - _LENGTH.size
    while count > 0:
        if position > end:
            raise ParquetError("a page has too few values")
        (length,) = length_at(data, position)
        if length > longest:
            longest = length
        step, alike = _LENGTH.size + length, 1
        together = min(2 * together, _MOST_TOGETHER) if length == before else 1
        if together > 2:  # the values of many columns have one length
            stop = position + together * step
            pieces = [data[start:stop:step] for start in range(position, position + _LENGTH.size)]
            alike = min(count, *(len(piece) - len(piece.lstrip(piece[:1])) for piece in pieces))
        before = length
        position += alike * step
        count -= alike
    return longest


def _part(data: bytes, position: int, size: int) -> bytes:
    if position + size > len(data):
        raise ParquetError("a page has too few values")
    return data[position : position + size]


_MOST_DELTA_WIDTH = 64
#: Bytes that Python adds to the bytes of a value.
_STRING_SIZE = 40


def delta_binary_packed(data: bytes, position: int, count: int, bits: int) -> tuple[Sequence[int], int]:
    """Return ``count`` integers, and the position after them.

    :param bits: number of bits of an integer, 32 or 64; larger values wrap around
    :raises ParquetError: if they are damaged
    """
    block_size, position = varint(data, position)
    miniblocks, position = varint(data, position)
    total, position = varint(data, position)
    first, position = _zigzag(data, position)
    if total != count:
        raise ParquetError(f"a page has {total} integers where {count} belong")
    if not total:
        return (), position
    if not miniblocks or block_size % miniblocks or (block_size // miniblocks) % 8:
        raise ParquetError(f"a page has blocks of {block_size} integers in {miniblocks} parts")
    size = block_size // miniblocks
    if size == 0:
        raise ParquetError("a page has empty blocks of integers")
    deltas = [first]
    while (missing := total - len(deltas)) > 0:
        least, position = _zigzag(data, position)
        widths = data[position : position + miniblocks]
        position += miniblocks
        if len(widths) < miniblocks:
            raise ParquetError("a page ends within its integers")
        for width in widths:
            if missing <= 0:
                break
            end = position + size * width // 8
            # The last ones may be incomplete.
            if width > _MOST_DELTA_WIDTH or end > len(data):
                raise ParquetError("a page ends within its integers")
            found = unpacked(data[position:end], width)[:missing] if width else bytes(min(size, missing))
            deltas += [least + delta for delta in found] if least else found
            position = end
            missing -= size
    return _wrapped(list(accumulate(deltas)), bits), position


def delta_length_byte_array(data: bytes, position: int, count: int) -> Sequence[bytes]:
    """Return ``count`` byte arrays: their lengths come first, then all their bytes.

    :raises ParquetError: if they are damaged
    """
    lengths, position = delta_binary_packed(data, position, count, 32)
    if lengths and min(lengths) < 0:
        raise ParquetError("a page has a value of negative length")
    ends = list(accumulate(lengths, initial=position))
    if ends[-1] > len(data):
        raise ParquetError("a page ends within a value")
    return [data[start:end] for start, end in pairwise(ends)]


def delta_byte_array(data: bytes, position: int, count: int, budget: Budget) -> Sequence[bytes]:
    """Return ``count`` byte arrays that each share a prefix with the one before.

    :raises ParquetError: if they are damaged
    :raises TooLargeError: if they exceed the budget
    """
    shared, position = delta_binary_packed(data, position, count, 32)
    suffixes = delta_length_byte_array(data, position, count)
    if shared and min(shared) < 0:
        raise ParquetError("a value has a negative prefix length")
    budget.take(sum(shared) + _STRING_SIZE * count)
    found: list[bytes] = []
    before = b""
    for length, suffix in zip(shared, suffixes):
        if length > len(before):
            raise ParquetError(f"a value has a prefix of {length} bytes, but the value before it has {len(before)}")
        before = before[:length] + suffix
        found.append(before)
    return found


def _zigzag(data: bytes, position: int) -> tuple[int, int]:
    value, position = varint(data, position)
    return (value >> 1) ^ -(value & 1), position


def _wrapped(values: list[int], bits: int) -> list[int]:
    half = 1 << bits - 1
    if -half <= min(values) and max(values) < half:
        return values
    return [(value + half) % (2 * half) - half for value in values]


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
