"""Rows in Paimon's binary format, here the values of a partition.

Apache Paimon, ``BinaryRow``. In manifests, the number of fields comes first, big-endian. The row follows,
little-endian: a byte for the row's kind and the bits of null fields, in words of 8 bytes; 8 bytes for each field; and
values that do not fit there. A field points to such a value by its offset after the number of fields.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from airflow_delta_provider.domain.paimon.schema import DataField, DataType, PaimonFormatError

_ARITY_SIZE = 4
#: Bits of the row's kind, before the null bits of the fields.
_KIND_BITS = 8
_WORD = 8
#: Flag in the last byte of a field that contains its bytes itself; the other bits of that byte are their number.
_INLINE = 0x80
_MOST_INLINE = 7
#: Maximum digits of decimals that fit a long, and maximum fractional digits of timestamps without nanoseconds.
_COMPACT_DIGITS, _COMPACT_FRACTION = 18, 3
_EPOCH = datetime(1970, 1, 1)
_FIRST_DAY = date(1970, 1, 1)


@dataclass(frozen=True)
class Timestamp:
    """A date and time with nanoseconds, which Python's own type lacks.

    :param seconds: date and time, to the second
    :param nanoseconds: fraction of the second
    """

    seconds: datetime
    nanoseconds: int


@dataclass(frozen=True)
class _Place:
    """The place of a field: its own 8 bytes, and the row that they may point into."""

    row: bytes
    start: int

    def unpack(self, layout: str) -> Any:
        return struct.unpack_from("<" + layout, self.row, self.start)[0]

    def pointed(self, offset: int, size: int) -> bytes:
        if offset + size > len(self.row):
            raise PaimonFormatError(f"a partition has a value of {size} bytes that its {len(self.row)} do not hold")
        return self.row[offset : offset + size]

    def content(self) -> bytes:
        last = self.row[self.start + _WORD - 1]
        if last & _INLINE:
            size = last & ~_INLINE
            if size > _MOST_INLINE:
                raise PaimonFormatError(f"a partition has a value of {size} bytes, but only {_MOST_INLINE} fit")
            return self.row[self.start : self.start + size]
        return self.pointed(self.unpack("4xI"), self.unpack("I"))


def read_partition(data: bytes, fields: tuple[DataField, ...]) -> tuple[Any, ...]:
    """Return the values of a partition.

    Types are int, str, bool, float, bytes, Decimal, date, time and Timestamp; a value may be None.

    :param data: row as in a manifest
    :param fields: partition columns of the table in order, :attr:`TableSchema.partition_fields`
    :raises PaimonFormatError: if it is not a row of these fields
    """
    if len(data) < _ARITY_SIZE:
        raise PaimonFormatError(f"a partition has {len(data)} bytes, which is not a row")
    arity = int.from_bytes(data[:_ARITY_SIZE], "big")
    if arity != len(fields):
        raise PaimonFormatError(f"a partition has {arity} values, but the table has {len(fields)} partition columns")
    row = data[_ARITY_SIZE:]
    head = (arity + 63 + _KIND_BITS) // 64 * _WORD
    if len(row) < head + arity * _WORD:
        raise PaimonFormatError(f"a partition of {arity} values has only {len(row)} bytes")
    nulls = int.from_bytes(row[:head], "little") >> _KIND_BITS
    return tuple(
        None if nulls >> index & 1 else _value(_Place(row, head + index * _WORD), field)
        for index, field in enumerate(fields)
    )


def _value(place: _Place, field: DataField) -> Any:
    read = _READERS.get(field.type.root)
    if read is None:
        raise PaimonFormatError(f"the partition column {field.name} is of type {field.type.root}, which is not known")
    try:
        return read(place, field.type)
    except UnicodeDecodeError:  # its message quotes the value
        raise PaimonFormatError(f"a value of the partition column {field.name} is not UTF-8") from None
    except (OverflowError, struct.error) as error:
        raise PaimonFormatError(f"a value of the partition column {field.name} is damaged: {error}") from error


def _number(layout: str) -> Callable[[_Place, DataType], Any]:
    return lambda place, _: place.unpack(layout)


def _text(place: _Place, _: DataType) -> str:
    return place.content().decode()


def _decimal(place: _Place, data_type: DataType) -> Decimal:
    digits, scale = data_type.arguments[:2]
    if digits <= _COMPACT_DIGITS:
        unscaled = place.unpack("q")
    else:
        unscaled = int.from_bytes(place.pointed(place.unpack("4xI"), place.unpack("I")), "big", signed=True)
    # The constructor is exact for any precision of the context.
    return Decimal((int(unscaled < 0), tuple(int(digit) for digit in str(abs(unscaled))), -scale))


def _date(place: _Place, _: DataType) -> date:
    return _FIRST_DAY + timedelta(days=place.unpack("i"))


def _time(place: _Place, _: DataType) -> time:
    return (_EPOCH + timedelta(milliseconds=place.unpack("i"))).time()


def _timestamp(place: _Place, data_type: DataType) -> Timestamp:
    if data_type.arguments[0] <= _COMPACT_FRACTION:
        milliseconds, nanoseconds = place.unpack("q"), 0
    else:
        content = place.pointed(place.unpack("4xI"), _WORD)
        milliseconds, nanoseconds = struct.unpack("<q", content)[0], place.unpack("I")
    seconds, rest = divmod(milliseconds, 1000)
    return Timestamp(_EPOCH + timedelta(seconds=seconds), rest * 1_000_000 + nanoseconds)


_READERS: dict[str, Callable[[_Place, DataType], Any]] = {
    "BOOLEAN": _number("?"),
    "TINYINT": _number("b"),
    "SMALLINT": _number("h"),
    "INT": _number("i"),
    "BIGINT": _number("q"),
    "FLOAT": _number("f"),
    "DOUBLE": _number("d"),
    "CHAR": _text,
    "VARCHAR": _text,
    "BINARY": lambda place, _: place.content(),
    "VARBINARY": lambda place, _: place.content(),
    "DECIMAL": _decimal,
    "DATE": _date,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_LTZ": _timestamp,
}
