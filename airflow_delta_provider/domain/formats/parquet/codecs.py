"""Decompression of pages with the standard library. parquet-format, ``Compression.md``.

Python has no Zstandard before 3.14, no Brotli and no LZO: callers can pass a codec from an installed package.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

from airflow_delta_provider.domain.formats import lz4, snappy
from airflow_delta_provider.domain.formats.parquet.parquet_error import (
    MissingCodecError,
    ParquetError,
    UnsupportedError,
)

#: Function that decompresses a page, given its bytes and its decompressed size; raises ParquetError if it is broken.
Codec = Callable[[bytes, int], bytes]

#: Names in ``parquet.thrift``, by number.
_NAMES = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
#: Maximum number of members in the stream of one page; writers create one.
_MOST_MEMBERS = 64


def decompress(number: int, page: bytes, size: int, codecs: Mapping[str, Codec]) -> bytes:
    """Decompress a page.

    :param number: number of the codec
    :param size: decompressed size recorded in the file, in bytes
    :param codecs: codecs by their names in ``parquet.thrift``
    :raises MissingCodecError: if the codec is missing from ``codecs``
    :raises ParquetError: if the page is broken
    """
    if not 0 <= number < len(_NAMES):
        raise UnsupportedError(f"it is compressed with codec {number}, which is unknown")
    codec = codecs.get(_NAMES[number])
    if codec is None:
        raise MissingCodecError(_NAMES[number])
    content = codec(page, size) if size else b""  # for empty pages, some writers store no bytes
    if len(content) != size:
        raise ParquetError(f"a page comes to {len(content)} bytes, and its header says {size}")
    return content


def _stored(page: bytes, size: int) -> bytes:
    del size
    return page


def _snappy(page: bytes, size: int) -> bytes:
    try:
        if snappy.decompressed_size(page) != size:
            raise ParquetError("a page's size differs from its header")
        return snappy.decompress(page)
    except snappy.SnappyError as error:
        raise ParquetError(f"a page cannot be decompressed: {error}") from None


def _gzip(page: bytes, size: int) -> bytes:
    content = b""
    try:
        for _ in range(_MOST_MEMBERS):
            decompressor = zlib.decompressobj(_GZIP_OR_ZLIB)
            content += decompressor.decompress(page, size - len(content) + 1)
            page = decompressor.unused_data
            if len(content) >= size or not page:
                break
    except zlib.error as error:
        raise ParquetError(f"a page cannot be decompressed: {error}") from None
    return content


def _lz4_raw(page: bytes, size: int) -> bytes:
    try:
        return lz4.decompress(page, size)
    except lz4.Lz4Error as error:
        raise ParquetError(f"a page cannot be decompressed: {error}") from None


def _lz4(page: bytes, size: int) -> bytes:
    """Decompress the codec LZ4.

    Try Hadoop's form first, as in parquet-java, then a plain block, as in old parquet-cpp.
    """
    try:
        content = lz4.decompress_hadoop(page, size)
    except lz4.Lz4Error:
        content = b""
    return content if len(content) == size else _lz4_raw(page, size)


#: Codecs that need only Python.
STANDARD_CODECS: Mapping[str, Codec] = {
    "UNCOMPRESSED": _stored,
    "SNAPPY": _snappy,
    "GZIP": _gzip,
    "LZ4": _lz4,
    "LZ4_RAW": _lz4_raw,
}
