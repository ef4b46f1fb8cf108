"""Statistics of column chunks in a footer, read in one pass over all row groups.

parquet-format, ``parquet.thrift`` (Statistics, ColumnOrder). Bounds stay bytes: their meaning depends on the column's
type, and :class:`Writer` tells which of them readers trust.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

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


class GroupStatistics(NamedTuple):
    """Statistics of a row group, as columns of the fields of :class:`ChunkStatistics`."""

    paths: tuple[bytes, ...] = ()
    num_values: tuple[int, ...] = ()
    null_counts: tuple[int | None, ...] = ()
    minima: tuple[bytes | None, ...] = ()
    maxima: tuple[bytes | None, ...] = ()
    are_exact: tuple[bool, ...] = ()
    are_deprecated: tuple[bool, ...] = ()

    @classmethod
    def of(cls, chunks: Iterable[ChunkStatistics]) -> GroupStatistics:
        """Return the statistics of columns."""
        return cls(*zip(*chunks, strict=True))

    @property
    def chunks(self) -> list[ChunkStatistics]:
        """The statistics of each column."""
        return [ChunkStatistics(*chunk) for chunk in zip(*self, strict=True)]


class FooterShapes:
    """The forms that the row groups, their columns, and the ends of a table's footers had so far.

    :ivar of_groups: shapes of row groups
    """

    def __init__(self) -> None:
        self.of_groups: list[Shape] = []
        self._shapes: list[list[Shape]] = []
        self._last: list[Shape] = []
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
            self.of_groups = []
        return self._shapes

    def learn_group(self, shapes: list[Shape], head: bytes, chunks: Callable[[], list[bytes]]) -> None:
        """Add the shape of a row group if many row groups were read, and the last two have it.

        :param shapes: the shapes of its columns, without those that have none
        :param head: the row group up to its first column chunk
        :param chunks: returns its column chunks
        """
        repeats = 0 < len(shapes) == len(self._shapes) and shapes == self._last
        self._last = shapes
        if repeats and self._groups > _MANY_GROUPS and len(self.of_groups) < _MOST_SHAPES:
            new = shape_of(chunks(), head, _ONLY_NUMBERS)
            self.of_groups += () if new is None else (new,)

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


#: Numbers of row groups that are read before shapes are made of columns and of row groups, which takes as long.
_FEW_GROUPS, _MANY_GROUPS = 20, 80
#: Maximum number of shapes that are kept for a column, and for row groups.
_MOST_SHAPES = 4


def read_row_groups(data: bytes, position: int, known: FooterShapes) -> tuple[list[GroupStatistics], int]:
    """Return the statistics of all columns by row group, and the position after the list of row groups.

    :param known: the forms of other footers of the same table
    :raises ThriftError: if the bytes are not Thrift
    :raises ValueError: if a column has no metadata of its own: it is encrypted, or in another file
    """
    cursor = Cursor(data, position)
    try:
        groups = [
            _known_group(cursor, known.of_groups) or _row_group(cursor, known)
            for _ in range(cursor.list_of(WireType.STRUCT))
        ]
    except IndexError:
        raise ThriftError("it ends within the row groups") from None
    return groups, cursor.position


def _known_group(cursor: Cursor, shapes: list[Shape]) -> GroupStatistics | None:
    for shape in shapes:
        read = shape.read(cursor.data, cursor.position)
        if read is not None:
            values, cursor.position = read
            n = len(shape.are_exact)
            counts, nulls = _integers(values[n : 2 * n]), _integers(values[2 * n : 3 * n])
            bounds = values[3 * n : 4 * n], values[4 * n :]
            columns = (values[:n], counts, nulls, *bounds, shape.are_exact, shape.are_deprecated)
            return _new_tuple(GroupStatistics, columns)
    return None


def _row_group(cursor: Cursor, known: FooterShapes) -> GroupStatistics:
    found = GroupStatistics()
    field_id, start = 0, cursor.position
    while True:
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            return found
        if field_id == 1 and wire_type == _LIST:
            count = cursor.list_of(WireType.STRUCT)
            head = cursor.data[start : cursor.position]
            found = GroupStatistics.of(_chunks(cursor, known, head, count))
            if only_numbers := _only_numbers(cursor.data, cursor.position):
                cursor.position = only_numbers.end()
                return found
        else:
            cursor.skip(wire_type)


#: Matches the rest of a struct if it has only integers.
_ONLY_NUMBERS = rb"(?:[\x14-\x16\x24-\x26\x34-\x36][\x80-\xff]{0,9}[\x00-\x7f])*\x00"
_only_numbers = re.compile(_ONLY_NUMBERS).match


def _chunks(cursor: Cursor, known: FooterShapes, head: bytes, count: int) -> list[ChunkStatistics]:
    """Read the column chunks of a row group.

    :param head: the row group up to its first column chunk
    """
    data, position = cursor.data, cursor.position
    starts = [position]
    matched: list[Shape] = []
    chunks: list[ChunkStatistics] = []
    for shapes in known.of_columns(count):
        for shape in shapes:
            read = shape.read(data, position)
            if read is not None:
                (path, values, nulls, least, most), position = read
                (is_exact,), (is_deprecated,) = shape.are_exact, shape.are_deprecated
                statistics = (path, _integer(values), _integer(nulls), least, most, is_exact, is_deprecated)
                chunks.append(_new_tuple(ChunkStatistics, statistics))
                matched.append(shape)
                break
        else:
            cursor.position = position
            chunks.append(_chunk(cursor))
            if known.is_learning and len(shapes) < _MOST_SHAPES:
                new = shape_of([data[position : cursor.position]])
                shapes.extend(() if new is None else (new,))
            position = cursor.position
        starts.append(position)
    cursor.position = position
    known.learn_group(matched, head, lambda: [data[start:end] for start, end in pairwise(starts)])
    return chunks


#: Makes a named tuple in half the time of a call of its class.
_new_tuple = tuple.__new__


@lru_cache(maxsize=256)
def _integer(encoded: bytes | None) -> Any:
    return None if encoded is None else Cursor(encoded).integer()


def _integers(encoded: Sequence[bytes | None]) -> tuple[Any, ...]:
    """Decode integers, which are mostly equal."""
    if encoded.count(encoded[0]) == len(encoded):
        return (_integer(encoded[0]),) * len(encoded)
    return tuple(map(_integer, encoded))


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
