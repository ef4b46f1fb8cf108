"""Statistics of column chunks in a footer, read in one pass over all row groups.

parquet-format, ``parquet.thrift`` (Statistics, ColumnOrder). Bounds stay bytes: their meaning depends on the column's
type, and :class:`Writer` tells which of them readers trust. Most row groups of a table look alike, so
:class:`ShapeCache` keeps patterns of earlier ones, which read the next ones some ten times as fast.
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
_FALSE, _I16, _I64, _BINARY, _LIST, _STRUCT = 2, 4, 6, 8, 9, 12
# Ids of fields in parquet.thrift: of RowGroup, ColumnChunk, ColumnMetaData, Statistics, FileMetaData, KeyValue.
_COLUMNS = 1
_META_DATA = 3
_PATH_IN_SCHEMA, _NUM_VALUES, _STATISTICS = 3, 5, 12
_DEPRECATED_MAX, _DEPRECATED_MIN, _NULL_COUNT, _MAX_VALUE, _MIN_VALUE = 1, 2, 3, 5, 6
_IS_MAX_VALUE_EXACT, _IS_MIN_VALUE_EXACT = 7, 8
_ROW_GROUPS, _KEY_VALUE_METADATA, _CREATED_BY, _COLUMN_ORDERS = 4, 5, 6, 7
_KEY, _VALUE = 1, 2
#: The member of ColumnOrder that says that the type defines the order.
_TYPE_ORDER = 1

#: A row group's or column's shape is made only after this many row groups: to make it takes as long as to read them.
_GROUPS_BEFORE_COLUMN_SHAPES, _GROUPS_BEFORE_GROUP_SHAPES = 20, 80
#: Maximum number of shapes that are kept for a column, and for row groups.
_MOST_SHAPES = 4
#: Only so many bytes of a key or value of the file's metadata are kept: whole schemas in them are not needed.
_MOST_BYTES = 32
#: The rest of a struct that has only integers: heads of fields of types i16 to i64, each with its number; then the end.
_REST_OF_INTEGERS = rb"(?:[\x14-\x16\x24-\x26\x34-\x36][\x80-\xff]{0,9}[\x00-\x7f])*\x00"
_match_rest_of_integers = re.compile(_REST_OF_INTEGERS).match
#: Makes a named tuple in half the time of a call of its class.
_new_tuple = tuple.__new__

_SPARK_VERSION = b"org.apache.spark.version"
#: Writers that mark string bounds as not exact if they truncate them.
_MARK_TRUNCATED_STRINGS = frozenset({"parquet-mr", "parquet-cpp-arrow", "parquet-rs", "delta-rs", "DuckDB", "Polars"})


class ChunkStatistics(NamedTuple):
    """Statistics of a column in one row group. Statistics that the file does not record are None.

    :param path: the column's path, as encoded in the metadata
    :param num_values: number of values, including nulls
    :param minimum: lower bound
    :param maximum: upper bound
    :param is_exact: False if the file says that a bound is not a value of the column, such as a truncated string
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
    :param in_type_order: for each leaf column, True if the file says that its bounds are in the order of its type;
        empty if the file records no orders
    :param key_values: the file's key-value metadata; keys and values are cut to their first bytes
    """

    created_by: str
    in_type_order: tuple[bool, ...]
    key_values: dict[bytes, bytes]

    @property
    def has_reliable_binary_bounds(self) -> bool:
        """Return True unless bounds of byte arrays may be wrong, as before parquet-mr 1.8.0 (PARQUET-251)."""
        if self._application != "parquet-mr":
            return bool(self.created_by)
        found = re.match(r" version (\d{1,9})\.(\d{1,9})", self.created_by[len(self._application) :])
        return found is not None and (int(found[1]), int(found[2])) >= (1, 8)

    @property
    def marks_truncated_strings(self) -> bool:
        """Return True if string bounds are values of the column, unless they are marked as not exact."""
        return self.has_reliable_binary_bounds and self._application in _MARK_TRUNCATED_STRINGS

    @property
    def omits_zero(self) -> bool:
        """Return True if a missing null_count means 0: parquet-rs wrote no 0 before release 53 (arrow-rs#6490)."""
        found = re.fullmatch(r"parquet-rs version (\d{1,9})\..*", self.created_by)
        return found is not None and int(found[1]) < 53

    @property
    def _application(self) -> str:
        return self.created_by.partition(" version")[0]

    @property
    def uses_proleptic_calendar(self) -> bool:
        """Return True if old dates and timestamps are known to be proleptic Gregorian.

        Spark 2 wrote them in the hybrid calendar: Julian before 1582, and times before 1900 shifted by the seconds of
        local mean time. Spark 3 and later can be set to do the same, and then record it.
        """
        if any(key.startswith(b"org.apache.spark.legacy") for key in self.key_values):
            return False
        if not self.created_by.startswith("parquet-mr"):
            return bool(self.created_by)
        major = re.match(rb"(\d{1,9})\.", self.key_values.get(_SPARK_VERSION, b""))
        return major is not None and int(major[1]) >= 3

    @property
    def records_spark_version(self) -> bool:
        """Return True if Spark can tell the calendar of old dates and timestamps, and converts them if needed."""
        return _SPARK_VERSION in self.key_values


class GroupStatistics(NamedTuple):
    """Statistics of a row group: a tuple with the values of all columns for each field of :class:`ChunkStatistics`."""

    paths: tuple[bytes, ...] = ()
    num_values: tuple[int, ...] = ()
    null_counts: tuple[int | None, ...] = ()
    minima: tuple[bytes | None, ...] = ()
    maxima: tuple[bytes | None, ...] = ()
    are_exact: tuple[bool, ...] = ()
    are_deprecated: tuple[bool, ...] = ()

    @classmethod
    def of(cls, chunks: Iterable[ChunkStatistics]) -> GroupStatistics:
        """Join the statistics of the columns of a row group."""
        return cls(*zip(*chunks, strict=True))

    @property
    def chunks(self) -> list[ChunkStatistics]:
        """The statistics of each column."""
        return [ChunkStatistics(*chunk) for chunk in zip(*self, strict=True)]


class ShapeCache:
    """Shapes of the columns and row groups of a table's footers, with which later ones of the same shape are read fast.

    Shapes of columns come first. Once the columns of successive row groups have the same shapes, these are joined to
    one shape for the whole row group. The end of the last footer is kept as well: most footers of a table end alike.

    :ivar of_groups: shapes of row groups
    """

    def __init__(self) -> None:
        self.of_groups: list[Shape] = []
        self._of_columns: list[list[Shape]] = []
        self._of_last_group: list[Shape] = []
        self._groups = 0
        self._end = b""
        self._writer: Writer | None = None

    @property
    def has_enough_groups(self) -> bool:
        """Return True if the table has so many row groups that it is worth making new shapes of columns."""
        return self._groups > _GROUPS_BEFORE_COLUMN_SHAPES

    def next_group(self, columns: int) -> list[list[Shape]]:
        """Count a row group, and return the shapes that each of its columns may have.

        :param columns: number of its columns; if it differs from the last row group's, all shapes are dropped
        """
        self._groups += 1
        if len(self._of_columns) != columns:
            self._of_columns = [[] for _ in range(columns)]
            self.of_groups = []
        return self._of_columns

    def add_group(self, matched: list[Shape], head: bytes, chunks: Callable[[], list[bytes]]) -> None:
        """Make a shape of a row group if many row groups were read, and the one before had the same shapes.

        :param matched: the shape of each column that matched one; shorter than the columns if one matched none
        :param head: the row group up to its first column chunk
        :param chunks: returns its column chunks
        """
        repeats = 0 < len(matched) == len(self._of_columns) and matched == self._of_last_group
        self._of_last_group = matched
        if repeats and self._groups > _GROUPS_BEFORE_GROUP_SHAPES and len(self.of_groups) < _MOST_SHAPES:
            new = shape_of(chunks(), head, _REST_OF_INTEGERS)
            if new is not None:
                self.of_groups.append(new)

    def writer(self, data: bytes, position: int) -> Writer:
        """Return the properties of the writer; the same object if the last footer has the same end.

        :param position: position after the row groups
        :raises ThriftError: if the bytes are not Thrift
        """
        end, writer = data[position:], self._writer
        if writer is None or end != self._end:
            writer = read_writer(data, position)
            self._end, self._writer = end, writer
        return writer


def read_row_groups(data: bytes, position: int, cache: ShapeCache) -> tuple[list[GroupStatistics], int]:
    """Return the statistics of all columns by row group, and the position after the list of row groups.

    :param cache: shapes from other footers of the same table
    :raises ThriftError: if the bytes are not Thrift
    :raises ValueError: if a column has no metadata of its own: it is encrypted, or in another file
    """
    cursor = Cursor(data, position)
    try:
        groups = [
            _group_by_shape(cursor, cache.of_groups) or _row_group(cursor, cache)
            for _ in range(cursor.list_of(WireType.STRUCT))
        ]
    except IndexError:
        raise ThriftError("it ends within the row groups") from None
    return groups, cursor.position


def _group_by_shape(cursor: Cursor, shapes: list[Shape]) -> GroupStatistics | None:
    """Read a row group that has one of the shapes; None if it has another one."""
    for shape in shapes:
        read = shape.read(cursor.data, cursor.position)
        if read is not None:
            # Values of n columns come field by field: n paths, n numbers of values, n of nulls, minima, maxima.
            values, cursor.position = read
            n = len(shape.are_exact)
            counts, nulls = _integers(values[n : 2 * n]), _integers(values[2 * n : 3 * n])
            bounds = values[3 * n : 4 * n], values[4 * n :]
            columns = (values[:n], counts, nulls, *bounds, shape.are_exact, shape.are_deprecated)
            return _new_tuple(GroupStatistics, columns)
    return None


def _row_group(cursor: Cursor, cache: ShapeCache) -> GroupStatistics:
    statistics = GroupStatistics()
    field_id, start = 0, cursor.position
    while True:
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            return statistics
        if field_id == _COLUMNS and wire_type == _LIST:
            count = cursor.list_of(WireType.STRUCT)
            head = cursor.data[start : cursor.position]
            statistics = GroupStatistics.of(_chunks(cursor, cache, head, count))
            if rest := _match_rest_of_integers(cursor.data, cursor.position):
                cursor.position = rest.end()
                return statistics
        else:
            cursor.skip(wire_type)


def _chunks(cursor: Cursor, cache: ShapeCache, head: bytes, count: int) -> list[ChunkStatistics]:
    """Read the column chunks of a row group, each by a shape that it has, or else as Thrift.

    :param head: the row group up to its first column chunk
    """
    data, position = cursor.data, cursor.position
    starts = [position]
    matched: list[Shape] = []
    chunks: list[ChunkStatistics] = []
    for shapes in cache.next_group(count):
        for shape in shapes:
            read = shape.read(data, position)
            if read is not None:
                (path, values, nulls, minimum, maximum), position = read
                (is_exact,), (is_deprecated,) = shape.are_exact, shape.are_deprecated
                statistics = (path, _integer(values), _integer(nulls), minimum, maximum, is_exact, is_deprecated)
                chunks.append(_new_tuple(ChunkStatistics, statistics))
                matched.append(shape)
                break
        else:
            cursor.position = position
            chunks.append(_chunk(cursor))
            if cache.has_enough_groups and len(shapes) < _MOST_SHAPES:
                new = shape_of([data[position : cursor.position]])
                if new is not None:
                    shapes.append(new)
            position = cursor.position
        starts.append(position)
    cursor.position = position
    cache.add_group(matched, head, lambda: [data[start:end] for start, end in pairwise(starts)])
    return chunks


@lru_cache(maxsize=256)
def _integer(encoded: bytes | None) -> Any:
    return None if encoded is None else Cursor(encoded).integer()


def _integers(encoded: Sequence[bytes | None]) -> tuple[Any, ...]:
    """Decode integers, which are mostly equal."""
    if encoded.count(encoded[0]) == len(encoded):
        return (_integer(encoded[0]),) * len(encoded)
    return tuple(map(_integer, encoded))


def _chunk(cursor: Cursor) -> ChunkStatistics:
    """Read a ColumnChunk."""
    statistics: ChunkStatistics | None = None
    field_id = 0
    while True:
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            if statistics is None:
                raise ValueError("a column of a row group has no metadata")
            return statistics
        if field_id == _META_DATA and wire_type == _STRUCT:
            statistics = _metadata(cursor)
        else:
            cursor.skip(wire_type)


def _metadata(cursor: Cursor) -> ChunkStatistics:
    """Read a ColumnMetaData.

    Most of a footer is read here, so ``Cursor.field`` and skipped integers are inlined, as in ``_statistics``.
    """
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
        if _I16 <= wire_type <= _I64:
            if field_id == _NUM_VALUES:
                num_values = cursor.integer()
                continue
            position = cursor.position
            while data[position] > 0x7F:
                position += 1
            cursor.position = position + 1
        elif field_id == _PATH_IN_SCHEMA and wire_type == _LIST:
            start = cursor.position
            cursor.skip(wire_type)
            path = data[start : cursor.position]
        elif field_id == _STATISTICS and wire_type == _STRUCT:
            statistics = _statistics(cursor)
        else:
            cursor.skip(wire_type)


def _statistics(cursor: Cursor) -> tuple[int | None, bytes | None, bytes | None, bool, bool]:
    """Read a Statistics struct. Return the fields of :class:`ChunkStatistics` from the number of nulls on."""
    data, nulls, is_exact = cursor.data, None, True
    bounds: list[bytes | None] = [None] * (_MIN_VALUE + 1)  # by field id
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
            if 0 < field_id <= _MIN_VALUE:
                bounds[field_id] = value
        elif wire_type == _I64 and field_id == _NULL_COUNT:
            nulls = cursor.integer()
        elif wire_type == _FALSE and field_id in (_IS_MAX_VALUE_EXACT, _IS_MIN_VALUE_EXACT):
            is_exact = False
        else:
            cursor.skip(wire_type)
    minimum, maximum = bounds[_MIN_VALUE], bounds[_MAX_VALUE]
    if minimum is not None or maximum is not None:
        return nulls, minimum, maximum, is_exact, False
    minimum, maximum = bounds[_DEPRECATED_MIN], bounds[_DEPRECATED_MAX]
    return nulls, minimum, maximum, is_exact, minimum is not None or maximum is not None


def read_writer(data: bytes, position: int) -> Writer:
    """Read the fields of FileMetaData after its row groups.

    :param position: position after the row groups
    :raises ThriftError: if the bytes are not Thrift
    """
    cursor, field_id = Cursor(data, position), _ROW_GROUPS
    created_by, in_type_order = b"", tuple[bool, ...]()
    key_values: dict[bytes, bytes] = {}
    while True:
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            return Writer(created_by.decode("utf-8", "replace"), in_type_order, key_values)
        if field_id == _KEY_VALUE_METADATA and wire_type == _LIST:
            key_values = dict(_key_values(cursor))
        elif field_id == _CREATED_BY and wire_type == _BINARY:
            created_by = cursor.binary()
        elif field_id == _COLUMN_ORDERS and wire_type == _LIST:
            in_type_order = tuple(_are_in_type_order(cursor))
        else:
            cursor.skip(wire_type)


def _key_values(cursor: Cursor) -> Iterator[tuple[bytes, bytes]]:
    for _ in range(cursor.list_of(WireType.STRUCT)):
        pair, field_id = {_KEY: b"", _VALUE: b""}, 0
        while True:
            field_id, wire_type = cursor.field(field_id)
            if not wire_type:
                break
            if wire_type == _BINARY:
                value = cursor.binary()
                pair[field_id] = value[:_MOST_BYTES]
            else:
                cursor.skip(wire_type)
        yield pair[_KEY], pair[_VALUE]


def _are_in_type_order(cursor: Cursor) -> Iterator[bool]:
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
