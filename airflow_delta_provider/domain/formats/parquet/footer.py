"""The footer of a Parquet file: how many rows it has, which columns, and what their statistics say.

parquet-format, ``README.md`` (File format, Metadata) and ``parquet.thrift``. A file ends with the
metadata, its length in four bytes, and the magic ``PAR1``; so a few bytes from its end tell what it
takes a whole job to count. The row groups, most of the metadata, are not read before they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.formats.parquet.schema import (
    LogicalKind,
    PhysicalType,
    Schema,
    SchemaElement,
    read_schema,
)
from airflow_delta_provider.domain.formats.parquet.thrift_compact import Cursor, ThriftError, WireType, key

MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"
#: Bytes that end every file: the length of the metadata, and the magic.
TRAILER_SIZE = 8


class FooterError(Exception):
    """The file has no footer that can be read; the message says why."""


class EncryptedFooterError(FooterError):
    """The footer, or what was asked of it, is encrypted."""


@dataclass(frozen=True)
class ColumnChunk:
    """What the metadata says of a column's values in one row group.

    :param num_values: how many there are, nulls included; of a column in a list, one or more per row
    :param null_count: how many are null, or None where the file does not say
    :param minimum: a lower bound, by all writers known the least value; None where the file does not say,
        and for every column not stored as INT32 or INT64
    :param maximum: an upper bound, likewise
    """

    num_values: int
    null_count: int | None
    minimum: int | None
    maximum: int | None


@dataclass(frozen=True)
class Footer:
    """The metadata of a file.

    :param num_rows: rows in the file
    """

    num_rows: int
    _schema: Schema = field(repr=False, compare=False)
    _metadata: bytes = field(repr=False)
    _schema_end: int = field(repr=False)
    _row_groups: int = field(repr=False)

    @property
    def schema(self) -> tuple[SchemaElement, ...]:
        """The schema's elements, depth-first, the root first."""
        return self._schema.elements

    def leaf(self, path: tuple[str, ...]) -> SchemaElement | None:
        """Return the leaf column at a path below the root, or None where there is none.

        :param path: names as the file has them, the groups that lists and maps put between included
        """
        found = self._schema.leaves.get(path)
        return None if found is None else found[1]

    def chunks(self, path: tuple[str, ...]) -> tuple[ColumnChunk, ...]:
        """Return what is said of a leaf column, by row group, in their order.

        :raises KeyError: if there is no such leaf column
        :raises FooterError: if the row groups are damaged
        :raises EncryptedFooterError: if what the file says of this column is encrypted
        """
        ordinal, element = self._schema.leaves[path]
        chunks = []
        for positions in self._chunk_positions:
            if ordinal >= len(positions):
                raise FooterError("its footer is damaged: a row group lacks a column of the schema")
            try:
                chunks.append(_read_chunk(Cursor(self._metadata, positions[ordinal]), path, element))
            except (ThriftError, ValueError) as error:
                raise FooterError(f"its footer is damaged: {error}") from error
        return tuple(chunks)

    @cached_property
    def _chunk_positions(self) -> list[list[int]]:
        """Where each column of each row group begins."""
        cursor = Cursor(self._metadata, self._row_groups)
        try:
            return [_column_positions(cursor) for _ in range(cursor.list_of(WireType.STRUCT))]
        except ThriftError as error:
            raise FooterError(f"its footer is damaged: {error}") from error


def footer_size(tail: bytes) -> int:
    """Return how many bytes at the end of the file its metadata takes, with length and magic.

    It is what the file says: compare it with the file's size before reading that much.

    :param tail: the last bytes of the file, 8 at least
    :raises EncryptedFooterError: if the footer is encrypted
    :raises FooterError: if this is the end of no Parquet file
    """
    if len(tail) < TRAILER_SIZE:
        raise FooterError(f"it is no Parquet file: {len(tail)} bytes are too few for one")
    magic = tail[-4:]
    if magic == ENCRYPTED_MAGIC:
        raise EncryptedFooterError("its footer is encrypted")
    if magic != MAGIC:
        raise FooterError(f"it is no Parquet file, or is truncated: it ends with {magic!r}, not with {MAGIC!r}")
    return int.from_bytes(tail[-TRAILER_SIZE:-4], "little") + TRAILER_SIZE


def parse_footer(tail: bytes, like: Footer | None = None) -> Footer:
    """Read a file's metadata.

    :param tail: the last bytes of the file, :func:`footer_size` at least
    :param like: the footer of another file of the same table: where both have the same schema, byte for
        byte, it is neither read nor held a second time
    :raises EncryptedFooterError: if the footer is encrypted
    :raises FooterError: if this is the end of no Parquet file, or the footer is damaged or not all there
    """
    size = footer_size(tail)
    if size > len(tail):
        raise FooterError(f"its footer has {size} bytes, of which only {len(tail)} are there")
    metadata = tail[len(tail) - size : len(tail) - TRAILER_SIZE]
    try:
        return _read_metadata(metadata, like)
    except (ThriftError, ValueError) as error:
        raise FooterError(f"its footer is damaged: {error}") from error


_VERSION, _SCHEMA, _NUM_ROWS, _ROW_GROUPS = 1, 2, 3, 4


def _read_metadata(metadata: bytes, like: Footer | None) -> Footer:
    """Read the struct FileMetaData as far as to where its row groups begin."""
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
            # A schema behind other fields than the version is not found again by its bytes.
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
    return Footer(num_rows, schema, metadata, schema_end, row_groups)


_COLUMNS = 1
_META_DATA = key(3, WireType.STRUCT)
_CRYPTO_METADATA = key(8, WireType.STRUCT)
_PATH_IN_SCHEMA = key(3, WireType.LIST)
_NUM_VALUES = key(5, WireType.I64)
_STATISTICS = key(12, WireType.STRUCT)
_MAX, _MIN = key(1, WireType.BINARY), key(2, WireType.BINARY)
_NULL_COUNT = key(3, WireType.I64)
_MAX_VALUE, _MIN_VALUE = key(5, WireType.BINARY), key(6, WireType.BINARY)

_INT_SIZES = {PhysicalType.INT32: 4, PhysicalType.INT64: 8}


def _column_positions(cursor: Cursor) -> list[int]:
    """Go behind a RowGroup and return where each of its ColumnChunks begins."""
    positions: list[int] = []
    field_id = 0
    while True:
        field_id, wire_type = cursor.field(field_id)
        if not wire_type:
            return positions
        if field_id == _COLUMNS and wire_type == WireType.LIST:
            for _ in range(cursor.list_of(WireType.STRUCT)):
                positions.append(cursor.position)
                cursor.skip(WireType.STRUCT)
        else:
            cursor.skip(wire_type)


def _read_chunk(cursor: Cursor, path: tuple[str, ...], element: SchemaElement) -> ColumnChunk:
    data = cursor.data
    chunk = cursor.struct()
    if _META_DATA not in chunk:
        if _CRYPTO_METADATA in chunk:
            raise EncryptedFooterError(f"what its footer says of column {'.'.join(path)} is encrypted")
        raise ValueError(f"it says nothing of column {'.'.join(path)} in a row group")
    metadata = Cursor(data, chunk[_META_DATA]).struct()
    if _NUM_VALUES not in metadata or _PATH_IN_SCHEMA not in metadata:
        raise ValueError("a column of a row group lacks its path or its number of values")
    names = Cursor(data, metadata[_PATH_IN_SCHEMA])
    found = tuple([names.binary().decode() for _ in range(names.list_of(WireType.BINARY))])
    if found != path:
        raise ValueError(f"a row group has column {'.'.join(found)} where {'.'.join(path)} belongs")
    statistics = Cursor(data, metadata[_STATISTICS]).struct() if _STATISTICS in metadata else {}
    num_values, null_count = metadata[_NUM_VALUES], statistics.get(_NULL_COUNT)
    if num_values < 0 or (null_count is not None and not 0 <= null_count <= num_values):
        raise ValueError(f"column {'.'.join(path)} has {num_values} values and {null_count} nulls in a row group")
    return ColumnChunk(num_values, null_count, *_bounds(statistics, element))


def _bounds(statistics: dict[int, Any], element: SchemaElement) -> tuple[int | None, int | None]:
    """Return minimum and maximum; the deprecated ones compare as signed, which is wrong for unsigned."""
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
