"""Partition values: strings for values of a type.

PROTOCOL.md, Partition Value Serialization. Besides the specified form, these spellings that all engines read are
accepted: omitted zeros, a plus sign, any case of ``true``, ``NaN`` and ``Infinity``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from airflow_delta_provider.domain.delta.data_type import DataType, DecimalType, PrimitiveType

_DATE = r"(?P<year>[+-]?\d{4,7})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,9}))?"
_ZONE = r"(?P<zone>[zZ]|[+-]\d{2}:?\d{2}(?::?\d{2})?)"
_DAY = re.compile(_DATE, re.ASCII)
_MOMENT = re.compile(rf"{_DATE}(?P<separator>[T ])(?:{_TIME}){_ZONE}?", re.ASCII)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
#: Last year for which old engines use the leap years of the Julian calendar.
_LAST_JULIAN_YEAR = 1582

Date = tuple[int, int, int]


def parse_date(text: str) -> Date:
    """Return year, month and day of ``{year}-{month}-{day}``.

    :raises ValueError: if the string is not a date, or there is no such day
    """
    found = _DAY.fullmatch(text)
    if found is None:
        raise ValueError("it is not a date")
    return _day(found)


def parse_timestamp(text: str) -> int:
    """Return the nanoseconds from 1970 to a timestamp; UTC if it has no zone.

    The separator is ``T`` or a blank.

    :raises ValueError: if the string is not a timestamp, or there is no such time
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError("it is not a timestamp")
    hour, minute, second = (int(found[unit]) for unit in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("there is no such time")
    seconds = days_of(_day(found)) * 86_400 + hour * 3600 + minute * 60 + second - _offset(found["zone"])
    return seconds * 1_000_000_000 + int((found["fraction"] or "0").ljust(9, "0"))


def parse_moment(text: str) -> int:
    """Return the nanoseconds from 1970 to a timestamp, or to the beginning of a date.

    :raises ValueError: if the string is neither, or there is no such time
    """
    return parse_timestamp(with_time(text))


def with_time(text: str) -> str:
    """Return the timestamp at the beginning of a date; a timestamp stays as it is."""
    return text if len(text) > _LONGEST_DATE else f"{text} 00:00:00"


_LONGEST_DATE = 12


def has_zone(text: str) -> bool:
    """Return True if a timestamp has a zone, or a ``T`` like timestamps that have one."""
    found = _MOMENT.fullmatch(text)
    return found is not None and (found["zone"] is not None or found["separator"] == "T")


def _day(found: re.Match[str]) -> Date:
    year, month, day = (int(found[unit]) for unit in ("year", "month", "day"))
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1] + (month == 2 and _is_leap(year)):
        raise ValueError("there is no such day")
    return year, month, day


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0 or year <= _LAST_JULIAN_YEAR)


def days_of(date: Date) -> int:
    """Return the days from 1970 to a date.

    Years begin in March here, so that a leap day is the last of its year.
    """
    year, month, day = date
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)
    return year * 365 + year // 4 - year // 100 + year // 400 + (month * 153 + 2) // 5 + day - 719_469


def _offset(zone: str | None) -> int:
    if zone is None or zone in "zZ":
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:])
    return -seconds if zone[0] == "-" else seconds


_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)
_GREATEST_FLOAT = 3.4028235677973366e38
#: Number of bits of the integer types.
_BITS: Mapping[str, int] = {"byte": 8, "short": 16, "integer": 32, "long": 64}


def is_partition_value(text: str, data_type: DataType, *, widened: bool = False) -> bool:
    """Return True if a non-empty string is a value of a type.

    Types that are not checked here accept any string.

    :param widened: True if the column may have had another type before, and so may have values of that type
    """
    if isinstance(data_type, DecimalType):
        return _is_decimal(text, data_type)
    if not isinstance(data_type, PrimitiveType):
        return True
    if data_type.name in _BITS:
        return _is_integer(text, _BITS[data_type.name])
    if data_type.name == "timestamp_ntz" and widened and _reads(parse_date, text):
        return True
    check = _CHECKS.get(data_type.name)
    return check is None or check(text)


def readings(text: str, data_type: DataType) -> str | None:
    """Return the values that engines read from the string of a value, in a sentence; None if they agree.

    Measured with deltalake 0.18.2, 1.0.2 and 1.6.6, Polars 2.1, Daft 0.7, DuckDB 1.5 and Delta Spark 4.4. Before that,
    the string is a value of the type, or empty.
    """
    name = "decimal" if isinstance(data_type, DecimalType) else str(data_type)
    return next((read for types, is_ambiguous, read in _READINGS if name in types and is_ambiguous(text)), None)


def measured_engines(sentence: str) -> frozenset[str]:
    """Return the engines that a sentence of :func:`readings` names, by the names of their profiles."""
    return frozenset(name for word, names in _MEASURED.items() if word in sentence for name in names)


#: Names of engines in the sentences, with the names of their profiles.
_MEASURED: Mapping[str, tuple[str, ...]] = {
    "Delta Spark": ("Delta Spark",),
    "deltalake": ("delta-rs", "deltalake to_pyarrow_table"),
    "Polars": ("Polars",),
    "Daft": ("Daft",),
    "DuckDB": ("DuckDB",),
}
#: Value in paths of files for NULL.
NULL_IN_PATHS = "__HIVE_DEFAULT_PARTITION__"
_TIMES = ("date", "timestamp", "timestamp_ntz")
#: Types, test of a string, and how engines read it. The first match counts.
_READINGS: tuple[tuple[tuple[str, ...], Callable[[str], object], str], ...] = (
    (
        ("string", "binary"),
        lambda text: text == "",
        "It is NULL by PROTOCOL.md, in DuckDB, in Daft and in deltalake's DataFrames, but an empty value in Delta "
        "Spark and in deltalake's SQL",
    ),
    (
        ("string",),
        NULL_IN_PATHS.__eq__,
        "It is NULL in Polars, but this text in Delta Spark, Daft and deltalake",
    ),
    (
        ("binary",),
        re.compile(r"\\u[0-9a-fA-F]{4}|[^\x00-\x7f]").search,
        "By PROTOCOL.md, each character or escape is one byte, but Delta Spark, DuckDB, Daft and deltalake read the "
        "characters of the text in UTF-8",
    ),
    (
        _TIMES,
        re.compile(r"\d{5}", re.ASCII).match,
        "deltalake, Polars and Daft cannot open a table with a year of more than four digits",
    ),
    (
        ("timestamp",),
        lambda text: not text.endswith(("Z", "z")) and _zone_of(text) is None,
        "It is a time in UTC in deltalake, Polars and Daft, but one in the session's time zone in Delta Spark",
    ),
    (
        ("timestamp",),
        lambda text: not text.endswith(("Z", "z")),
        "Delta Spark, Daft and deltalake convert it to UTC, but DataFrames of deltalake before 1.6 ignore its zone or "
        "are NULL",
    ),
    (
        ("decimal",),
        re.compile(r"-.*(?:\..*[1-9]|[eE]-)").match,
        "Delta Spark, Daft, Polars and deltalake's SQL read it, but deltalake's DataFrames fail on negative decimals "
        "with a fraction",
    ),
)


def _zone_of(text: str) -> str | None:
    found = _MOMENT.fullmatch(text)
    return None if found is None else found["zone"]


def _is_integer(text: str, bits: int) -> bool:
    return _INTEGER.fullmatch(text) is not None and -(1 << bits - 1) <= int(text) < 1 << bits - 1


def _is_decimal(text: str, of: DecimalType) -> bool:
    """Return True if a number fits; trailing zeros after the point do not count."""
    if not _NUMBER.fullmatch(text):
        return False
    try:
        value = Decimal(text)
    except InvalidOperation:
        return False
    if not value:
        return True
    _, digits, exponent = value.as_tuple()
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    least = int(exponent) + zeros
    return -least <= of.scale and value.adjusted() < of.precision - of.scale


def _is_float(text: str, greatest: float) -> bool:
    if _NOT_FINITE.fullmatch(text):
        return True
    return _NUMBER.fullmatch(text) is not None and abs(float(text)) <= greatest


def _is_timestamp_without_zone(text: str) -> bool:
    return _reads(parse_timestamp, text) and not has_zone(text)


def _reads(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "float": lambda text: _is_float(text, _GREATEST_FLOAT),
    "double": lambda text: _is_float(text, 1.7976931348623157e308),
    "boolean": lambda text: text.lower() in ("true", "false"),
    "date": lambda text: _reads(parse_date, text),
    "timestamp": lambda text: _reads(parse_timestamp, text),
    "timestamp_ntz": _is_timestamp_without_zone,
}
