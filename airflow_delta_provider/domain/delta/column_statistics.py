"""Statistics of a data file: the valid form for the columns of a table.

PROTOCOL.md, Per-file Statistics and Statistics for Variant Columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from math import ceil, log2
from typing import Any, NoReturn

from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    lowered,
    path_text,
)
from airflow_delta_provider.domain.delta.deletion_vector import decode_z85
from airflow_delta_provider.domain.delta.features.columns import Identity
from airflow_delta_provider.domain.delta.metadata import ID, Metadata, physical_name
from airflow_delta_provider.domain.delta.partition_value import parse_date, parse_moment
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.text import SqlNameError, first_part

BOUNDS = ("minValues", "maxValues")
COUNTS = "nullCount"
#: Nanoseconds by which a bound may be wrong, because engines cut timestamps to milliseconds.
_MILLISECOND = 1_000_000


@dataclass(frozen=True)
class ColumnKind:
    """The form of a column's statistics.

    :param name: name of the column, for people
    :param type_name: type of the column, for people
    :param usual: Python types of bounds that need no further check if the lower is not above the upper
    :param value: function that returns the value of a bound, and raises ValueError if it is invalid. None if bounds are
        not checked
    :param plain: function that returns True if two bounds of the usual types are valid; None if all are
    :param slack: allowed excess of the lower bound over the upper, in units of ``value``'s result
    :param below: fields of a struct by their names in files; None for other types
    :param counted: True if its nulls are counted by row
    :param decimal: its type, if that is a decimal
    :param id: column mapping id; None if it has none
    """

    name: str
    type_name: str
    usual: tuple[type, ...] = ()
    value: Callable[[Any], Any] | None = None
    plain: Callable[[Any, Any], bool] | None = None
    slack: int = 0
    below: Columns | None = None
    counted: bool = True
    decimal: DecimalType | None = None
    id: Any = None


class Columns(dict[str, ColumnKind]):
    """Columns by their names in files."""

    @cached_property
    def need_exact(self) -> bool:
        """True if a column's type has more digits than a double: a decimal of more than 15."""
        return any(
            kind.below.need_exact if kind.below is not None else Decimal in kind.usual and float not in kind.usual
            for kind in self.values()
        )


_Kinds = Mapping[str, ColumnKind]


@lru_cache(maxsize=2)
def read_statistics(text: str, *, exact: bool = False) -> Any:
    """Return the JSON document of statistics.

    Several checks of a file share it, so callers must not change it.

    :param exact: True if numbers with a point or an exponent are returned as decimals, with the digits of the text
    :raises ValueError: if it is not JSON
    """
    try:
        if exact:
            return _EXACT_DECODER.decode(text)
        value, end = _SCANNER(text, 0)
        if end == len(text):
            return value
    except (StopIteration, ValueError, RecursionError, InvalidOperation):
        pass
    return parse_json(text)


def columns_of(metadata: Metadata) -> Columns | None:
    """Return the columns of a table by their names in files; None if the schema cannot be read."""
    return _columns_of(metadata.schema_string, metadata.properties.mapping_mode)


def is_sound(stats: Any, columns: _Kinds) -> bool:
    """Return True if the statistics are of the usual form, so nothing more must be checked. Fast."""
    try:
        rows, low, high = stats["numRecords"], stats.get("minValues"), stats.get("maxValues")
        if type(rows) is not int or rows < 0 or (low or high) is None:
            return False
        if type(stats.get("tightBounds", True)) is not bool:  # 1 equals True
            return False
        return _are_counts(stats["nullCount"], rows, low, columns) and _are_bounds(low, high, columns)
    except (KeyError, TypeError, AttributeError):
        return False


def _are_counts(counts: Mapping[str, Any], rows: int, low: Mapping[str, Any], columns: _Kinds) -> bool:
    for name, count in counts.items():
        if type(count) is int:
            if not (0 <= count <= rows and name in columns) or (count == rows and name in low):
                return False
        elif not _are_counts(count, rows, low.get(name) or {}, columns[name].below or {}):
            return False
    return True


def _are_bounds(low: Mapping[str, Any], high: Mapping[str, Any], columns: _Kinds) -> bool:
    if low.keys() != high.keys():
        return False
    for name, least in low.items():
        most, kind = high[name], columns[name]
        usual, plain = kind.usual, kind.plain
        if type(least) in usual and type(most) in usual:
            if not least <= most or (plain is not None and not plain(least, most)):
                return False
        elif kind.below is None or not _are_bounds(least, most, kind.below):
            return False
    return True


@lru_cache(maxsize=64)
def _columns_of(schema_string: str, mode: MappingMode) -> Columns | None:
    metadata = Metadata("", schema_string)
    return None if metadata.readable_columns is None else _columns(metadata.schema, mode, ())


def _columns(struct: StructType, mode: MappingMode, above: tuple[str, ...]) -> Columns:
    return Columns(
        (
            physical_name(field, mode),
            replace(_kind(field.data_type, mode, (*above, field.name), field.metadata), id=field.metadata.get(ID)),
        )
        for field in struct.fields
    )


def _kind(data_type: DataType, mode: MappingMode, parts: tuple[str, ...], metadata: Mapping[str, Any]) -> ColumnKind:
    name, of = path_text(parts), str(data_type)
    if isinstance(data_type, StructType):
        return ColumnKind(name, "struct", below=_columns(data_type, mode, parts), counted=False)
    if isinstance(data_type, (ArrayType, MapType)):
        return ColumnKind(name, of, counted=False)
    if isinstance(data_type, DecimalType):
        usual, value, plain = _of_decimal(data_type)
        return ColumnKind(name, of, usual, value, plain, decimal=data_type)
    if of == "string" and metadata.get("__COLLATIONS"):
        return ColumnKind(name, of)  # ordered differently
    if of == "long" and Identity.of(metadata) is not None:
        return ColumnKind(name, of, value=_BOUNDS[of][1])  # the valid values depend on the commit
    return ColumnKind(name, of, *_BOUNDS.get(of, ()))


def walk(stats: Mapping[str, Any], columns: _Kinds) -> Iterator[tuple[ColumnKind, Any, Any, Any]]:
    """Yield the kind of each column in the statistics, with its bounds and its null count.

    Bounds and count are None if missing. Columns of the file that the table does not have are skipped. A value that
    should describe a struct but is not a map is yielded with the kind of the struct.
    """
    low, high, counts = (stats.get(part) for part in (*BOUNDS, COUNTS))
    yield from _walk(low, high, counts, columns)


def _walk(low: Any, high: Any, counts: Any, columns: _Kinds) -> Iterator[tuple[ColumnKind, Any, Any, Any]]:
    parts = [part if isinstance(part, Mapping) else {} for part in (low, high, counts)]
    for name in dict.fromkeys(name for part in parts for name in part):
        kind = columns.get(name) or _in_another_case(name, columns)
        least, most, count = (part.get(name) for part in parts)
        if kind is None:
            continue
        if kind.below is None:
            yield kind, least, most, count
            continue
        wrong = [value if not isinstance(value, (Mapping, type(None))) else None for value in (least, most)]
        if wrong != [None, None]:
            yield kind, wrong[0], wrong[1], None
        yield from _walk(least, most, count, kind.below)


def _in_another_case(name: str, columns: _Kinds) -> ColumnKind | None:
    return next((kind for known, kind in columns.items() if known.lower() == name.lower()), None)


def _no_value(_: Any) -> NoReturn:
    raise ValueError("it is not a value of the type")


def _integer(value: Any) -> int:
    return value if type(value) is int else _no_value(value)


def _of_bits(bits: int) -> tuple[Any, ...]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def value(bound: Any) -> int:
        number = _integer(bound)
        return number if low <= number <= high else _no_value(bound)

    return (int,), value, lambda least, most: low <= least and most <= high


def _number(value: Any) -> Any:
    """Return a number, or None for a number that JSON cannot express."""
    if isinstance(value, str) and value.lstrip("+-").lower() in ("nan", "inf", "infinity"):
        return None
    return value if type(value) in (int, float, Decimal) else _no_value(value)


def _float(value: Any) -> Any:
    number = _number(value)
    return number if number is None or -_BEYOND_FLOATS < number < _BEYOND_FLOATS else _no_value(value)


def _are_floats(least: Any, most: Any) -> bool:
    return bool(least > -_BEYOND_FLOATS and most < _BEYOND_FLOATS)


def _of_decimal(data_type: DecimalType) -> tuple[Any, ...]:
    """Return the form of the bounds of a decimal. Some engines keep its digits in a string."""
    beyond = 10 ** (data_type.precision - data_type.scale)

    def value(bound: Any) -> Any:
        try:
            number = Decimal(bound) if isinstance(bound, str) else _number(bound)
        except InvalidOperation:
            _no_value(bound)
        if number is None or (isinstance(number, Decimal) and not number.is_finite()):
            _no_value(bound)
        return number if -beyond < number < beyond else _no_value(bound)

    def fit(least: Any, most: Any) -> bool:
        return bool(-beyond < least and most < beyond)

    if data_type.precision <= _DIGITS_OF_DOUBLE:
        return _FRACTIONS, value, fit

    def plain(least: Any, most: Any) -> bool:
        return fit(least, most) and not (is_rounded(least, data_type) or is_rounded(most, data_type))

    return (Decimal, int), value, plain


_FRACTIONS = (float, int, Decimal)
#: Least number that is nearer to infinity than to a 32-bit float.
_BEYOND_FLOATS = 2.0**128 - 2.0**103
#: Numbers of digits that every double keeps, and that the text of one has at most.
_DIGITS_OF_DOUBLE, _MOST_DIGITS = 15, 17
_LONGS = frozenset({(1 << 63) - 1, -(1 << 63)})


def is_after(text: str, other: str) -> bool:
    """Return True if a string is after another one in UTF-8 and in UTF-16: engines use both orders."""
    return text > other and _utf_16(text) > _utf_16(other)


def _utf_16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def are_rounded(kind: ColumnKind, least: Any, most: Any) -> bool | None:
    """Return True if bounds of a column were numbers of a type with fewer digits, False if they may have been, or None.

    They surely were if they have the form of a double: a 0 is the only digit after the point, although the type has
    more. Others were if the engine :func:`rounds <is_rounding>`.
    """
    of = kind.decimal
    bounds = [bound for bound in (least, most) if type(bound) in (int, Decimal)]
    if of is None or not any(is_rounded(bound, of) for bound in bounds):
        return None
    return of.scale > 1 and any(isinstance(bound, Decimal) and str(bound).endswith(".0") for bound in bounds)


def is_rounding(writer: str | None) -> bool:
    """Return True if an engine writes bounds of decimals as doubles, or as 64-bit integers if the scale is 0.

    :param writer: name and version, as a commit's signature gives them
    """
    return (writer or "").partition(" ")[0] == "delta-rs"


def is_rounded(bound: Decimal | int, data_type: DecimalType) -> bool:
    """Return True if a bound may have been a double, which cannot hold the neighbouring values of the decimal.

    A whole number may have been a long, whose greatest value stands for all greater ones.
    """
    if isinstance(bound, int):
        return bound in _LONGS and data_type.precision - data_type.scale >= len(str(bound).lstrip("-"))
    return abs(bound) >= _first_lost(data_type.scale) and len(bound.as_tuple().digits) <= _MOST_DIGITS


@lru_cache(maxsize=64)
def _first_lost(scale: int) -> Decimal:
    """Return the least value whose neighbouring doubles are farther apart than decimals of a scale."""
    return Decimal(2) ** (52 + ceil(-scale * log2(10)))


def _boolean(value: Any) -> bool:
    return value if type(value) is bool else _no_value(value)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else _no_value(value)


def _date(value: Any) -> Any:
    """Return a date, also for a column whose type was widened to timestamp."""
    text = _string(value)
    return parse_date(text.partition("T")[0].partition(" ")[0])


def _timestamp(value: Any) -> int:
    return parse_moment(_string(value))


def _variant(value: Any) -> None:
    # Delta Spark pads the last block; in the specification's example it is cut.
    text = _string(value)
    cut = len(text) % 5
    decode_z85(text + "#" * (5 - cut) if cut > 1 else text)


@lru_cache(maxsize=4096)
def _is_day(text: str) -> bool:
    try:
        return len(text) == _USUAL_DATE and len(parse_date(text)) > 0
    except ValueError:
        return False


def _are_days(least: str, most: str) -> bool:
    return _is_day(least) and _is_day(most)


def _are_moments(least: str, most: str) -> bool:
    """Return True if both timestamps have the same zone and do not fall on the end of a month.

    Then their strings sort in order.
    """
    return least[23:] == most[23:] and bool(_USUAL_TIMESTAMP(least) and _USUAL_TIMESTAMP(most))


_USUAL_DATE = len("2026-01-31")
_USUAL_TIMESTAMP = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}(?:Z|[+-]\d\d:\d\d)?",
    re.ASCII,
).fullmatch
_TIMESTAMPS = ((str,), _timestamp, _are_moments, _MILLISECOND)
_BOUNDS: Mapping[str, tuple[Any, ...]] = {
    "byte": _of_bits(8),
    "short": _of_bits(16),
    "integer": _of_bits(32),
    "long": _of_bits(64),
    "float": (_FRACTIONS, _float, _are_floats),
    "double": (_FRACTIONS, _number),
    "string": ((str,), _string),
    "boolean": ((bool,), _boolean),
    "date": ((str,), _date, _are_days),
    "timestamp": _TIMESTAMPS,
    "timestamp_ntz": _TIMESTAMPS,
    "variant": ((), _variant),
}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_Scanner = Callable[[str, int], tuple[Any, int]]
_SCANNER: _Scanner = vars(json.JSONDecoder(parse_constant=_no_constant))["scan_once"]
_EXACT_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=Decimal)


Parts = tuple[str, ...]

NUMBER_OF_INDEXED_COLUMNS = "delta.dataSkippingNumIndexedCols"
_DEFAULT_NUMBER = 32
#: Types with bounds; decimals also have bounds.
_WITH_BOUNDS = frozenset("byte short integer long float double date timestamp timestamp_ntz string".split())


def has_bounds(data_type: DataType) -> bool:
    """Return True if Delta Spark collects minimum and maximum for columns of a type."""
    return isinstance(data_type, DecimalType) or str(data_type) in _WITH_BOUNDS


def listed_columns(text: str) -> list[Parts]:
    """Return the columns that ``delta.dataSkippingStatsColumns`` lists.

    :raises SqlNameError: if it is not a list of columns
    """
    found: list[Parts] = []
    parts: list[str] = []
    rest = text.strip()
    while True:
        part, rest = first_part(rest, ends=".,")
        if not part.strip():
            raise SqlNameError(text)
        parts.append(part.strip())
        end, rest = rest.lstrip()[:1], rest.lstrip()[1:].lstrip()
        if end != ".":
            found.append(tuple(parts))
            parts = []
        if not end:
            return found


def indexed_columns(metadata: Metadata) -> Mapping[Parts, DataType]:
    """Return the columns with bounds, by their paths in lower case.

    Fields of structs have their own paths. If the list of columns cannot be read, there are none.
    """
    partitions = {str(name).lower() for name in metadata.partition_columns}
    data = tuple(field for field in metadata.schema.fields if field.name.lower() not in partitions)
    listed = metadata.properties.statistics_columns
    leaves: Iterator[tuple[Parts, DataType]]
    if listed:
        try:
            wanted = [*map(lowered, listed_columns(listed))]
        except SqlNameError:
            return {}
        leaves = ((path, of) for path, of in _leaves(data) if any(path[: len(name)] == name for name in wanted))
    else:
        leaves = _first(_leaves(data), _number_of_columns(metadata))
    return {path: of for path, of in leaves if has_bounds(of)}


def _number_of_columns(metadata: Metadata) -> int:
    try:
        return int(metadata.configuration.get(NUMBER_OF_INDEXED_COLUMNS, _DEFAULT_NUMBER))
    except ValueError:
        return _DEFAULT_NUMBER


def _first(leaves: Iterator[tuple[Parts, DataType]], number: int) -> Iterator[tuple[Parts, DataType]]:
    """Yield the first ``number`` columns; all if it is negative."""
    for count, leaf in enumerate(leaves):
        if 0 <= number <= count:
            return
        yield leaf


def _leaves(fields: tuple[StructField, ...], above: Parts = ()) -> Iterator[tuple[Parts, DataType]]:
    """Yield the columns that are not structs, in order: an array or a map counts as one column."""
    for field in fields:
        path = (*above, *lowered((field.name,)))
        if isinstance(field.data_type, StructType):
            yield from _leaves(field.data_type.fields, path)
        else:
            yield path, field.data_type
