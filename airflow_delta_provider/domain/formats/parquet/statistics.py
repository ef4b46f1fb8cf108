"""Statistics of column chunks in a footer, read in one pass over all row groups.

parquet-format, ``parquet.thrift`` (Statistics, ColumnOrder). Bounds stay bytes: their meaning depends on the column's
type, and :class:`Writer` tells which of them readers trust.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from airflow_delta_provider.domain.formats.parquet.chunk_shapes import Shape, shape_of
from airflow_delta_provider.domain.formats.parquet.thrift import Cursor, ThriftError, WireType

# Plain ints, because an enum member costs a lookup in the loops below.
_FALSE, _I64, _BINARY, _LIST, _STRUCT = 2, 6, 8, 9, 12


class ChunkStatistics(NamedTuple):
    """Statistics of a column in one row group; None for each that the file does not record.

    :param path: the column's path, as encoded in the metadata
    :param num_values: number of values, including nulls
    :param minimum: lower bound
    :param maximum: upper bound
    :param is_exact: False if a bound is recorded as no value of the column, such as a truncated string
    :param is_deprecated: True if the bounds are in the deprecated fields, which compare as signed bytes
    """

    path: bytes
    num_values: int
    null_count: int | None = None
    minimum: bytes | None = None
    maximum: bytes | None = None
    is_exact: bool = True
    is_deprecated: bool = False


class Writer(NamedTuple):
    """The parts of a footer that decide which statistics readers trust.

    :param created_by: name and version of the writer
    :param ordered: for each leaf column, True if its bounds have the order of its type; empty if none is recorded
    :param keys: metadata of the application
    """

    created_by: str
    ordered: tuple[bool, ...]
    keys: dict[bytes, bytes]

    @property
    def has_sound_bytes(self) -> bool:
        """Return True if bounds of byte arrays are sound: parquet-mr had the fault PARQUET-251 before 1.8.0."""
        if self._application != "parquet-mr":
            return bool(self.created_by)
        found = re.match(r" version (\d{1,9})\.(\d{1,9})", self.created_by[len(self._application) :])
        return found is not None and (int(found[1]), int(found[2])) >= (1, 8)

    @property
    def keeps_strings_whole(self) -> bool:
        """Return True if its writer truncates no bounds of strings, or records that it did."""
        return self.has_sound_bytes and self._application in _KNOWN

    @property
    def omits_zero(self) -> bool:
        """Return True if a missing number of nulls is 0: parquet-rs wrote no 0 before release 53 (arrow-rs#6490)."""
        found = re.fullmatch(r"parquet-rs version (\d{1,9})\..*", self.created_by)
        return found is not None and int(found[1]) < 53

    @property
    def _application(self) -> str:
        return self.created_by.partition(" version")[0]

    @property
    def uses_one_calendar(self) -> bool:
        """Return True if old dates and timestamps are known to be in today's calendar, without zones' odd seconds."""
        if any(key.startswith(b"org.apache.spark.legacy") for key in self.keys):
            return False
        if not self.created_by.startswith("parquet-mr"):
            return bool(self.created_by)
        return self.keys.get(_SPARK_VERSION, b"0")[:1] in b"3456789"

    @property
    def names_calendar(self) -> bool:
        """Return True if Spark knows the calendar of old dates and timestamps, and converts them if needed."""
        return _SPARK_VERSION in self.keys


_SPARK_VERSION = b"org.apache.spark.version"
#: Writers whose bounds of strings are values, unless they are recorded as not exact.
_KNOWN = frozenset({"parquet-mr", "parquet-cpp-arrow", "parquet-rs", "delta-rs", "DuckDB", "Polars"})


class KnownForms:
    """The forms that the columns and the ends of a table's footers had so far."""

    def __init__(self) -> None:
        self._shapes: list[list[Shape]] = []
        self._groups = 0
        self._end = b""
        self._writer: Writer | None = None

    @property
    def is_learning(self) -> bool:
        """Return True if the table has enough row groups for new shapes to pay."""
        return self._groups > _FEW_GROUPS

    def of_columns(self, count: int) -> list[list[Shape]]:
        """Return the shapes that each column of the next row group may have."""
        self._groups += 1
        if len(self._shapes) != count:
            self._shapes = [[] for _ in range(count)]
        return self._shapes

    def writer(self, data: bytes, position: int) -> Writer:
        """Return the properties of the writer. Most footers of a table end alike.

        :param position: position after the row groups
        :raises ThriftError: if the bytes are not Thrift
        """
        end, known = data[position:], self._writer
        if known is None or end != self._end:
            known = read_writer(data, position)
            self._end, self._writer = end, known
        return known


#: Number of row groups that are read as Thrift before shapes are made, which takes as long.
_FEW_GROUPS = 20
#: Maximum number of shapes that are kept for a column.
_MOST_SHAPES = 4


def read_row_groups(data: bytes, position: int, known: KnownForms) -> tuple[list[list[ChunkStatistics]], int]:
    """Return the statistics of all columns by row group, and the position after the list of row groups.

    :param known: the forms of other footers of the same table
    :raises ThriftError: if the bytes are not Thrift
    :raises ValueError: if a column has no metadata of its own: it is encrypted, or in another file
    """
    cursor = Cursor(data, position)
    try:
        return [_row_group(cursor, known) for _ in range(cursor.list_of(WireType.STRUCT))], cursor.position
    except IndexError:
        raise ThriftError("it ends within the row groups") from None


def _row_group(cursor: Cursor, known: KnownForms) -> list[ChunkStatistics]:
    found: list[ChunkStatistics] = []
    field_id = 0
    while True:
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            return found
        if field_id == 1 and wire_type == _LIST:
            found = _chunks(cursor, known)
            if only_numbers := _ONLY_NUMBERS(cursor.data, cursor.position):
                cursor.position = only_numbers.end()
                return found
        else:
            cursor.skip(wire_type)


#: Matches the rest of a struct if it has only integers.
_ONLY_NUMBERS = re.compile(rb"(?:[\x14-\x16\x24-\x26\x34-\x36][\x80-\xff]{0,9}[\x00-\x7f])*\x00").match


def _chunks(cursor: Cursor, known: KnownForms) -> list[ChunkStatistics]:
    count = cursor.list_of(WireType.STRUCT)
    data, position = cursor.data, cursor.position
    chunks: list[ChunkStatistics] = []
    for shapes in known.of_columns(count):
        for shape in shapes:
            found = shape.match(data, position)
            if found is None:
                continue
            if shape.rest is None:
                position = found.end()
                path, values, nulls, least, most = found.group(*shape.groups)
                known_nulls = None if nulls is None else _integer(nulls)
                statistics = (path, _integer(values), known_nulls, least, most, True, shape.is_deprecated)
            else:
                cursor.position = found.end()
                read = _statistics(cursor)
                rest = shape.rest(data, cursor.position)
                if rest is None:
                    continue
                position = rest.end()
                path, values = found.group(*shape.groups)
                statistics = (path, _integer(values), *read)
            chunks.append(_new_tuple(ChunkStatistics, statistics))
            break
        else:
            cursor.position = position
            chunks.append(_chunk(cursor))
            if known.is_learning and len(shapes) < _MOST_SHAPES:
                new = shape_of(data[position : cursor.position], splits=bool(shapes))
                shapes.extend(() if new is None else (new,))
            position = cursor.position
    cursor.position = position
    return chunks


#: Makes a named tuple in half the time of a call of its class.
_new_tuple = tuple.__new__


@lru_cache(maxsize=256)
def _integer(encoded: bytes) -> int:
    return Cursor(encoded).integer()


def _chunk(cursor: Cursor) -> ChunkStatistics:
    found: ChunkStatistics | None = None
    field_id = 0
    while True:
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            if found is None:
                raise ValueError("a column of a row group has no metadata")
            return found
        if field_id == 3 and wire_type == _STRUCT:
            found = _metadata(cursor)
        else:
            cursor.skip(wire_type)


def _metadata(cursor: Cursor) -> ChunkStatistics:
    """Read a ColumnMetaData. One loop, as this is most of a footer."""
    data, path, num_values = cursor.data, b"", 0
    statistics: tuple[int | None, bytes | None, bytes | None, bool, bool] = (None, None, None, True, False)
    field_id = 0
    while True:
        head = data[cursor.position]
        cursor.position += 1
        if not head:
            return ChunkStatistics(path, num_values, *statistics)
        wire_type = head & 0x0F
        field_id = field_id + (head >> 4) if head >> 4 else cursor.integer()
        if 4 <= wire_type <= _I64:
            if field_id == 5:
                num_values = cursor.integer()
                continue
            position = cursor.position
            while data[position] > 0x7F:
                position += 1
            cursor.position = position + 1
        elif field_id == 3 and wire_type == _LIST:
            start = cursor.position
            cursor.skip(wire_type)
            path = data[start : cursor.position]
        elif field_id == 12 and wire_type == _STRUCT:
            statistics = _statistics(cursor)
        else:
            cursor.skip(wire_type)


def _statistics(cursor: Cursor) -> tuple[int | None, bytes | None, bytes | None, bool, bool]:
    data, nulls, is_exact = cursor.data, None, True
    bounds: list[bytes | None] = [None] * 7
    field_id = 0
    while True:
        head = data[cursor.position]
        cursor.position += 1
        if not head:
            break
        wire_type = head & 0x0F
        field_id = field_id + (head >> 4) if head >> 4 else cursor.integer()
        if wire_type == _BINARY:
            value = cursor.binary()
            if 0 < field_id < 7:
                bounds[field_id] = value
        elif wire_type == _I64 and field_id == 3:
            nulls = cursor.integer()
        elif wire_type == _FALSE and field_id in (7, 8):
            is_exact = False
        else:
            cursor.skip(wire_type)
    _, most, least, _, _, maximum, minimum = bounds
    if minimum is None and maximum is None:
        return nulls, least, most, is_exact, (least or most) is not None
    return nulls, minimum, maximum, is_exact, False


def read_writer(data: bytes, position: int) -> Writer:
    """Read the fields of FileMetaData after its row groups.

    :param position: position after the row groups
    :raises ThriftError: if the bytes are not Thrift
    """
    cursor, field_id = Cursor(data, position), 4
    created_by, ordered = b"", tuple[bool, ...]()
    keys: dict[bytes, bytes] = {}
    while True:
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            return Writer(created_by.decode("utf-8", "replace"), ordered, keys)
        if field_id == 5 and wire_type == _LIST:
            keys = dict(_keys(cursor))
        elif field_id == 6 and wire_type == _BINARY:
            created_by = cursor.binary()
        elif field_id == 7 and wire_type == _LIST:
            ordered = tuple(_orders(cursor))
        else:
            cursor.skip(wire_type)


def _keys(cursor: Cursor) -> Iterator[tuple[bytes, bytes]]:
    for _ in range(cursor.list_of(WireType.STRUCT)):
        pair, field_id = {1: b"", 2: b""}, 0
        while True:
            field_id, wire_type = cursor.field(field_id)
            if not wire_type:
                break
            if wire_type == _BINARY:
                value = cursor.binary()
                pair[field_id] = value[:_MOST_BYTES]
            else:
                cursor.skip(wire_type)
        yield pair[1], pair[2]


#: Bytes of an application's value that are kept; schemas in them are not needed.
_MOST_BYTES = 32
#: The member of ColumnOrder that says that the type defines the order.
_TYPE_ORDER = 1


def _orders(cursor: Cursor) -> Iterator[bool]:
    for _ in range(cursor.list_of(WireType.STRUCT)):
        start = cursor.position
        yield cursor.field(0)[0] == _TYPE_ORDER
        cursor.position = start
        cursor.skip(WireType.STRUCT)


def encoded_path(path: tuple[str, ...]) -> bytes:
    """Return a column's path as row groups hold it: a list of strings."""
    names = [name.encode() for name in path]
    head = bytes([len(names) << 4 | _BINARY]) if len(names) < 15 else bytes([0xF0 | _BINARY]) + _varint(len(names))
    return head + b"".join(_varint(len(name)) + name for name in names)


def _varint(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
