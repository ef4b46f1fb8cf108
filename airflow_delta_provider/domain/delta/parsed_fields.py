"""Comparison of parsed fields with their strings, in a checkpoint's ``add`` action.

PROTOCOL.md, Checkpoints: ``partitionValues_parsed`` has the values of ``partitionValues`` in the types of the columns,
``stats_parsed`` those in ``stats``. A value has the type that PyArrow or JSON gives it. Dates and timestamps are
strings; a timestamp without a zone is in UTC. Old calendars and zones, which engines treat differently, are not
compared.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from math import copysign, inf, isclose, isfinite
from typing import Any

from airflow_delta_provider.domain.delta.column_statistics import (
    BOUNDS,
    ColumnKind,
    Columns,
    columns_of,
    is_after,
    read_statistics,
    walk,
)
from airflow_delta_provider.domain.delta.data_type import DataType, DecimalType
from airflow_delta_provider.domain.delta.metadata import Metadata, physical_name
from airflow_delta_provider.domain.delta.partition_value import (
    NULL_IN_PATHS,
    is_partition_value,
    parse_date,
    parse_moment,
    parse_timestamp,
)

PARTITION_VALUES, STATISTICS = "partitionValues_parsed", "stats_parsed"
#: Field for the number of rows in a checkpoint's parsed statistics.
PARSED_COUNT = f"{STATISTICS}.numRecords"
#: Nanoseconds from 1970 to 1900 (zones had odd seconds before), and the first full year of today's calendar.
_EARLIEST, _FIRST_YEAR = parse_timestamp("1900-01-01 00:00:00"), 1583
#: Nanoseconds. Engines cut timestamps to milliseconds. A string without a zone can be up to a day off.
_MILLISECOND, _ANY_ZONE = 1_000_000, 26 * 3600 * 1_000_000_000
#: Minimum number of equal characters in strings, which engines cut if they are longer.
_PREFIX = 16
_NULLS = (None, "", NULL_IN_PATHS)
_INTEGERS = frozenset({"byte", "short", "integer", "long"})
_FRACTIONS = frozenset({"float", "double"})


def parsed_differences(add: Mapping[str, Any], metadata: Metadata, stats: object) -> list[str]:
    """Return contradictions between the parsed fields of an ``add`` action and its strings, for people.

    :param stats: JSON string of its statistics; any other value if unknown
    """
    values, parsed = add.get("partitionValues"), add.get(PARTITION_VALUES)
    found: list[str] = []
    if isinstance(values, Mapping) and isinstance(parsed, Mapping) and metadata.readable_columns is not None:
        found += _of_partition(values, parsed, metadata)
    parsed, columns = add.get(STATISTICS), columns_of(metadata)
    if isinstance(parsed, Mapping) and isinstance(stats, str) and columns is not None:
        try:
            logged = read_statistics(stats, exact=columns.need_exact)
        except ValueError:
            return found
        if isinstance(logged, Mapping):
            found += _of_statistics(logged, parsed, columns)
            rows = logged.get("numRecords")
            if (
                rows is not None
                and parsed.get("numRecords") is None
                and not add.get("stats")
                and add.get("deletionVector")
            ):
                found.append(f"{STATISTICS} (numRecords of a file with a deletion vector is null, not {_shown(rows)})")
    return found


def narrower_bounds(stats: object, other: object, metadata: Metadata) -> Iterator[str]:
    """Yield the bounds in ``other`` that exclude values which the bounds in ``stats`` include, for messages.

    :param stats: JSON string of statistics; any other value if unknown
    """
    columns = columns_of(metadata)
    try:
        ours, theirs = (read_statistics(text, exact=True) if isinstance(text, str) else None for text in (stats, other))
    except ValueError:
        return
    if columns is None or not (isinstance(ours, Mapping) and isinstance(theirs, Mapping)):
        return
    known = {kind.name: bounds for kind, *bounds, _ in walk(ours, columns)}
    for kind, *bounds, _ in walk(theirs, columns):
        narrower = _NARROWER.get("decimal" if kind.decimal is not None else kind.type_name)
        for part, text, value in zip(BOUNDS, known.get(kind.name, ()), bounds):
            try:
                if narrower in (_is_less, _is_lower) and narrower(text, value, kind, part == BOUNDS[1]):
                    yield f"stats ({part} of {kind.name} is {_shown(value)}, not {_shown(text)})"
            except (TypeError, ValueError, ArithmeticError):
                pass  # one is missing, or was reported with the statistics


def _of_partition(values: Mapping[str, Any], parsed: Mapping[str, Any], metadata: Metadata) -> Iterator[str]:
    mode = metadata.properties.mapping_mode
    for field in metadata.schema.fields:
        name = physical_name(field, mode)
        if field.name not in metadata.partition_columns or name not in values or name not in parsed:
            continue
        text, value = values[name], parsed[name]
        if not _stands_for(text, value, field.data_type):
            yield f"{PARTITION_VALUES} ({field.name} is {_shown(value)}, not {_shown(text)})"


def _stands_for(text: Any, value: Any, data_type: DataType) -> bool:
    kind = "decimal" if isinstance(data_type, DecimalType) else str(data_type)
    compare = _COMPARED.get(kind)
    if compare is None:
        return True
    if text in _NULLS:
        return value in _NULLS
    if not isinstance(text, str) or not is_partition_value(text, data_type, widened=True):
        return True
    if value is None:
        return False
    if kind == "string":
        return bool(text == value)
    if kind == "decimal" and isinstance(value, Decimal):
        return Decimal(text) == value
    try:
        is_near = compare(_meant(text, kind), value)
        if is_near and kind in _FRACTIONS and isfinite(float(value)):
            return _nearest(text, kind) == _nearest(value, kind)
        return is_near
    except (TypeError, ValueError, ArithmeticError):
        return False


def _meant(text: str, kind: str) -> Any:
    """Return the value of a partition value's string."""
    if kind in _INTEGERS:
        return int(text)
    if kind in _FRACTIONS:
        return float(text)
    if kind == "decimal":
        return Decimal(text)
    return text.lower() == "true" if kind == "boolean" else text


def _of_statistics(logged: Mapping[str, Any], parsed: Mapping[str, Any], columns: Columns) -> Iterator[str]:
    rows = logged.get("numRecords"), parsed.get("numRecords")
    if None not in rows and rows[0] != rows[1]:
        yield f"{STATISTICS} (numRecords is {_shown(rows[1])}, not {_shown(rows[0])})"
    tight = logged.get("tightBounds"), parsed.get("tightBounds")
    if None not in tight and tight[0] is not tight[1]:
        yield f"{STATISTICS} (tightBounds is {_shown(tight[1])}, not {_shown(tight[0])})"
    texts = {kind.name: rest for kind, *rest in walk(logged, columns)}
    for kind, *ours in walk(parsed, columns):
        parts = zip(BOUNDS, texts.get(kind.name, ()), ours)
        for part, text, value in parts:
            if text is not None and value is not None and not _is_bound(text, value, kind, upper=part == BOUNDS[1]):
                yield f"{STATISTICS} ({part} of {kind.name} is {_shown(value)}, not {_shown(text)})"
        *_, text = texts.get(kind.name, (None,))
        if type(text) is int and ours[-1] is not None and ours[-1] != text:
            yield f"{STATISTICS} (nullCount of {kind.name} is {_shown(ours[-1])}, not {text})"


def _is_bound(text: Any, value: Any, kind: ColumnKind, *, upper: bool) -> bool:
    """Return True if a parsed bound is close to its string, and excludes no value that the string includes."""
    of = "decimal" if kind.type_name.startswith("decimal") else kind.type_name
    compare = _COMPARED.get(of)
    if compare is None or kind.value is None or kind.below is not None:
        return True
    try:
        kind.value(text)
    except ValueError:
        return True  # reported with the statistics
    if of == "timestamp" and not _has_zone(text):
        return True
    narrower = _NARROWER.get(of)
    try:
        return compare(text, value) and not (narrower is not None and narrower(text, value, kind, upper))
    except (TypeError, ValueError, ArithmeticError):
        return False


def _is_lower(logged: Any, value: Any, kind: ColumnKind, upper: bool) -> bool:
    """Return True if a decimal excludes at least one value of its scale."""
    ours, theirs = (number if isinstance(number, Decimal) else Decimal(str(number)) for number in (logged, value))
    excess = theirs - ours if upper else ours - theirs
    return kind.decimal is not None and -excess >= Decimal(1).scaleb(-kind.decimal.scale)


def _is_less(logged: Any, value: Any, kind: ColumnKind, upper: bool) -> bool:
    """Return True if a float excludes its neighbour: no difference is too small to hide rows."""
    ours, theirs = _nearest(logged, kind.type_name), _nearest(value, kind.type_name)
    return ours > theirs if upper else ours < theirs


def _is_earlier(logged: str, value: str, _: ColumnKind, upper: bool) -> bool:
    """Return True if a time excludes a millisecond. Engines cut times to milliseconds, and readers allow for that."""
    ours, theirs = _times(logged, value)
    return (ours - theirs if upper else theirs - ours) >= _MILLISECOND and min(ours, theirs) >= _EARLIEST


def _is_shorter(logged: str, value: str, _: ColumnKind, upper: bool) -> bool:
    """Return True if a string excludes longer ones."""
    return is_after(logged, value) if upper else is_after(value, logged)


#: For each type, a function that returns True if a bound excludes values that its string includes.
_NARROWER: Mapping[str, Callable[[Any, Any, ColumnKind, bool], bool]] = {
    "float": _is_less,
    "double": _is_less,
    "decimal": _is_lower,
    "string": _is_shorter,
    "timestamp": _is_earlier,
    "timestamp_ntz": _is_earlier,
}


def _integer(logged: Any, value: Any) -> bool:
    return type(value) is int and logged == value


def _fraction(logged: Any, value: Any, tolerance: float = 1e-12) -> bool:
    one, other = float(logged), float(value)
    if not (isfinite(one) and isfinite(other)):
        return True
    return not isinstance(value, (str, bool)) and isclose(one, other, rel_tol=tolerance)


def _nearest(value: Any, of: str) -> float:
    """Return the value of a type that is nearest to a number."""
    number = float(value)
    try:
        return number if of == "double" else float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return copysign(inf, number)


def _decimal(logged: Any, value: Any) -> bool:
    return not isinstance(value, (str, bool)) and isclose(float(logged), float(value), rel_tol=1e-9)


def _string(logged: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    return logged == value or (min(len(logged), len(value)) > _PREFIX and logged[:_PREFIX] == value[:_PREFIX])


def _boolean(logged: Any, value: Any) -> bool:
    return logged is value


def _date(logged: str, value: Any) -> bool:
    one, other = (parse_date(_text(text).partition("T")[0].partition(" ")[0]) for text in (logged, value))
    return one == other or min(one[0], other[0]) < _FIRST_YEAR


def _moment(logged: str, value: Any) -> bool:
    """Return True if two times are equal; without a zone in ``logged``, if they are equal in some zone."""
    return _are_near(logged, value, _MILLISECOND if _has_zone(logged) else _ANY_ZONE)


def _clock_time(logged: str, value: Any) -> bool:
    return _are_near(logged, value, _MILLISECOND)


def _are_near(logged: str, value: Any, most: int) -> bool:
    one, other = _times(logged, value)
    return abs(one - other) <= most or min(one, other) < _EARLIEST


def _times(logged: str, value: Any) -> tuple[int, int]:
    return parse_moment(logged), parse_moment(_text(value))


def _has_zone(text: str) -> bool:
    return any(sign in text[10:] for sign in "zZ+-")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("it is not a date or time")
    return value


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)[:50]


_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    "float": partial(_fraction, tolerance=1e-6),
    "double": _fraction,
    "decimal": _decimal,
    "string": _string,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _moment,
    "timestamp_ntz": _clock_time,
}
