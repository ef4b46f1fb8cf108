"""Index manifests: the index files of a snapshot, deletion vectors included.

Apache Paimon, Specification, Manifest, and Table Index. An index manifest lists all index files of its snapshot, and no
deleted ones.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.formats.avro.file import Codec
from airflow_delta_provider.domain.formats.avro.schema import Column, Row
from airflow_delta_provider.domain.formats.roaring import BeyondLimitError, BrokenBitmapError, read_array, read_bitmap
from airflow_delta_provider.domain.paimon.manifest import FileKind, kind_of, read_entries
from airflow_delta_provider.domain.paimon.schema import LargeFileError, PaimonFormatError

#: Type of index files with deletion vectors.
DELETION_VECTORS = "DELETION_VECTORS"

#: Version of an entry; Paimon reads no other.
_ENTRY_VERSION = 1


@dataclass(frozen=True)
class VectorRange:
    """The location of a data file's deletion vector in an index file.

    :param data_file: name of the data file
    :param offset: first byte
    :param length: number of bytes, as counted by its format: see :mod:`deletion_vector`
    :param cardinality: number of rows that it deletes; None from older writers
    """

    data_file: str
    offset: int
    length: int
    cardinality: int | None


@dataclass(frozen=True)
class IndexFile:
    """An index file.

    :param kind: ADD in every index manifest that Paimon writes
    :param partition: values of the partition, for :func:`binary_row.read_partition`
    :param type: type of its content, such as :data:`DELETION_VECTORS`
    :param size: size in bytes
    :param row_count: number of its items; for deletion vectors, the number of vectors
    :param vectors: locations of the deletion vectors; empty for other types
    :param external_path: absolute path, if it is outside the table's directory
    """

    kind: FileKind
    partition: bytes
    bucket: int
    type: str
    name: str
    size: int
    row_count: int
    vectors: tuple[VectorRange, ...]
    external_path: str | None


_INDEX_FILE = (
    Column("_VERSION", "long"),
    Column("_KIND", "long"),
    Column("_PARTITION", "bytes"),
    Column("_BUCKET", "long"),
    Column("_INDEX_TYPE", "string"),
    Column("_FILE_NAME", "string"),
    Column("_FILE_SIZE", "long"),
    Column("_ROW_COUNT", "long"),
    Column("_DELETIONS_VECTORS_RANGES", "array", optional=True),
    Column("_EXTERNAL_PATH", "string", optional=True),
)


def read_index_manifests(
    files: Sequence[bytes], codecs: Mapping[str, Codec]
) -> list[tuple[IndexFile, ...] | PaimonFormatError]:
    """Read index manifests.

    :param files: contents of the files
    :param codecs: codecs by Avro's names
    :returns: index files of each manifest in order, or the error if it cannot be read
    """
    return read_entries(files, _INDEX_FILE, _ENTRY_VERSION, codecs, _index_file)


def _index_file(row: Row) -> IndexFile:
    _, kind, partition, bucket, index_type, name, size, row_count, ranges, external_path = row
    vectors = tuple(_vector_range(wire) for wire in ranges or ())
    return IndexFile(kind_of(kind), partition, bucket, index_type, name, size, row_count, vectors, external_path)


def _vector_range(wire: Any) -> VectorRange:
    try:
        found = VectorRange(wire["f0"], wire["f1"], wire["f2"], wire.get("_CARDINALITY"))
    except (KeyError, TypeError, AttributeError):
        raise PaimonFormatError("a range of a deletion vector lacks fields") from None
    if not isinstance(found.data_file, str) or type(found.offset) is not int or type(found.length) is not int:
        raise PaimonFormatError("a range of a deletion vector has a field of a wrong type")
    if min(found.offset, found.length, found.cardinality or 0) < 0:
        raise PaimonFormatError(
            f"the deletion vector of {found.data_file} has a negative place, size or number of rows"
        )
    return found


_FILE_VERSION = 1
_MAGIC_32 = struct.pack(">I", 1581511376)
_MAGIC_64 = struct.pack("<I", 1681511377)
#: Bytes of the size before a bitmap, of the checksum after it, and of the magic at its start.
_SIZE_BYTES = _CHECKSUM_BYTES = _MAGIC_BYTES = 4
#: Maximum number of rows in a file whose deletion vectors are read: a set of them takes 128 MiB.
_MOST_ROWS = 1 << 30


def deleted_rows(content: bytes, vector: VectorRange, row_count: int) -> int:
    """Return the rows that a vector deletes, as a bit set.

    Bit ``p`` stands for the row at position ``p`` of the file.

    :param content: content of the whole index file
    :param row_count: number of rows in the data file
    :raises PaimonFormatError: if the file is not an index file, the vector is damaged, its number of rows differs from
        its range's, or it deletes a row that the data file does not have
    """
    if not content:
        raise PaimonFormatError("it is empty")
    if content[0] != _FILE_VERSION:
        raise PaimonFormatError(f"it does not begin with version {_FILE_VERSION} of an index file")
    bitmap = _bitmap(content, vector)
    try:
        rows = _rows(bitmap, min(row_count, _MOST_ROWS))
    except BrokenBitmapError as error:
        if isinstance(error, BeyondLimitError) and row_count > _MOST_ROWS:
            raise LargeFileError(
                f"the deletion vector of {vector.data_file} deletes a row beyond the limit of {_MOST_ROWS} rows"
            ) from error
        raise PaimonFormatError(f"the deletion vector of {vector.data_file} is damaged: {error}") from error
    if vector.cardinality is not None and rows.bit_count() != vector.cardinality:
        raise PaimonFormatError(
            f"the deletion vector of {vector.data_file} deletes {rows.bit_count()} rows, but its index manifest says "
            f"{vector.cardinality}"
        )
    return rows


def _bitmap(content: bytes, vector: VectorRange) -> bytes:
    """Return the bitmap with its magic."""
    start = vector.offset + _SIZE_BYTES
    size = int.from_bytes(content[vector.offset : start], "big")
    end = start + size
    if end + _CHECKSUM_BYTES > len(content):
        raise PaimonFormatError(f"it ends before the deletion vector of {vector.data_file} does")
    bitmap = content[start:end]
    extra = _SIZE_BYTES + _CHECKSUM_BYTES if bitmap.startswith(_MAGIC_64) else 0
    if size + extra != vector.length:
        raise PaimonFormatError(
            f"the deletion vector of {vector.data_file} has another size than the {vector.length} bytes that its index "
            "manifest says"
        )
    if zlib.crc32(bitmap) != int.from_bytes(content[end : end + _CHECKSUM_BYTES], "big"):
        raise PaimonFormatError(f"the deletion vector of {vector.data_file} does not have its checksum")
    return bitmap


def _rows(bitmap: bytes, limit: int) -> int:
    if bitmap.startswith(_MAGIC_64):
        return read_array(bitmap, limit)
    if not bitmap.startswith(_MAGIC_32):
        raise BrokenBitmapError("it does not begin as one of the known formats does")
    return read_bitmap(bitmap, _MAGIC_BYTES, limit).bits
