"""Types in SQL, including nested ones: ``struct<a:int,`b c`:array<decimal(10,2)>>``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from airflow_delta_provider.domain.delta.data_type import (
    MOST_LEVELS,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UnknownTypeError,
    lowered,
    parse_type,
    sql_name,
)
from airflow_delta_provider.domain.text import did_you_mean, quote

_PRIMITIVE = re.compile(r"\s*([A-Za-z_]\w*(?:\s*\([^()]*\))?)")
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\W\d]\w*))\s*:?")
#: Clauses that SQL allows after the type of a column, but not for a column added to a table with rows.
_CLAUSE = re.compile(r"\s*(NOT\s+NULL|NULL|DEFAULT|GENERATED|COMMENT|COLLATE|FIRST|AFTER)\b", re.IGNORECASE)
_NOT_NULL = re.compile(r"\s*NOT\s+NULL\b", re.IGNORECASE)
_COMMENT = re.compile(r"""\s*COMMENT\s+(?:'((?:[^'\\]|\\.|'')*)'|"((?:[^"\\]|\\.|"")*)")""", re.IGNORECASE | re.DOTALL)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\(.)|''|\"\"", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_SPACE = re.compile(r"\s*")
_LENGTH = re.compile(r"(?:var)?char\b", re.IGNORECASE)
#: The schema itself is one level.
_MOST_LEVELS = MOST_LEVELS - 1


@lru_cache(maxsize=1024)  # the columns of tables have few different types
def parse_sql_type(text: str, *, declared: bool = False) -> DataType:
    """Read a type; everything in it is nullable.

    :param declared: True for the type of a declared column. Fields of structs may then have ``NOT NULL`` and a
        ``COMMENT``, which becomes part of their metadata, and ``struct`` alone is a struct without fields
    :raises UnknownTypeError: if it is not a type, or something follows it
    """
    parser = _Parser(text, declared=declared)
    data_type = parser.type_at(0)
    parser.finish()
    return data_type


def render_sql_type(data_type: DataType) -> str:
    """Return the type in Spark SQL, with every name in it quoted."""
    return sql_name(data_type, quote)


class _Parser:
    def __init__(self, text: str, *, declared: bool) -> None:
        self._text = text
        self._declared = declared
        self._at = 0

    def finish(self) -> None:
        """Check that nothing is left.

        :raises UnknownTypeError: if something is
        """
        if self._next():
            raise self._unexpected()

    def type_at(self, level: int) -> DataType:
        """Read a type.

        :param level: number of types around it
        """
        if level > _MOST_LEVELS:
            raise UnknownTypeError(f"The type is nested more than {_MOST_LEVELS} deep.")
        match = _PRIMITIVE.match(self._text, self._at)
        if match is None:
            raise UnknownTypeError(
                f"{self._rest()!r:.80} is not a SQL type. Write for instance bigint or array<string>."
            )
        self._at = match.end()
        nested = _NESTED.get(match[1].lower())
        if nested is None:
            return self._primitive(match[1])
        if nested is _Parser._struct and self._declared and self._next() != "<":
            return StructType(())
        self._take("<")
        data_type = nested(self, level + 1)
        self._take(">")
        return data_type

    def _primitive(self, name: str) -> DataType:
        if _LENGTH.match(name):
            raise UnknownTypeError(f"{name!r} is not a Delta type: Delta stores it as string. Write string.")
        if self._next() == "<":
            raise UnknownTypeError(f"{name!r} is not a SQL type that has types in it.{did_you_mean(name, _NESTED)}")
        try:
            return parse_type(name)
        except UnknownTypeError:
            if self._declared and (meant := did_you_mean(name, _NESTED)):
                raise UnknownTypeError(f"{name!r} is not a SQL type.{meant}") from None
            raise

    def _array(self, level: int) -> DataType:
        return ArrayType(self.type_at(level))

    def _map(self, level: int) -> DataType:
        key = self.type_at(level)
        self._take(",")
        return MapType(key, self.type_at(level))

    def _struct(self, level: int) -> DataType:
        fields: list[StructField] = []
        if self._declared and self._next() == ">":
            return StructType(())
        while True:
            fields.append(self._field(level))
            if self._next() != ",":
                break
            self._take(",")
        names: set[tuple[str, ...]] = set()
        for field in fields:
            if lowered([field.name]) in names:
                first = next(other.name for other in fields if lowered([other.name]) == lowered([field.name]))
                raise UnknownTypeError(f"The struct has {first!r} more than once; names differ by more than case.")
            names.add(lowered([field.name]))
        return StructType(tuple(fields))

    def _field(self, level: int) -> StructField:
        name = _NAME.match(self._text, self._at)
        if name is None:
            raise UnknownTypeError(
                f"{self._rest()!r:.80}: a field of a struct is written name:type, a name with other characters than "
                "letters, digits and _ between backticks."
            )
        self._at = name.end()
        data_type = self.type_at(level)
        not_null = self._clause(_NOT_NULL)
        comment = self._clause(_COMMENT)
        return StructField(
            name[1].replace("``", "`") if name[1] else name[2],
            data_type,
            not_null is None,
            {} if comment is None else {"comment": _unescaped(comment[1] if comment[1] is not None else comment[2])},
        )

    def _clause(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._at) if self._declared else None
        if match is not None:
            self._at = match.end()
        return match

    def _next(self) -> str:
        """Skip spaces and return the next character; empty at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _take(self, mark: str) -> None:
        if self._next() != mark:
            raise self._unexpected(mark)
        self._at += 1

    def _rest(self) -> str:
        return self._text[self._at :].strip()

    def _unexpected(self, wanted: str = "") -> UnknownTypeError:
        if clause := _CLAUSE.match(self._text, self._at):
            return UnknownTypeError(f"{' '.join(clause[1].upper().split())} is not possible here: {self._instead()}")
        rest = self._rest()
        if wanted:
            found = f"before {rest!r:.40}" if rest else "at the end"
            return UnknownTypeError(f"The type is not whole: {wanted!r} is missing {found}.")
        return UnknownTypeError(f"{self._text.strip()!r:.80} is not a SQL type: {rest!r:.40} is left over.")

    def _instead(self) -> str:
        if self._declared:
            return (
                "after the type of a field of a struct come NOT NULL and then COMMENT '…'; other facts about a "
                "column have keys of their own, such as nullable, default or comment."
            )
        return (
            "a column is added last, nullable, without default, generation expression, identity or comment, since the "
            "rows that are there read NULL. Give its type alone."
        )


_NESTED: dict[str, Callable[[_Parser, int], DataType]] = {
    "array": _Parser._array,
    "map": _Parser._map,
    "struct": _Parser._struct,
}


def _unescaped(literal: str) -> str:
    """Return the value of a SQL string literal without its quotes."""
    return _ESCAPE.sub(_character, literal)


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _ESCAPED.get(match[2], match[2]) if match[2] else match[0][0]
