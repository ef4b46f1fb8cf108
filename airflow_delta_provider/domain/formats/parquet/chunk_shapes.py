r"""Shapes of column chunks in footers: patterns that read the next chunk of a known form in one step.

A writer repeats the form of a chunk's metadata: the same fields, with other numbers and bounds. From the bytes of one
chunk, :func:`shape_of` makes a regular expression for chunks of the same form, which is some ten times as fast as
reading Thrift. A chunk of another form does not match, and is read as Thrift.
"""

from __future__ import annotations

import re
from functools import lru_cache

from airflow_delta_provider.domain.formats.parquet.thrift import Cursor, ThriftError, WireType

_TRUE, _FALSE, _BYTE, _I16, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 6, 8, 9, 12
_NUMBER = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
#: Places of the values that a shape returns, by the ids of the fields: of the chunk, its metadata, its statistics.
_PATH, _NUM_VALUES = (3, 3), (3, 5)
_NULL_COUNT, _MAX, _MIN, _MAX_VALUE, _MIN_VALUE = (3, 12, 3), (3, 12, 1), (3, 12, 2), (3, 12, 5), (3, 12, 6)
_STATISTICS = (3, 12)
_IS_EXACT = ((3, 12, 7), (3, 12, 8))
_WANTED = frozenset({_PATH, _NUM_VALUES, _NULL_COUNT, _MAX, _MIN, _MAX_VALUE, _MIN_VALUE})
#: Maximum nesting depth, and maximum size of a chunk's metadata: larger ones are rare.
_MOST_LEVELS, _MOST_BYTES = 8, 4096


class Shape:
    """The form of a column chunk.

    :param match: matches chunks of this form, up to their statistics if ``rest`` is not None
    :param groups: numbers of the groups with path and number of values; then number of nulls, minimum and maximum
    :param rest: matches the part after the statistics; None if the statistics have one form, too
    :param is_deprecated: True if the bounds are in the deprecated fields
    """

    __slots__ = ("groups", "is_deprecated", "match", "rest")

    def __init__(self, parts: _Parts, rest: _Parts | None) -> None:
        places = parts.places
        is_deprecated = _MIN_VALUE not in places and _MAX_VALUE not in places
        bounds = (_MIN, _MAX) if is_deprecated else (_MIN_VALUE, _MAX_VALUE)
        numbers = {place: number for number, place in enumerate(places, 1)}
        wanted = (_PATH, _NUM_VALUES) if rest is not None else (_PATH, _NUM_VALUES, _NULL_COUNT, *bounds)
        # A group that never takes part stands for missing values.
        self.match = _compiled(b"".join((*parts.texts, rb"(?:(?!)(.))?"))).match
        self.groups = tuple(numbers.get(place, len(places) + 1) for place in wanted)
        self.is_deprecated = is_deprecated and not numbers.keys().isdisjoint(bounds)
        self.rest = None if rest is None else _compiled(b"".join(rest.texts)).match


class _Parts:
    """A pattern in the making.

    :param splits: whether it ends before the statistics, whose bounds have many lengths
    """

    def __init__(self, *, splits: bool) -> None:
        self.texts: list[bytes] = []
        self.places: list[tuple[int, ...]] = []
        self.splits = splits
        self.before: _Parts | None = None

    def split(self) -> None:
        """Begin the part after the statistics."""
        self.before = before = _Parts(splits=False)
        before.texts, before.places = self.texts, self.places
        self.texts, self.places = [], []


def shape_of(chunk: bytes, *, splits: bool) -> Shape | None:
    """Return the shape of a chunk; None if it has a form that is too rare for one.

    :param chunk: a ColumnChunk that was read without an error
    :param splits: whether the shape fits bounds of any length
    """
    if len(chunk) > _MOST_BYTES:
        return None
    parts = _Parts(splits=splits)
    try:
        _of_struct(Cursor(chunk), parts, ())
    except (_RareFormError, ThriftError, IndexError):
        return None
    first = parts.before or parts
    if not {_PATH, _NUM_VALUES} <= set(first.places):
        return None
    return Shape(first, None if parts.before is None else parts)


@lru_cache(maxsize=256)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


class _RareFormError(Exception):
    """A form that is not worth a pattern."""


def _of_struct(cursor: Cursor, parts: _Parts, at: tuple[int, ...]) -> None:
    if len(at) > _MOST_LEVELS:
        raise _RareFormError
    field_id = 0
    while True:
        head = cursor.data[cursor.position]
        if head and not head >> 4:
            raise _RareFormError
        field_id, wire_type = cursor.field(field_id)
        parts.texts.append(re.escape(bytes([head])))
        if not head:
            return
        place = (*at, field_id)
        if wire_type == _FALSE and place in _IS_EXACT:
            raise _RareFormError
        _of_value(cursor, wire_type, parts, place)


def _of_value(cursor: Cursor, wire_type: int, parts: _Parts, place: tuple[int, ...]) -> None:
    start = cursor.position
    if place == _STATISTICS and parts.splits:
        cursor.skip(wire_type)
        parts.split()
    elif place in _WANTED and wire_type in (_I64, _BINARY, _LIST):
        cursor.skip(wire_type)
        parts.places.append(place)
        encoded = cursor.data[start : cursor.position]
        if wire_type == _BINARY:
            size = Cursor(encoded).varint()
            parts.texts.append(re.escape(encoded[: len(encoded) - size]) + b"(.{%d})" % size)
        else:
            parts.texts.append(b"(" + (_NUMBER if wire_type == _I64 else _sized(encoded, wire_type)) + b")")
    elif _I16 <= wire_type <= _I64:
        cursor.skip(wire_type)
        parts.texts.append(_NUMBER)
    elif wire_type == _STRUCT:
        _of_struct(cursor, parts, place)
    elif wire_type == _LIST:
        _of_list(cursor, parts, place)
    elif wire_type == _BINARY:
        cursor.skip(wire_type)
        parts.texts.append(_sized(cursor.data[start : cursor.position], wire_type))
    elif wire_type not in (_TRUE, _FALSE):
        raise _RareFormError


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


def _of_list(cursor: Cursor, parts: _Parts, place: tuple[int, ...]) -> None:
    head = cursor.data[cursor.position]
    count, element = head >> 4, head & 0x0F
    if count == 0x0F or element in (_TRUE, _FALSE, _BYTE):
        raise _RareFormError
    cursor.position += 1
    parts.texts.append(re.escape(bytes([head])))
    for _ in range(count):
        _of_value(cursor, element, parts, (*place, 0))
