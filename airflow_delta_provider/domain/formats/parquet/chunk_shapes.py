r"""Shapes of column chunks in footers: patterns that read the next chunk of a known form in one step.

A writer repeats the form of a chunk's metadata: the same fields, with other numbers and bounds. From the bytes of one
chunk, :func:`shape_of` makes a regular expression for chunks of the same form, which is some ten times as fast as
reading Thrift. A chunk of another form does not match, and is read as Thrift.
"""

from __future__ import annotations

import re
from functools import lru_cache

from airflow_delta_provider.domain.formats.parquet.thrift import Cursor, ThriftError

_TRUE, _FALSE, _BYTE, _I16, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 6, 8, 9, 12
_NUMBER = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
#: Bytes after their length, which is below 128. Most names and bounds are short.
_BYTES = b"(?:" + b"|".join(b"%s.{%d}" % (re.escape(bytes([n])), n) for n in range(128)) + b")"
#: Places of the values that a shape returns, by the ids of the fields: of the chunk, its metadata, its statistics.
_PATH, _NUM_VALUES = (3, 3), (3, 5)
_NULL_COUNT, _MAX, _MIN, _MAX_VALUE, _MIN_VALUE = (3, 12, 3), (3, 12, 1), (3, 12, 2), (3, 12, 5), (3, 12, 6)
_IS_EXACT = ((3, 12, 7), (3, 12, 8))
_WANTED = frozenset({_PATH, _NUM_VALUES, _NULL_COUNT, _MAX, _MIN, _MAX_VALUE, _MIN_VALUE})
#: Maximum nesting depth, and maximum size of a chunk's metadata: larger ones are rare.
_MOST_LEVELS, _MOST_BYTES = 8, 4096


class Shape:
    """The form of a column chunk.

    :param pattern: matches chunks of this form
    :param groups: numbers of the groups with path, number of values, number of nulls, minimum and maximum: encoded,
        the bounds after their length in one byte
    :param is_deprecated: True if the bounds are in the deprecated fields
    """

    __slots__ = ("groups", "is_deprecated", "match")

    def __init__(self, pattern: re.Pattern[bytes], groups: tuple[int, ...], is_deprecated: bool) -> None:
        self.match = pattern.match
        self.groups = groups
        self.is_deprecated = is_deprecated


def shape_of(chunk: bytes) -> Shape | None:
    """Return the shape of a chunk; None if it has a form that is too rare for one.

    :param chunk: a ColumnChunk that was read without an error
    """
    if len(chunk) > _MOST_BYTES:
        return None
    parts: list[bytes] = []
    places: list[tuple[int, ...]] = []
    try:
        _of_struct(Cursor(chunk), parts, places, ())
    except (_RareFormError, ThriftError, IndexError):
        return None
    if _PATH not in places or _NUM_VALUES not in places:
        return None
    # A group that never takes part stands for missing values.
    pattern = b"".join((*parts, rb"(?:(?!)(.))?"))
    is_deprecated = _MIN_VALUE not in places and _MAX_VALUE not in places
    bounds = (_MIN, _MAX) if is_deprecated else (_MIN_VALUE, _MAX_VALUE)
    numbers = {place: number for number, place in enumerate(places, 1)}
    groups = tuple(numbers.get(place, len(places) + 1) for place in (_PATH, _NUM_VALUES, _NULL_COUNT, *bounds))
    return Shape(_compiled(pattern), groups, is_deprecated and not numbers.keys().isdisjoint(bounds))


@lru_cache(maxsize=256)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


class _RareFormError(Exception):
    """A form that is not worth a pattern."""


def _of_struct(cursor: Cursor, parts: list[bytes], places: list[tuple[int, ...]], at: tuple[int, ...]) -> None:
    if len(at) > _MOST_LEVELS:
        raise _RareFormError
    field_id = 0
    while True:
        head = cursor.data[cursor.position]
        if head and not head >> 4:
            raise _RareFormError
        field_id, wire_type = cursor.field(field_id)
        parts.append(re.escape(bytes([head])))
        if not head:
            return
        place = (*at, field_id)
        if wire_type == _FALSE and place in _IS_EXACT:
            raise _RareFormError
        _of_value(cursor, wire_type, parts, places, place)


def _of_value(
    cursor: Cursor, wire_type: int, parts: list[bytes], places: list[tuple[int, ...]], place: tuple[int, ...]
) -> None:
    start = cursor.position
    if place in _WANTED and wire_type in (_I64, _BINARY, _LIST):
        places.append(place)
        if wire_type == _LIST:
            count = cursor.list_of(_BINARY)  # type: ignore[arg-type]
            head = re.escape(cursor.data[start : cursor.position])
            parts.append(b"(" + head + _BYTES * count + b")")
            cursor.position = start
        elif wire_type == _I64:
            parts.append(b"(" + _NUMBER + b")")
        else:
            size = cursor.varint()
            if size > 127:
                raise _RareFormError
            cursor.position = start
            # Bounds of numbers all have the same size.
            parts.append(b"(" + (re.escape(bytes([size])) + b".{%d}" % size if size in (4, 8) else _BYTES) + b")")
        cursor.skip(wire_type)
    elif _I16 <= wire_type <= _I64:
        cursor.skip(wire_type)
        parts.append(_NUMBER)
    elif wire_type == _STRUCT:
        _of_struct(cursor, parts, places, place)
    elif wire_type == _LIST:
        _of_list(cursor, parts, places, place)
    elif wire_type == _BINARY:
        cursor.skip(wire_type)
        parts.append(_BYTES)
    elif wire_type not in (_TRUE, _FALSE):
        raise _RareFormError


def _of_list(cursor: Cursor, parts: list[bytes], places: list[tuple[int, ...]], place: tuple[int, ...]) -> None:
    head = cursor.data[cursor.position]
    count, element = head >> 4, head & 0x0F
    if count == 0x0F or element in (_TRUE, _FALSE, _BYTE):
        raise _RareFormError
    cursor.position += 1
    parts.append(re.escape(bytes([head])))
    for _ in range(count):
        _of_value(cursor, element, parts, places, (*place, 0))
