"""SQL that casts the columns of a table to other types, and finds values that a cast would lose.

A value is lost if the cast has no result, or if its result is another value: rounded, cut off, or out of the range in
which the new type is exact. Zeros and blanks that do not count in a number are no loss: ``' 007'`` is 7.

A cast that loses nothing gives the same value in every session. Casts between a timestamp and a value without a zone (a
date, a local time, a string) are the exception: they depend on the session's time zone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from airflow_delta_provider.domain.changes.steps import Cast, ClusterBy, Parts, Step
from airflow_delta_provider.domain.delta.data_type import (
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    lowered,
    path_text,
    sql_name,
)
from airflow_delta_provider.domain.delta.features.columns import GENERATED_COLUMNS
from airflow_delta_provider.domain.delta.metadata import COMMENT, CURRENT_DEFAULT, Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type, render_sql_type
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.difference import clustered_by
from airflow_delta_provider.domain.text import literal, quote

_STRING, _BINARY = PrimitiveType("string"), PrimitiveType("binary")
_TIMESTAMP = PrimitiveType("timestamp")
_INTEGERS = tuple(map(PrimitiveType, ("byte", "short", "integer", "long")))
_DATE = r"^[+-]?[0-9]{4,7}(-[0-9]{1,2}){0,2}$"
_DATE_FIRST = r"^[+-]?[0-9]{4,7}(-[0-9]{1,2}){0,2}([ T].*)?$"
_LOCAL_TIME = r"^[+-]?[0-9]{4,7}(-[0-9]{1,2}){0,2}([ T][0-9]{1,2}(:[0-9]{1,2}){0,2}([.][0-9]*)?)?$"
#: A fraction of a second with more digits than a timestamp keeps.
_NANOSECONDS = r"[.][0-9]{6}0*[1-9]"
#: The largest value of each type within the range of bigint. Larger numbers round to a value above that range.
_LARGEST_BELOW_LONG = {DOUBLE: 9223372036854774784, FLOAT: 9223371487098961920}


def depends_on_zone(old: DataType, new: DataType) -> bool:
    """Return True if a cast depends on the time zone of the session."""
    return _TIMESTAMP in (old, new) and not {old, new}.isdisjoint((_STRING, DATE, TIMESTAMP_NTZ))


def recast(names: Mapping[str, DataType], casts: tuple[Cast, ...]) -> list[str]:
    """Return SQL for each top-level column after the casts, under its name.

    :param names: types of the top-level columns before, by name
    """
    by_path = {lowered(cast.parts): cast for cast in casts}
    return [
        f"{_recast(quote(name), data_type, (name,), by_path)} AS {quote(name)}" for name, data_type in names.items()
    ]


def _recast(value: str, data_type: DataType, path: Parts, casts: Mapping[Parts, Cast]) -> str:
    key = lowered(path)
    if key in casts:
        return _converted(value, data_type, casts[key])
    if not any(other[: len(key)] == key for other in casts):
        return value
    variable = f"v{len(path)}"
    if isinstance(data_type, StructType):
        members: list[str] = []
        for field in data_type.fields:
            member = f"{value}.{quote(field.name)}"
            members += (literal(field.name), _recast(member, field.data_type, (*path, field.name), casts))
        return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(members)}) END"
    if isinstance(data_type, ArrayType):
        element = _recast(variable, data_type.element, (*path, "element"), casts)
        return f"transform({value}, {variable} -> {element})"
    if isinstance(data_type, MapType):
        entry_key = _recast(f"{variable}.key", data_type.key, (*path, "key"), casts)
        entry_value = _recast(f"{variable}.value", data_type.value, (*path, "value"), casts)
        entry = f"named_struct('key', {entry_key}, 'value', {entry_value})"
        return f"map_from_entries(transform(map_entries({value}), {variable} -> {entry}))"
    return value


def _converted(value: str, old: DataType, cast: Cast) -> str:
    converted = f"try_cast({value} AS {cast.new})"
    if not cast.null_on_loss:
        return converted
    return f"CASE WHEN NOT {is_lost(value, old, parse_sql_type(cast.new), cast.new)} THEN {converted} END"


def is_lost(value: str, old: DataType, new: DataType, new_sql: str) -> str:
    """Return an SQL condition that is true if a cast loses a value; false for NULL.

    :param value: SQL of the value
    :param new_sql: SQL of the new type
    """
    converted = f"try_cast({value} AS {new_sql})"
    return f"({value} IS NOT NULL AND coalesce({converted} IS NULL OR {_differs(value, converted, old, new)}, true))"


def _differs(value: str, converted: str, old: DataType, new: DataType) -> str:
    """Return an SQL condition that is true if a successful cast changes a value that is not NULL."""
    if old == _STRING:
        return _parsed_differently(value, converted, new)
    if (old, new) == (_BINARY, _STRING):
        # A string of Java has no invalid bytes; is_valid_utf8 is not in Spark 3.5.
        text = f"decode(encode(CAST({value} AS string), 'UTF-16BE'), 'UTF-16BE')"
        return f"NOT (CAST({text} AS binary) <=> {value})"
    differs = f"NOT (try_cast({converted} AS {sql_name(old, quote)}) <=> {value})"
    if old == LONG and new in _LARGEST_BELOW_LONG:
        differs += f" OR {value} > {_LARGEST_BELOW_LONG[new]}"
    return differs


def _parsed_differently(text: str, converted: str, new: DataType) -> str:
    """Return an SQL condition that is true if a parsed string loses information."""
    trimmed = f"trim({text})"
    if isinstance(new, DecimalType) or new in (*_INTEGERS, FLOAT, DOUBLE):
        return f"{_significant(text)} <> {_significant(f'CAST({converted} AS string)')}"
    if new == DATE:
        midnight = f"try_cast({trimmed} AS timestamp_ntz) <=> CAST({converted} AS timestamp_ntz)"
        return f"NOT ({trimmed} RLIKE {literal(_DATE)} OR {midnight})"
    if new in (_TIMESTAMP, TIMESTAMP_NTZ):
        form = _LOCAL_TIME if new == TIMESTAMP_NTZ else _DATE_FIRST
        differs = f"NOT {trimmed} RLIKE {literal(form)} OR {trimmed} RLIKE {literal(_NANOSECONDS)}"
        if new == _TIMESTAMP:  # a time that the zone skips becomes a later one
            there = f"CAST({converted} AS timestamp_ntz) <=> try_cast({trimmed} AS timestamp_ntz)"
            differs += f" OR ({trimmed} RLIKE {literal(_LOCAL_TIME)} AND NOT {there})"
        return differs
    return "false"


def _significant(text: str) -> str:
    """Return SQL for the significant digits of a number in a string: rounding changes them."""
    mantissa = f"regexp_replace({text}, '[eE][+-]?[0-9]+', '')"
    return f"regexp_replace(regexp_replace({mantissa}, '[^0-9]', ''), '^0+|0+$', '')"


#: Number of context lines around a change.
_CONTEXT = 2


def declared_lines(metadata: Metadata, protocol: Protocol, state: TableState, after: Sequence[Step] = ()) -> list[str]:
    """Return a line for each property of a table that a spec can declare.

    :param state: state of the table before, for its clustering
    :param after: steps applied since then
    """
    return list(_lines(metadata, protocol, state, after))


def diff(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the lines of a unified diff, without its head; empty if both are the same."""
    lines: list[str] = []
    for group in _Lines(None, before, after).get_grouped_opcodes(_CONTEXT):
        for tag, old, old_end, new, new_end in group:
            if tag == "equal":
                lines += (f" {line}" for line in before[old:old_end])
            else:
                lines += (f"-{line}" for line in before[old:old_end])
                lines += (f"+{line}" for line in after[new:new_end])
    return lines


class _Lines(difflib.SequenceMatcher[str]):
    """Compares lines, in linear time if no line occurs twice and common ones have the same order, as they mostly do."""

    a: Sequence[str]
    b: Sequence[str]

    def get_matching_blocks(self) -> list[difflib.Match]:
        places = {line: place for place, line in enumerate(self.b)}
        common = [(place, places[line]) for place, line in enumerate(self.a) if line in places]
        if len(places) < len(self.b) or any(one >= other for (_, one), (_, other) in pairwise(common)):
            return super().get_matching_blocks()
        blocks: list[difflib.Match] = []
        for old, new in common:
            start, new_start, size = blocks[-1] if blocks else (-1, -1, 0)
            if (start + size, new_start + size) == (old, new):
                blocks[-1] = difflib.Match(start, new_start, size + 1)
            else:
                blocks.append(difflib.Match(old, new, 1))
        return [*blocks, difflib.Match(len(self.a), len(self.b), 0)]


def _lines(metadata: Metadata, protocol: Protocol, state: TableState, after: Sequence[Step]) -> Iterator[str]:
    for column in metadata.schema.fields:
        yield _column(column)
    if metadata.partition_columns:
        yield f"PARTITIONED BY ({', '.join(map(quote, metadata.partition_columns))})"
    clustering = clustered_by(state)
    for step in after:
        if isinstance(step, ClusterBy):
            clustering = list(step.columns)
    if clustering:
        yield f"CLUSTER BY ({', '.join(map(path_text, clustering))})"
    if metadata.description:
        yield f"COMMENT {metadata.description!r}"
    for name, expression in sorted(metadata.check_constraints.items()):
        yield f"CONSTRAINT {name} CHECK ({expression})"
    for name, value in sorted(metadata.configuration.items()):
        if not name.startswith((CONSTRAINT_PREFIX, "delta.feature.")):
            yield f"PROPERTY {name} = {value!r}"
    for name in sorted(protocol.features):
        yield f"FEATURE {name}"


def _type(data_type: DataType) -> str:
    """Return a type with the nullability and comments of its fields."""
    if isinstance(data_type, ArrayType):
        return f"array<{_type(data_type.element)}>"
    if isinstance(data_type, MapType):
        return f"map<{_type(data_type.key)},{_type(data_type.value)}>"
    if isinstance(data_type, StructType):
        return f"struct<{','.join(map(_field, data_type.fields))}>"
    return render_sql_type(data_type)


def _field(field: StructField) -> str:
    required = "" if field.nullable else " NOT NULL"
    comment = f" COMMENT {field.metadata[COMMENT]!r}" if field.metadata.get(COMMENT) else ""
    return f"{quote(field.name)}:{_type(field.data_type)}{required}{comment}"


def _column(column: StructField) -> str:
    known = column.metadata
    parts = [
        quote(column.name),
        _type(column.data_type),
        "" if column.nullable else "NOT NULL",
        f"GENERATED ALWAYS AS ({known[GENERATED_COLUMNS.field_key]})" if GENERATED_COLUMNS.field_key in known else "",
        f"DEFAULT {known[CURRENT_DEFAULT]}" if CURRENT_DEFAULT in known else "",
        f"COMMENT {known[COMMENT]!r}" if known.get(COMMENT) else "",
    ]
    return " ".join(filter(None, parts))
