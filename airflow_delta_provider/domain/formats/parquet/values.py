"""Conversion of stored values to Python values. parquet-format, ``LogicalTypes.md``.

Dates, times and timestamps become strings, because Python's own types end with the year 9999: ``2024-02-29``,
``12:30:01.000005``, ``2024-02-29 12:30:01.000005``. Timestamps in UTC end with ``Z``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Context, Decimal, Inexact, InvalidOperation
from struct import Struct
from typing import Any

from airflow_delta_provider.domain.formats.parquet.schema import (
    LogicalKind,
    LogicalType,
    PhysicalType,
    SchemaElement,
    TimeUnit,
)
from airflow_delta_provider.domain.formats.parquet.thrift import BrokenValueError, ParquetError

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
