"""Deletion vectors: the rows of a data file that the table has deleted.

Apache Paimon, Specification, Table Index, Deletion Vectors. An index file begins with a version byte. A vector consists
of the size of its bitmap (big-endian), the bitmap, which begins with a magic number, and the bitmap's CRC-32. The magic
distinguishes two kinds. For a Roaring bitmap of 32-bit numbers, the length in the range covers only the bitmap; for one
of 64-bit numbers, it covers everything. A set of rows is an int used as a bit set.
"""

from __future__ import annotations

import struct
import zlib

from airflow_delta_provider.domain.formats.roaring.bitmap import BeyondLimitError, BrokenBitmapError, read_bitmap
from airflow_delta_provider.domain.formats.roaring.bitmap_array import read_array
from airflow_delta_provider.domain.paimon.format_error import LargeFileError, PaimonFormatError
from airflow_delta_provider.domain.paimon.index_manifest import VectorRange

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
