"""What stored values mean. parquet-format, ``LogicalTypes.md``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Context, Decimal, Inexact, InvalidOperation
from struct import Struct
from typing import Any

from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError
from airflow_delta_provider.domain.formats.parquet.schema import (
    LogicalKind,
    LogicalType,
    PhysicalType,
    SchemaElement,
    TimeUnit,
)

#: Turns stored values into those of Python.
Conversion = Callable[[Sequence[Any]], Sequence[Any]]

_TEXTS = (LogicalKind.STRING, LogicalKind.ENUM, LogicalKind.JSON)
_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_JULIAN_EPOCH_DAY = 2_440_588
_INT96 = Struct("<qi")
_HALF = Struct("<e")


def converted(values: Sequence[Any], element: SchemaElement) -> Sequence[Any]:
    """Return what values mean: texts, numbers, dates and times as those of Python, other things as bytes.

    Nanoseconds are cut off to microseconds; an INT96 is a timestamp.

    :param values: as they are stored; an INT96 as its twelve bytes
    :raises ParquetError: if one is none of its type, or lies outside of what Python has
    """
    conversion = _conversion(element)
    if conversion is None:
        return values
    try:
        return conversion(values)
    except (ValueError, OverflowError, InvalidOperation, Inexact) as error:
        raise ParquetError(f"column {element.name} has a value that is none of its type: {error}") from None


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
    if physical in (PhysicalType.INT32, PhysicalType.INT64):
        return _integers(logical, physical)
    if kind is LogicalKind.FLOAT16 and element.type_length == _HALF.size:
        return lambda values: [_HALF.unpack(value)[0] for value in values]
    return None


def _integers(logical: LogicalType, physical: PhysicalType) -> Conversion | None:
    kind = logical.kind
    if kind is LogicalKind.INTEGER and logical.signed is False:
        mask = 0xFFFFFFFF if physical is PhysicalType.INT32 else 0xFFFFFFFFFFFFFFFF
        return lambda values: [value & mask for value in values]
    if kind is LogicalKind.DATE:
        return lambda values: [date.fromordinal(_EPOCH_DAY + value) for value in values]
    if logical.unit is None:
        return None
    if kind is LogicalKind.TIMESTAMP:
        zone = timezone.utc if logical.adjusted_to_utc else None
        return lambda values: [moment.replace(tzinfo=zone) for moment in _moments(values, logical.unit)]
    if kind is LogicalKind.TIME:
        return lambda values: [_time(moment) for moment in _moments(values, logical.unit)]
    return None


def _texts(values: Sequence[bytes]) -> Sequence[str]:
    return [value.decode() for value in values]


def _moments(values: Sequence[int], unit: TimeUnit | None) -> Sequence[datetime]:
    if unit is TimeUnit.NANOS:
        return [_EPOCH + timedelta(microseconds=value // 1000) for value in values]
    if unit is TimeUnit.MILLIS:
        return [_EPOCH + timedelta(milliseconds=value) for value in values]
    return [_EPOCH + timedelta(microseconds=value) for value in values]


def _time(moment: datetime) -> time:
    if moment.date() != _EPOCH.date():
        raise ValueError("a time is no time of a day")
    return moment.time()


def _int96(values: Sequence[bytes]) -> Sequence[datetime]:
    """Nanoseconds of a day, and the day as a Julian one: a convention of Impala's that Spark took over."""
    parts = map(_INT96.unpack, values)
    return [_EPOCH + timedelta(days=day - _JULIAN_EPOCH_DAY, microseconds=nanos // 1000) for nanos, day in parts]


def _decimals(logical: LogicalType, *, as_bytes: bool) -> Conversion:
    scale, precision = logical.scale or 0, logical.precision or 0
    if not 0 < precision <= _MOST_DIGITS or not 0 <= scale <= precision:
        raise ParquetError(f"its schema has decimals of {precision} digits, {scale} of them behind the point")
    exact = Context(prec=_MOST_DIGITS, traps=[InvalidOperation, Inexact])

    def decimals(values: Sequence[Any]) -> Sequence[Decimal]:
        numbers = [int.from_bytes(value, "big", signed=True) for value in values] if as_bytes else values
        return [exact.scaleb(exact.create_decimal(number), -scale) for number in numbers]

    return decimals


#: More than any writer's decimals have.
_MOST_DIGITS = 1000
