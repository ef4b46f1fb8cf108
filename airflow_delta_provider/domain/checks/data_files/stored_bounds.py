"""Bounds of columns as values that compare exactly: from statistics in the log, and from the footers of files.

PROTOCOL.md, Per-file Statistics; parquet-format, ``parquet.thrift`` (ColumnOrder). Values of one column compare with
each other: integers, floats, decimals, days, nanoseconds, or bytes of UTF-8.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache, partial
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.data_type import DataType, DecimalType, UnknownTypeError, parse_type
from airflow_delta_provider.domain.delta.partition_value import (
    days_of,
    has_zone,
    parse_date,
    parse_timestamp,
    with_time,
)
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, PhysicalType, SchemaElement, TimeUnit
from airflow_delta_provider.domain.text import literal

#: A millisecond in nanoseconds: bounds of timestamps are cut to it.
MILLISECOND = 1_000_000
_DAY = 86_400_000_000_000
#: Earlier values may be in Spark 2's hybrid calendar, and times shifted by the seconds of local mean time.
FIRST_DAY, FIRST_MOMENT = -141_427, parse_timestamp("1900-01-01 00:00:00")
_UNITS = {TimeUnit.MILLIS: 1_000_000, TimeUnit.MICROS: 1000, TimeUnit.NANOS: 1}
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)

Decode = Callable[[bytes], Any]


class UndecidableBoundError(ValueError):
    """A bound that engines read differently, or that is no value of the column's type."""


class BoundKind(NamedTuple):
    """The form of a column's bounds in a file and in the log.

    :param decode_footer: returns the value of a bound in the footer
    :param decode_log: returns the value of a bound in the log
    :param to_sql: returns a value as an SQL literal
    :param slack: least excess of a value over a maximum in the log that excludes the value
    :param is_bytes: True if the file stores byte arrays
    :param is_text: True for strings
    :param is_answered: True if Delta Spark answers MIN and MAX from bounds of this type
    :param calendar_matters_before: values before this one differ between calendars; None for types without a calendar
    :param is_widened: True for floats in a column of doubles: the log has their bounds as floats, with fewer digits
    """

    decode_footer: Decode
    decode_log: Callable[[Any], Any]
    to_sql: Callable[[Any], str]
    slack: int = 0
    is_bytes: bool = False
    is_text: bool = False
    is_answered: bool = False
    is_unsigned: bool = False
    calendar_matters_before: int | None = None
    is_widened: bool = False


@lru_cache(maxsize=1024)
def bound_kind(element: SchemaElement, type_name: str) -> BoundKind | None:
    """Return the kind of a column's bounds; None if they cannot be compared.

    :param element: the column in the file, whose type may be narrower than the table's
    :param type_name: the table's type, as in the schema's JSON
    """
    try:
        data_type = parse_type(type_name)
    except UnknownTypeError:
        return None
    name = str(data_type)
    if isinstance(data_type, DecimalType):
        decode = _decimals(element)
        exact = partial(_logged_decimal, scale=data_type.scale)
        return None if decode is None else BoundKind(decode, exact, _plain, is_bytes=_is_bytes(element))
    if name in _INTEGERS:
        decode = _integers(element)
        return None if decode is None else _number(decode, _logged_integer, unsigned=_is_unsigned(element))
    if name in ("float", "double"):
        return _fractions(element, data_type)
    if name == "date":
        if element.physical_type is not PhysicalType.INT32 or _kind(element) not in (None, LogicalKind.DATE):
            return None
        return BoundKind(_signed, _logged_day, _shown_day, is_answered=True, calendar_matters_before=FIRST_DAY)
    if name in ("timestamp", "timestamp_ntz"):
        if element.physical_type is PhysicalType.INT96 and name == "timestamp":
            return _moment(_no_order, _logged_micros, name)
        decode = _moments(element, name)
        decode_log = _logged_moment if name == "timestamp" else _logged_local
        return None if decode is None else _moment(decode, decode_log, name)
    if name == "string" and element.physical_type is PhysicalType.BYTE_ARRAY and _kind(element) in _TEXTS:
        return BoundKind(bytes, _logged_text, _shown_text, is_bytes=True, is_text=True)
    if name == "boolean" and element.physical_type is PhysicalType.BOOLEAN:
        return BoundKind(_flag, _logged_flag, lambda value: str(value).lower())
    return None


_INTEGERS = frozenset({"byte", "tinyint", "short", "smallint", "integer", "int", "long", "bigint"})
_TEXTS = (None, LogicalKind.STRING, LogicalKind.ENUM, LogicalKind.JSON)


def _number(decode: Decode, decode_log: Callable[[Any], Any], *, unsigned: bool) -> BoundKind:
    return BoundKind(decode, decode_log, _plain, is_answered=True, is_unsigned=unsigned)


def _moment(decode: Decode, decode_log: Callable[[Any], Any], name: str) -> BoundKind:
    to_sql = partial(_shown_moment, of=name.upper())
    return BoundKind(decode, decode_log, to_sql, slack=MILLISECOND, calendar_matters_before=FIRST_MOMENT)


def _kind(element: SchemaElement) -> LogicalKind | None:
    return None if element.logical_type is None else element.logical_type.kind


def _is_bytes(element: SchemaElement) -> bool:
    return element.physical_type in (PhysicalType.BYTE_ARRAY, PhysicalType.FIXED_LEN_BYTE_ARRAY)


def _is_unsigned(element: SchemaElement) -> bool:
    return element.logical_type is not None and element.logical_type.signed is False


# -- values in footers -----------------------------------------------------------------------------


def _sized(value: bytes, size: int) -> bytes:
    if len(value) != size:
        raise UndecidableBoundError("a statistic has a wrong length")
    return value


def _signed(value: bytes) -> int:
    if len(value) not in (4, 8):
        raise UndecidableBoundError("a statistic has a wrong length")
    return int.from_bytes(value, "little", signed=True)


def _integers(element: SchemaElement) -> Decode | None:
    if element.physical_type not in _SIZES or _kind(element) not in (None, LogicalKind.INTEGER):
        return None
    size, signed = _SIZES[element.physical_type], not _is_unsigned(element)
    return lambda value: int.from_bytes(_sized(value, size), "little", signed=signed)


_SIZES = {PhysicalType.INT32: 4, PhysicalType.INT64: 8}


def _decimals(element: SchemaElement) -> Decode | None:
    logical, physical = element.logical_type, element.physical_type
    if logical is None or logical.kind is LogicalKind.INTEGER:  # widened
        whole = _integers(element)
        return None if whole is None else lambda value: Decimal(whole(value))
    if logical.kind is not LogicalKind.DECIMAL or not 0 <= (logical.scale or 0) <= 38:
        return None
    scale = -(logical.scale or 0)
    if physical in _SIZES:
        size = _SIZES[physical]
        return lambda value: _scaled(int.from_bytes(_sized(value, size), "little", signed=True), scale)
    if not _is_bytes(element):
        return None
    length = element.type_length if physical is PhysicalType.FIXED_LEN_BYTE_ARRAY else None
    return lambda value: _scaled(
        int.from_bytes(value if length is None else _sized(value, length), "big", signed=True), scale
    )


def _scaled(unscaled: int, scale: int) -> Decimal:
    return Decimal(unscaled).scaleb(scale, _EXACT)


def _fractions(element: SchemaElement, data_type: DataType) -> BoundKind | None:
    decode_log: Callable[[Any], Any] = _logged_double
    decode: Decode | None
    if element.physical_type is PhysicalType.FLOAT and _kind(element) is None:
        if str(data_type) == "double":
            return BoundKind(_float, _logged_double, _plain, is_widened=True)
        decode, decode_log = _float, _logged_float
    elif element.physical_type is PhysicalType.DOUBLE and str(data_type) == "double":
        decode = _double
    else:  # widened
        decode = _integers(element)
    return None if decode is None else _number(decode, decode_log, unsigned=_is_unsigned(element))


def _float(value: bytes) -> float:
    return float(struct.unpack("<f", _sized(value, 4))[0])


def _double(value: bytes) -> float:
    return float(struct.unpack("<d", _sized(value, 8))[0])


def _flag(value: bytes) -> bool:
    return _sized(value, 1) != b"\0"


def _moments(element: SchemaElement, name: str) -> Decode | None:
    logical = element.logical_type
    if name == "timestamp_ntz" and element.physical_type is PhysicalType.INT32 and _kind(element) is LogicalKind.DATE:
        return lambda value: _signed(value) * _DAY
    if logical is None or logical.kind is not LogicalKind.TIMESTAMP or logical.unit not in _UNITS:
        return None
    factor = _UNITS[logical.unit]
    return lambda value: int.from_bytes(_sized(value, 8), "little", signed=True) * factor


# -- values in the log -----------------------------------------------------------------------------


def _logged_integer(value: Any) -> int:
    if type(value) is int:
        return value
    raise UndecidableBoundError("it is not an integer")


def _logged_decimal(value: Any, scale: int) -> Decimal:
    """Return a decimal of the column's scale: engines round further digits half up."""
    try:
        number = Decimal(value) if type(value) in (int, str, Decimal) else None
        if number is None or not number.is_finite():
            raise UndecidableBoundError("it is not a decimal")
        if -number.as_tuple().exponent <= scale:  # type: ignore[operator]  # it is finite
            return number
        return number.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    except InvalidOperation:
        raise UndecidableBoundError("it is not a decimal") from None


def _logged_double(value: Any) -> float:
    if type(value) is bool or not isinstance(value, (int, float, str, Decimal)):
        raise UndecidableBoundError("it is not a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]  # texts do not overflow


def _logged_float(value: Any) -> float:
    """Return the nearest float: engines write the shortest digits that lead to it."""
    number = _logged_double(value)
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise UndecidableBoundError("it is not a string")


@lru_cache(maxsize=4096)
def _day_of(text: str) -> int:
    return days_of(parse_date(text))


def _logged_day(value: Any) -> int:
    return _day_of(_text(value))


def _logged_moment(value: Any) -> int:
    text = _text(value)
    if not (has_zone(text) and (text[-1] in "zZ" or _SIGNS & set(text[-9:]))):
        raise UndecidableBoundError("it has no zone")
    return parse_timestamp(text)


def _logged_micros(value: Any) -> int:
    """Return a moment without the digits that engines do not read."""
    return _logged_moment(value) // 1000 * 1000


def _no_order(_: bytes) -> float:
    """Return NaN: bounds of INT96 have no order that readers trust, so only rows decide."""
    return math.nan


_SIGNS = {"+", "-"}


def _logged_local(value: Any) -> int:
    """Return a local time. Some engines write it as if it were in UTC."""
    text = with_time(_text(value))
    if text.endswith(("Z", "z")):
        text = text[:-1]
    elif "+" in text[10:] or "-" in text[10:]:
        raise UndecidableBoundError("it has a zone")
    return parse_timestamp(text)


def _logged_text(value: Any) -> bytes:
    return _text(value).encode()


def _logged_flag(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise UndecidableBoundError("it is not a boolean")


Pack = Callable[[Any], bytes]


class Packing(NamedTuple):
    """Functions that encode a minimum and a maximum as a file stores them. They raise errors for other types.

    :param code: code of ``struct`` that encodes both; empty if there is none
    """

    pack_min: Pack
    pack_max: Pack
    code: str = ""


def packing_of(element: SchemaElement, of: str) -> Packing | None:
    """Return the encoding of bounds; None if it is not always possible."""
    physical = element.physical_type
    if of in _INTEGERS and not _is_unsigned(element):
        of = ""
    if of == "string":
        return Packing(str.encode, str.encode)
    if (physical, of) == (PhysicalType.INT32, "date"):
        return Packing(_packed_day, _packed_day)
    code = _CODES.get((physical, of))
    if code is None:
        return None
    pack = struct.Struct(f"<{code}").pack
    if code in FRACTIONS:
        return Packing(lambda value: pack(value or -0.0), pack, code)  # files have -0.0 as the minimum for 0
    return Packing(pack, pack, code)


def _packed_day(value: Any) -> bytes:
    return struct.pack("<i", _day_of(value))


#: Codes of ``struct`` for types in files and in the log; those of floats.
_CODES: dict[tuple[PhysicalType | None, str], str] = {
    (PhysicalType.INT32, ""): "i",
    (PhysicalType.INT64, ""): "q",
    (PhysicalType.FLOAT, "float"): "f",
    (PhysicalType.DOUBLE, "double"): "d",
}
FRACTIONS = "fd"


# -- values in SQL ---------------------------------------------------------------------------------


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"double('{value}')"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _shown_day(value: int) -> str:
    return f"DATE '{_civil(value)}'"


def _shown_moment(value: int, of: str) -> str:
    day, rest = divmod(value, _DAY)
    seconds, fraction = divmod(rest, 1_000_000_000)
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    digits = f".{fraction:09}".rstrip("0").rstrip(".")
    return f"{of} '{_civil(day)} {time}{digits}{'Z' if of == 'TIMESTAMP' else ''}'"


def _civil(days: int) -> str:
    """Return a day of today's calendar. Eras of 400 years begin in March."""
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    rest = day - (365 * year + year // 4 - year // 100)
    month = (5 * rest + 2) // 153
    number = rest - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year += era * 400 + (month < 3)
    return f"{f'{year:04}' if 0 <= year < 10_000 else f'{year:+05}'}-{month:02}-{number:02}"


def in_log(value: Any, of: str, *, upper: bool) -> str:
    """Return a value as statistics in the log have it, with all its digits: numbers as the digits of the JSON number.

    A string is cut to 32 characters; a maximum then ends in the last character of Unicode.

    :param of: type of the column
    :param upper: True for a maximum
    :raises UndecidableBoundError: for bytes that are no text
    """
    if isinstance(value, bytes):
        return _cut_text(value, upper=upper)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if of == "date":
        return _civil(value)
    if of in ("timestamp", "timestamp_ntz"):
        return _shown_moment(value, of.upper()).split("'")[1].replace(" ", "T")
    return _plain(value)


def _cut_text(value: bytes, *, upper: bool) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise UndecidableBoundError("it is no text") from None
    for length in range(_PREFIX, len(text)):
        cut = text[:length] + (_LAST_CHARACTER if upper else "")
        if not upper or cut > text:  # characters sort as their bytes do
            return cut
    return text


#: Characters of a string in statistics, and the character that no other one exceeds.
_PREFIX, _LAST_CHARACTER = 32, "\U0010ffff"

#: Maximum number of characters of a string that are shown.
_MOST_TEXT = 60


def _shown_text(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    return literal(text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…")


def is_cut_from(bound: bytes, value: bytes, *, upper: bool) -> bool:
    """Return True if a bound of strings may be a value of the file, cut off: a prefix, with a greater end if upper."""
    if not upper:
        return value.startswith(bound)
    common = 0
    for one, other in zip(bound, value):
        if one != other:
            break
        common += 1
    return len(bound) - common <= _LONGEST_CHARACTER and common > 0


#: Bytes of a character in UTF-8.
_LONGEST_CHARACTER = 4
