"""A partition's values as written in the names of directories, before escapes.

Apache Paimon, ``InternalRowPartitionComputer``. By default (``partition.legacy-name``), a value is written in Java's
string form, and a date as days since 1970; otherwise, in the form of a SQL cast to string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

from airflow_delta_provider.domain.paimon.binary_row import Timestamp
from airflow_delta_provider.domain.paimon.data_type import DataField, DataType
from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError

_FIRST_DAY = date(1970, 1, 1)
_Show = Callable[[Any, DataType], str]


def partition_text(column: DataField, value: Any, *, legacy: bool) -> str:
    """Return a value as written in a directory's name, before escapes.

    :param value: value from :func:`binary_row.read_partition`, not None
    :param legacy: True if the table has ``partition.legacy-name``
    :raises PaimonFormatError: if the string depends on the writer's Java or time zone
    """
    show = (_LEGACY if legacy else _CAST).get(column.type.root)
    if show is None:
        raise PaimonFormatError(
            f"the directories of partitions by {column.name} of type {column.type.root} are named as the writer's "
            "Java or time zone has it, which is unknown here"
        )
    return show(value, column.type)


def _as_it_is(value: Any, _: DataType) -> str:
    return str(value)


def _boolean(value: bool, _: DataType) -> str:
    return "true" if value else "false"


def _decimal(value: Decimal, _: DataType) -> str:
    return format(value, "f")


def _days(value: date, _: DataType) -> str:
    return str((value - _FIRST_DAY).days)


def _milliseconds(value: time, _: DataType) -> str:
    return str(((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000)


def _time(value: time, data_type: DataType) -> str:
    """Format a time with as many fractional digits as it needs, at least one if its type has any."""
    fraction = f"{value.microsecond // 1000:03}"[: data_type.arguments[0]]
    return f"{value:%H:%M:%S}" + (f".{fraction[0]}{fraction[1:].rstrip('0')}" if fraction else "")


def _java_timestamp(value: Timestamp, _: DataType) -> str:
    """Format a timestamp as Java does.

    It has seconds only if they are not zero, and their fraction in groups of three digits.
    """
    text = value.seconds.isoformat(timespec="minutes")
    if value.seconds.second or value.nanoseconds:
        text += f":{value.seconds.second:02}"
    if value.nanoseconds:
        digits = f"{value.nanoseconds:09}"
        while digits.endswith("000"):
            digits = digits[:-3]
        text += f".{digits}"
    return text


def _timestamp(value: Timestamp, data_type: DataType) -> str:
    """Format a timestamp with as many fractional digits as the type has, and more if they are not zeros."""
    precision = data_type.arguments[0]
    digits = f"{value.nanoseconds:09}"
    digits = digits[:precision] + digits[precision:].rstrip("0")
    return value.seconds.isoformat(sep=" ") + (f".{digits}" if digits else "")


def _utf8(value: bytes, _: DataType) -> str:
    return value.decode(errors="replace")


_ALWAYS: Mapping[str, _Show] = {
    "BOOLEAN": _boolean,
    "TINYINT": _as_it_is,
    "SMALLINT": _as_it_is,
    "INT": _as_it_is,
    "BIGINT": _as_it_is,
    "CHAR": _as_it_is,
    "VARCHAR": _as_it_is,
    "DECIMAL": _decimal,
}
_LEGACY: Mapping[str, _Show] = {
    **_ALWAYS,
    "DATE": _days,
    "TIME": _milliseconds,
    "TIMESTAMP": _java_timestamp,
    "TIMESTAMP_LTZ": _java_timestamp,
}
_CAST: Mapping[str, _Show] = {
    **_ALWAYS,
    "DATE": _as_it_is,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "BINARY": _utf8,
    "VARBINARY": _utf8,
}
