"""Partition values: strings for values of a type.

PROTOCOL.md, Partition Value Serialization. Besides the specified form, these spellings that all engines read are
accepted: omitted zeros, a plus sign, any case of ``true``, ``NaN`` and ``Infinity``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from airflow_delta_provider.domain.delta.data_type import DataType, DecimalType, PrimitiveType
from airflow_delta_provider.domain.delta.temporal_text import has_zone, parse_date, parse_timestamp

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


def is_checked(data_type: DataType) -> bool:
    """Return True if some strings are not values of the type."""
    if isinstance(data_type, DecimalType):
        return True
    return isinstance(data_type, PrimitiveType) and (data_type.name in _BITS or data_type.name in _CHECKS)


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
