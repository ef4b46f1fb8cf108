r"""Shapes of column chunks in footers: regular expressions that read chunks of the same shape in a few steps.

A writer repeats the metadata of a row group: the same fields, with other numbers and bounds. From the bytes of
column chunks, :func:`shape_of` makes regular expressions for chunks with the same fields, which are some ten times as
fast as reading Thrift. Bounds of strings have any length: a pattern ends before each, and the next one begins after it.
Chunks of another shape do not match, and are read as Thrift.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from airflow_delta_provider.domain.formats.parquet.thrift import Cursor, ThriftError, WireType

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 5, 6, 8, 9, 12
#: Patterns of numbers; those of 32 bits are mostly members of enums.
_CODE = rb"[\x00-\x7f]"
_NUMBER = (rb"[\x80-\xff]{0,9}+" if sys.version_info >= (3, 11) else rb"[\x80-\xff]{0,9}") + _CODE
#: Places of the values that a shape returns, by the ids of the fields: of the chunk, its metadata, its statistics.
_PATH, _NUM_VALUES = (3, 3), (3, 5)
_NULL_COUNT, _MAX, _MIN, _MAX_VALUE, _MIN_VALUE = (3, 12, 3), (3, 12, 1), (3, 12, 2), (3, 12, 5), (3, 12, 6)
_BOUNDS = frozenset({_MAX, _MIN, _MAX_VALUE, _MIN_VALUE})
#: The types that these values have; fields of other types are other fields.
_TYPES: dict[tuple[int, ...], tuple[int, ...]] = {
    _PATH: (_LIST,),
    _NUM_VALUES: (_I16, _I32, _I64),
    _NULL_COUNT: (_I64,),
    **dict.fromkeys(_BOUNDS, (_BINARY,)),
}
_IS_EXACT = ((3, 12, 7), (3, 12, 8))
#: Place of the physical type, and the encoded type of strings.
_TYPE, _BYTE_ARRAY = (3, 1), b"\x0c"
#: Maximum nesting depth, and maximum size of a chunk's metadata: larger ones are rare.
_MOST_LEVELS, _MOST_BYTES = 8, 4096


class Shape:
    """The shape of one or more consecutive column chunks.

    :param chunks: the shape of each
    :param head: bytes before them
    :param end: pattern for the bytes after them
    """

    __slots__ = ("_first", "_picked", "_rest", "are_deprecated", "are_exact")

    def __init__(self, chunks: list[_Chunk], head: bytes, end: bytes) -> None:
        texts, places = [re.escape(head)], list[list[int]]()
        count = 0
        for chunk in chunks:
            numbers: dict[tuple[int, ...], int] = {}
            for text, place, is_long in chunk.parts:
                if is_long:
                    texts.append(b"")
                elif place in chunk.wanted:
                    texts[-1] += b"(" + text + b")"
                else:
                    texts[-1] += text
                if place is not None and (is_long or place in chunk.wanted):
                    numbers[place] = count
                    count += 1
            places.append([numbers.get(place, -1) for place in chunk.wanted])
        texts[-1] += end
        self._first, *self._rest = [_compiled(text).match for text in texts]
        self._picked = itemgetter(*chain.from_iterable(zip(*places)))
        self.are_exact = tuple(chunk.is_exact for chunk in chunks)
        """For each chunk, False if the file says that a bound is not a value of the column."""
        self.are_deprecated = tuple(chunk.is_deprecated for chunk in chunks)
        """For each chunk, True if the bounds are in the deprecated fields."""

    def read(self, data: bytes, position: int) -> tuple[tuple[Any, ...], int] | None:
        """Read the next chunks. Return their values, and the position after them; None if they have another shape.

        The values are the paths of all chunks, then their numbers of values; then numbers of nulls, minima and maxima,
        or None.

        :raises IndexError: if the data ends within a chunk
        """
        found = self._first(data, position)
        if found is None:
            return None
        values: list[bytes | None] = [*found.groups()]
        for match in self._rest:
            position = found.end()
            size = data[position]
            position += 1
            if size > 0x7F:
                size += (data[position] << 7) - 0x80
                if data[position] > 0x7F:
                    return None
                position += 1
            values.append(data[position : position + size])
            found = match(data, position + size)
            if found is None:
                return None
            values += found.groups()
        values.append(None)
        return self._picked(values), found.end()


class _Part(NamedTuple):
    """A pattern for one value or for the head of a field.

    :param place: ids of the fields that lead to a value; None for a head
    :param is_long: True if the value has any length
    """

    text: bytes
    place: tuple[int, ...] | None = None
    is_long: bool = False


class _RareShapeError(Exception):
    """A shape that is not worth a pattern."""


class _Chunk:
    """The shape of one column chunk.

    :param data: a ColumnChunk that was read without an error
    :raises _RareShapeError: if the shape is too rare
    """

    def __init__(self, data: bytes) -> None:
        self.parts: list[_Part] = []
        self.is_exact = True
        self._is_text = False
        self._add_struct(Cursor(data), ())
        places = {part.place for part in self.parts}
        if not {_PATH, _NUM_VALUES} <= places:
            raise _RareShapeError
        is_old = _MIN_VALUE not in places and _MAX_VALUE not in places
        self.is_deprecated = is_old and not places.isdisjoint(_BOUNDS)
        self.wanted = (_PATH, _NUM_VALUES, _NULL_COUNT, *((_MIN, _MAX) if is_old else (_MIN_VALUE, _MAX_VALUE)))

    def _add(self, text: bytes, place: tuple[int, ...] | None = None, *, is_long: bool = False) -> None:
        self.parts.append(_Part(text, place, is_long))

    def _add_struct(self, cursor: Cursor, at: tuple[int, ...]) -> None:
        if len(at) > _MOST_LEVELS:
            raise _RareShapeError
        field_id = 0
        while True:
            head = cursor.data[cursor.position]
            if head and not head >> 4:
                raise _RareShapeError
            field_id, wire_type = cursor.field(field_id)
            self._add(re.escape(bytes([head])))
            if not head:
                return
            place = (*at, field_id)
            if wire_type == _FALSE and place in _IS_EXACT:
                self.is_exact = False
            self._add_value(cursor, wire_type, place)

    def _add_value(self, cursor: Cursor, wire_type: int, place: tuple[int, ...]) -> None:
        start = cursor.position
        if wire_type not in _TYPES.get(place, (wire_type,)):
            raise _RareShapeError
        if wire_type == _STRUCT:
            self._add_struct(cursor, place)
        elif wire_type == _LIST and place != _PATH:
            self._add_list(cursor, place)
        elif wire_type not in (_TRUE, _FALSE):
            cursor.skip(wire_type)
            encoded = cursor.data[start : cursor.position]
            if _I16 <= wire_type <= _I64:
                is_code = wire_type == _I32 and len(encoded) == 1
                self._add(_CODE if is_code else _NUMBER, place)
                self._is_text = self._is_text or (place == _TYPE and encoded == _BYTE_ARRAY)
            elif wire_type == _BINARY and place in _BOUNDS:
                size = Cursor(encoded).varint()
                if not self._is_text:
                    self._add(re.escape(encoded[: len(encoded) - size]))
                self._add(b".{%d}" % size, place, is_long=self._is_text)
            elif wire_type in (_BINARY, _LIST):
                self._add(_sized(encoded, wire_type), place)
            else:
                raise _RareShapeError

    def _add_list(self, cursor: Cursor, place: tuple[int, ...]) -> None:
        head = cursor.data[cursor.position]
        count, element = head >> 4, head & 0x0F
        if count == 0x0F or element in (_TRUE, _FALSE, _BYTE):
            raise _RareShapeError
        cursor.position += 1
        self._add(re.escape(bytes([head])))
        for _ in range(count):
            self._add_value(cursor, element, (*place, 0))


def _sized(encoded: bytes, wire_type: int) -> bytes:
    """Return a pattern for a string of the same length, or a list of such strings."""
    cursor, texts, count = Cursor(encoded), [b""], 1
    if wire_type == _LIST:
        count = cursor.list_of(WireType.BINARY)
        texts = [re.escape(encoded[: cursor.position])]
    for _ in range(count):
        start = cursor.position
        size = cursor.varint()
        texts.append(re.escape(encoded[start : cursor.position]) + b".{%d}" % size)
        cursor.position += size
    return b"".join(texts)


def shape_of(chunks: list[bytes], head: bytes = b"", end: bytes = b"") -> Shape | None:
    """Return the shape of consecutive column chunks; None if one has a shape that is too rare.

    :param chunks: ColumnChunks that were read without an error
    :param head: bytes before them
    :param end: pattern for the bytes after them
    """
    if any(len(chunk) > _MOST_BYTES for chunk in chunks):
        return None
    try:
        return Shape([_Chunk(chunk) for chunk in chunks], head, end)
    except (_RareShapeError, ThriftError, IndexError):
        return None


@lru_cache(maxsize=256)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)
