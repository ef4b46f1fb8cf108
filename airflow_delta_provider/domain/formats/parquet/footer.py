"""The footer of a Parquet file: its number of rows, its columns, and their statistics.

parquet-format, ``README.md`` (File format, Metadata) and ``parquet.thrift``. A file ends with the metadata, its length
in four bytes, and the magic ``PAR1``. So a few bytes from its end answer questions that would otherwise need a whole
job. The row groups, most of the metadata, are read only when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

from airflow_delta_provider.domain.formats.parquet.schema import (
    LogicalKind,
    PhysicalType,
    Schema,
    SchemaElement,
    read_schema,
)
from airflow_delta_provider.domain.formats.parquet.statistics import (
    GroupStatistics,
    ShapeCache,
    Writer,
    read_row_groups,
)
from airflow_delta_provider.domain.formats.parquet.thrift import Cursor, ThriftError, WireType, key

MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"
#: Number of bytes at the end of every file: the length of the metadata, and the magic.
TRAILER_SIZE = 8

_Read = TypeVar("_Read")


class Content(Protocol):
    """The bytes of a file: in memory, or read by ranges."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


class FooterError(Exception):
    """A file without a readable footer; the message gives the reason."""


class EncryptedFooterError(FooterError):
    """A footer that is encrypted, or whose requested part is."""


class ColumnChunk(NamedTuple):
    """Metadata about a column's values in one row group.

    :param num_values: number of values, including nulls; for a column in a list, one or more per row
    :param null_count: number of nulls, or None if the file does not record it
    :param minimum: lower bound, and the least value in files of all known writers; None if the file does not record it,
        and for every column not stored as INT32 or INT64
    :param maximum: upper bound, with the same restrictions
    """

    num_values: int
    null_count: int | None
    minimum: int | None
    maximum: int | None


class StoredChunk(NamedTuple):
    """The location in the file of a column's values of one row group.

    It is recorded in the metadata, which may be wrong.

    :param num_values: number of values, including nulls; for a column in a list, one or more per row
    :param codec: codec of its pages, by its number in ``parquet.thrift``
    :param start: start of its first page
    :param size: size of all its pages in bytes, including headers
    """

    num_values: int
    codec: int
    start: int
    size: int


@dataclass(frozen=True)
class Footer:
    """The metadata of a file.

    :param num_rows: number of rows in the file
    """

    num_rows: int
    _schema: Schema = field(repr=False, compare=False)
    _metadata: bytes = field(repr=False)
    _schema_end: int = field(repr=False)
    _row_groups: int = field(repr=False)
    _shapes: ShapeCache = field(default_factory=ShapeCache, repr=False, compare=False)

    @property
    def schema(self) -> tuple[SchemaElement, ...]:
        """The schema's elements, depth-first, the root first."""
        return self._schema.elements

    def leaf(self, path: tuple[str, ...]) -> SchemaElement | None:
        """Return the leaf column at a path below the root, or None if there is none.

        :param path: names in the file, including the groups that lists and maps insert
        """
        found = self._schema.leaves.get(path)
        return None if found is None else found[1]

    def chunks(self, path: tuple[str, ...]) -> tuple[ColumnChunk, ...]:
        """Return the metadata of a leaf column for each row group, in their order.

        :raises KeyError: if there is no such leaf column
        :raises FooterError: if the row groups are damaged
        :raises EncryptedFooterError: if the metadata of this column is encrypted
        """
        return tuple(self._by_row_group(path, _read_chunk))

    def stored_chunks(self, path: tuple[str, ...]) -> tuple[StoredChunk, ...]:
        """Return the location of a leaf column's pages in each row group, in their order.

        :raises KeyError: if there is no such leaf column
        :raises FooterError: if the row groups are damaged
        :raises EncryptedFooterError: if the metadata of this column is encrypted
        """
        return tuple(self._by_row_group(path, _read_stored_chunk))

    @property
    def row_counts(self) -> tuple[int, ...]:
        """The number of rows in each row group, in their order.

        :raises FooterError: if the row groups are damaged
        """
        counts = []
        for count, _ in self._groups:
            if count is None or count < 0:
                raise FooterError("its footer is damaged: a row group does not say how many rows it has")
            counts.append(count)
        return tuple(counts)

    @property
    def layout(self) -> Schema:
        """The schema; files that share its bytes share the object."""
        return self._schema

    def statistics(self) -> tuple[list[GroupStatistics], Writer]:
        """Return the statistics of each row group's columns, and the properties of the writer that decide their use.

        :raises FooterError: if the row groups are damaged, or statistics are encrypted
        """
        try:
            groups, end = read_row_groups(self._metadata, self._row_groups, self._shapes)
            return groups, self._shapes.writer(self._metadata, end)
        except (ThriftError, ValueError) as error:
            raise FooterError(f"its footer is damaged: {error}") from error

    def _by_row_group(
        self, path: tuple[str, ...], read: Callable[[Cursor, tuple[str, ...], SchemaElement], _Read]
    ) -> Iterator[_Read]:
        ordinal, element = self._schema.leaves[path]
        for _, positions in self._groups:
            if ordinal >= len(positions):
                raise FooterError("its footer is damaged: a row group lacks a column of the schema")
            try:
                yield read(Cursor(self._metadata, positions[ordinal]), path, element)
            except (ThriftError, ValueError) as error:
                raise FooterError(f"its footer is damaged: {error}") from error

    @cached_property
    def _groups(self) -> list[tuple[int | None, list[int]]]:
        """For each row group, its number of rows and the start of each of its columns' metadata."""
        cursor = Cursor(self._metadata, self._row_groups)
        try:
            return [_row_group(cursor) for _ in range(cursor.list_of(WireType.STRUCT))]
        except ThriftError as error:
            raise FooterError(f"its footer is damaged: {error}") from error


def footer_size(tail: bytes) -> int:
    """Return the size of the metadata at the end of the file, including length and magic, in bytes.

    The size is the file's own statement: compare it with the file's size before reading that much.

    :param tail: last bytes of the file, at least 8
    :raises EncryptedFooterError: if the footer is encrypted
    :raises FooterError: if this is not the end of a Parquet file
    """
    if len(tail) < TRAILER_SIZE:
        raise FooterError(f"it is not a Parquet file: {len(tail)} bytes are too few for one")
    magic = tail[-4:]
    if magic == ENCRYPTED_MAGIC:
        raise EncryptedFooterError("its footer is encrypted")
    if magic != MAGIC:
        raise FooterError(f"it is not a Parquet file, or is truncated: it does not end with {MAGIC.decode()}")
    return int.from_bytes(tail[-TRAILER_SIZE:-4], "little") + TRAILER_SIZE


def read_footer(content: Content) -> Footer:
    """Read the metadata of a whole file; raises as :func:`parse_footer`."""
    end = len(content)
    size = footer_size(content[max(end - TRAILER_SIZE, 0) : end])
    return parse_footer(content[max(end - size, 0) : end])


def parse_footer(tail: bytes, like: Footer | None = None) -> Footer:
    """Read a file's metadata.

    :param tail: last bytes of the file, at least :func:`footer_size`
    :param like: footer of another file of the same table. If the schemas are equal byte for byte, it is neither read
        nor stored a second time
    :raises EncryptedFooterError: if the footer is encrypted
    :raises FooterError: if this is not the end of a Parquet file, or the footer is damaged or incomplete
    """
    size = footer_size(tail)
    if size > len(tail):
        raise FooterError(f"its footer has {size} bytes, but only {len(tail)} are there")
    metadata = tail[len(tail) - size : len(tail) - TRAILER_SIZE]
    try:
        return _read_metadata(metadata, like)
    except (ThriftError, ValueError) as error:
        raise FooterError(f"its footer is damaged: {error}") from error


_VERSION, _SCHEMA, _NUM_ROWS, _ROW_GROUPS = 1, 2, 3, 4


def _read_metadata(metadata: bytes, like: Footer | None) -> Footer:
    """Read the struct FileMetaData, and only the start of its row groups."""
    cursor = Cursor(metadata)
    schema: Schema | None = None
    schema_end = 0
    num_rows: int | None = None
    row_groups: int | None = None
    field_id = 0
    if like is not None and like._schema_end and metadata.startswith(like._metadata[: like._schema_end]):
        schema, schema_end = like._schema, like._schema_end
        cursor.position, field_id = schema_end, _SCHEMA
    while schema is None or num_rows is None or row_groups is None:
        before = field_id
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            raise ValueError("it lacks the schema, the number of rows or the row groups")
        if field_id == _SCHEMA and wire_type == WireType.LIST:
            schema = read_schema(cursor)
            # A schema after fields other than the version cannot be found again by its bytes.
            schema_end = cursor.position if before <= _VERSION else 0
        elif field_id == _NUM_ROWS and wire_type == WireType.I64:
            num_rows = cursor.integer()
        else:
            if field_id == _ROW_GROUPS and wire_type == WireType.LIST:
                row_groups = cursor.position
                if schema is not None and num_rows is not None:
                    break
            cursor.skip(wire_type)
    if num_rows < 0:
        raise ValueError(f"it says {num_rows} rows")
    shapes = like._shapes if like is not None and like._schema is schema else ShapeCache()
    return Footer(num_rows, schema, metadata, schema_end, row_groups, shapes)


_COLUMNS, _GROUP_ROWS = 1, 3
_FILE_PATH = key(1, WireType.BINARY)
_META_DATA = key(3, WireType.STRUCT)
_CRYPTO_METADATA = key(8, WireType.STRUCT)
_TYPE = key(1, WireType.I32)
_PATH_IN_SCHEMA = key(3, WireType.LIST)
_NUM_VALUES = key(5, WireType.I64)
_CODEC = key(4, WireType.I32)
_COMPRESSED_SIZE = key(7, WireType.I64)
_DATA_OFFSET, _DICTIONARY_OFFSET = key(9, WireType.I64), key(11, WireType.I64)
_STATISTICS = key(12, WireType.STRUCT)
_MAX, _MIN = key(1, WireType.BINARY), key(2, WireType.BINARY)
_NULL_COUNT = key(3, WireType.I64)
_MAX_VALUE, _MIN_VALUE = key(5, WireType.BINARY), key(6, WireType.BINARY)

_INT_SIZES = {PhysicalType.INT32: 4, PhysicalType.INT64: 8}


def _row_group(cursor: Cursor) -> tuple[int | None, list[int]]:
    """Skip a RowGroup. Return its number of rows, and the start of each of its ColumnChunks."""
    rows: int | None = None
    positions: list[int] = []
    field_id = 0
    while True:
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            return rows, positions
        if field_id == _COLUMNS and wire_type == WireType.LIST:
            for _ in range(cursor.list_of(WireType.STRUCT)):
                positions.append(cursor.position)
                cursor.skip(WireType.STRUCT)
        elif field_id == _GROUP_ROWS and wire_type == WireType.I64:
            rows = cursor.integer()
        else:
            cursor.skip(wire_type)


def _column_metadata(data: bytes, chunk: dict[int, Any], path: tuple[str, ...]) -> dict[int, Any]:
    """Return the ColumnMetaData of a ColumnChunk, which must be of this column."""
    if _META_DATA not in chunk:
        if _CRYPTO_METADATA in chunk:
            raise EncryptedFooterError(f"its footer's metadata of column {'.'.join(path)} is encrypted")
        raise ValueError(f"it has no metadata of column {'.'.join(path)} in a row group")
    metadata = Cursor(data, chunk[_META_DATA]).struct()
    if _NUM_VALUES not in metadata or _PATH_IN_SCHEMA not in metadata:
        raise ValueError("a column of a row group lacks its path or its number of values")
    names = Cursor(data, metadata[_PATH_IN_SCHEMA])
    found = tuple([names.binary().decode() for _ in range(names.list_of(WireType.BINARY))])
    if found != path:
        raise ValueError(f"a row group has column {'.'.join(found)} where {'.'.join(path)} belongs")
    return metadata


def _read_chunk(cursor: Cursor, path: tuple[str, ...], element: SchemaElement) -> ColumnChunk:
    data = cursor.data
    metadata = _column_metadata(data, cursor.struct(), path)
    statistics = Cursor(data, metadata[_STATISTICS]).struct() if _STATISTICS in metadata else {}
    num_values, null_count = metadata[_NUM_VALUES], statistics.get(_NULL_COUNT)
    if num_values < 0 or (null_count is not None and not 0 <= null_count <= num_values):
        raise ValueError(f"column {'.'.join(path)} has {num_values} values and {null_count} nulls in a row group")
    return ColumnChunk(num_values, null_count, *_bounds(statistics, element))


def _read_stored_chunk(cursor: Cursor, path: tuple[str, ...], element: SchemaElement) -> StoredChunk:
    chunk = cursor.struct()
    metadata = _column_metadata(cursor.data, chunk, path)
    if chunk.get(_FILE_PATH):
        raise ValueError(f"it says that column {'.'.join(path)} lies in another file")
    if metadata.get(_TYPE, element.physical_type) != element.physical_type:
        raise ValueError(f"column {'.'.join(path)} has another type in a row group than in the schema")
    if _CODEC not in metadata or _COMPRESSED_SIZE not in metadata or _DATA_OFFSET not in metadata:
        raise ValueError(f"it does not say where column {'.'.join(path)} lies")
    start, dictionary = metadata[_DATA_OFFSET], metadata.get(_DICTIONARY_OFFSET, 0)
    if 0 < dictionary < start:
        start = dictionary
    return StoredChunk(metadata[_NUM_VALUES], metadata[_CODEC], start, metadata[_COMPRESSED_SIZE])


def _bounds(statistics: dict[int, Any], element: SchemaElement) -> tuple[int | None, int | None]:
    """Return minimum and maximum.

    The deprecated ones compare as signed, which is wrong for unsigned integers.
    """
    size = _INT_SIZES.get(element.physical_type) if element.physical_type is not None else None
    if size is None:
        return None, None
    logical = element.logical_type
    signed = logical is None or logical.kind is not LogicalKind.INTEGER or logical.signed is not False
    minimum, maximum = statistics.get(_MIN_VALUE), statistics.get(_MAX_VALUE)
    if signed and minimum is None and maximum is None:
        minimum, maximum = statistics.get(_MIN), statistics.get(_MAX)
    return _as_int(minimum, size, signed), _as_int(maximum, size, signed)


def _as_int(value: bytes | None, size: int, signed: bool) -> int | None:
    if value is None:
        return None
    if len(value) != size:
        raise ValueError(f"a statistic of {size} bytes has {len(value)}")
    return int.from_bytes(value, "little", signed=signed)
