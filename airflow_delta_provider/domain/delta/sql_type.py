"""Types in SQL, nested ones too: ``struct<a:int,`b c`:array<decimal(10,2)>>``."""

from __future__ import annotations

import re
from collections.abc import Callable

from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UnknownTypeError,
    parse_type,
    sql_name,
)
from airflow_delta_provider.domain.engine.sql_identifier import quote

_PRIMITIVE = re.compile(r"\s*([A-Za-z_]\w*(?:\s*\([^()]*\))?)")
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\W\d]\w*))\s*:?")
#: What SQL lets follow the type of a column, and a column that is added to a table with rows cannot have.
_CLAUSE = re.compile(r"\s*(NOT\s+NULL|NULL|DEFAULT|GENERATED|COMMENT|COLLATE|FIRST|AFTER)\b", re.IGNORECASE)
_MOST_LEVELS = 32


def parse_sql_type(text: str) -> DataType:
    """Read a type; all that is in it is nullable.

    :raises UnknownTypeError: if it is none, or something follows it
    """
    data_type, rest = _type(text, 0)
    if rest.strip():
        raise _unexpected(text, rest)
    return data_type


def render_sql_type(data_type: DataType) -> str:
    """Return the type as Spark SQL reads it; every name in it is quoted."""
    return sql_name(data_type, quote)


def _type(text: str, level: int) -> tuple[DataType, str]:
    if level > _MOST_LEVELS:
        raise UnknownTypeError(f"The type is nested more than {_MOST_LEVELS} deep.")
    match = _PRIMITIVE.match(text)
    if match is None:
        raise UnknownTypeError(f"{text.strip()!r:.80} is no SQL type. Write for instance bigint or array<string>.")
    rest = text[match.end() :]
    nested = _NESTED.get(match[1].lower())
    if nested is None:
        return parse_type(match[1]), rest
    data_type, rest = nested(_after(rest, "<"), level + 1)
    return data_type, _after(rest, ">")


def _array(text: str, level: int) -> tuple[DataType, str]:
    element, rest = _type(text, level)
    return ArrayType(element), rest


def _map(text: str, level: int) -> tuple[DataType, str]:
    key, rest = _type(text, level)
    value, rest = _type(_after(rest, ","), level)
    return MapType(key, value), rest


def _struct(text: str, level: int) -> tuple[DataType, str]:
    fields: list[StructField] = []
    while True:
        name = _NAME.match(text)
        if name is None:
            raise UnknownTypeError(
                f"{text.strip()!r:.80}: a field of a struct is written name:type, a name with other characters than "
                "letters, digits and _ between backticks."
            )
        data_type, text = _type(text[name.end() :], level)
        fields.append(StructField(name[1].replace("``", "`") if name[1] else name[2], data_type))
        if not text.lstrip().startswith(","):
            break
        text = _after(text, ",")
    folded = [field.name.lower() for field in fields]
    for field in fields:
        if folded.count(field.name.lower()) > 1:
            raise UnknownTypeError(f"The struct has {field.name!r} more than once; names differ by more than case.")
    return StructType(tuple(fields)), text


_NESTED: dict[str, Callable[[str, int], tuple[DataType, str]]] = {"array": _array, "map": _map, "struct": _struct}


def _after(text: str, mark: str) -> str:
    stripped = text.lstrip()
    if not stripped.startswith(mark):
        raise _unexpected(text, text, mark)
    return stripped[1:]


def _unexpected(text: str, rest: str, wanted: str = "") -> UnknownTypeError:
    if clause := _CLAUSE.match(rest):
        return UnknownTypeError(
            f"{' '.join(clause[1].upper().split())} is not possible here: a column is added last, nullable, without "
            "default, generation expression, identity or comment, since the rows that are there read NULL. Give its "
            "type alone."
        )
    if wanted:
        found = f"before {rest.strip()!r:.40}" if rest.strip() else "at the end"
        return UnknownTypeError(f"The type is not whole: {wanted!r} is missing {found}.")
    return UnknownTypeError(f"{text.strip()!r:.80} is no SQL type: {rest.strip()!r:.40} is left over.")
