"""Decompression of Avro blocks and Parquet pages by installed Python packages.

Python itself has all codecs of Avro except Snappy, which this package reads slowly, and Zstandard.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from airflow_delta_provider.domain.errors import shortage
from airflow_delta_provider.domain.formats import snappy
from airflow_delta_provider.domain.formats.avro.file import MOST_BYTES, STANDARD_CODECS, Codec, one_by_one
from airflow_delta_provider.domain.formats.avro.primitives import AvroError, LargeAvroError
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.formats.parquet import pages
from airflow_delta_provider.domain.formats.parquet.thrift import ParquetError
from airflow_delta_provider.domain.formats.snappy import SnappyError, decompressed_size
from airflow_delta_provider.jobs.process import MissingPackageError, have

#: Bytes of the checksum at the end of each Snappy block.
CHECKSUM_SIZE = 4
TOO_LONG = f"a block comes to more than {MOST_BYTES} bytes"
TOO_SHORT_OR_LONG = f"a block ends too early, or comes to more than {MOST_BYTES} bytes"


def codecs_of_packages() -> Mapping[str, Codec]:
    """Return all codecs of Avro. If a codec's package is missing, using the codec raises MissingPackageError."""
    return {
        **STANDARD_CODECS,
        "zstandard": zstandard_by_package() or zstandard_by_pyarrow() or _missing("Zstandard", "zstandard"),
        "snappy": snappy_by_pyarrow() or one_by_one(lambda block: _checked(block, _snappy_in_python)),
    }


def zstandard_by_package() -> Codec | None:
    """Return the Zstandard codec of the package zstandard; None if it is not installed."""
    try:
        import zstandard
    except ImportError:
        return None
    decompressor = zstandard.ZstdDecompressor()

    def decompress(block: bytes) -> bytes:
        pieces, size = [], 0
        with _damaged(AvroError, "a block", zstandard.ZstdError):
            for piece in decompressor.read_to_iter(block):
                pieces.append(piece)
                size += len(piece)
                if size > MOST_BYTES:
                    raise LargeAvroError(TOO_LONG)
        return b"".join(pieces)

    return one_by_one(decompress)


def zstandard_by_pyarrow() -> Codec | None:
    """Return the Zstandard codec of PyArrow; None if it is not installed."""
    if not have("pyarrow"):
        return None
    import pyarrow as pa

    def decompress(block: bytes) -> bytes:
        with _damaged(AvroError, "a block", pa.ArrowException, OSError):
            content = _begin_by_pyarrow(block, "zstd", MOST_BYTES)
        if len(content) > MOST_BYTES:
            raise LargeAvroError(TOO_LONG)
        return content

    return one_by_one(decompress)


def _begin_by_pyarrow(stream: bytes, codec: str, most: int) -> bytes:
    """Return the content of a stream, or its first ``most + 1`` bytes if there are more than ``most``."""
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(stream), codec) as opened:
        content: bytes = opened.read(most + 1)
    return content


@contextmanager
def _damaged(kind: type[Exception], what: str, *errors: Any) -> Iterator[None]:
    """Raise an exception of a kind in place of a package's errors, except if the machine ran out of something.

    :param what: the unit that is decompressed
    :param errors: classes of the package's exceptions
    """
    try:
        yield
    except errors as error:
        if shortage(error):
            raise
        raise kind(f"{what} cannot be decompressed: {error}") from None


def snappy_by_pyarrow() -> Codec | None:
    """Return the Snappy codec of PyArrow; None if it is not installed.

    Each block ends with the CRC-32 of its content.
    """
    if not have("pyarrow"):
        return None
    import pyarrow as pa

    def decompress(stream: bytes) -> bytes:
        size = snappy_size(stream)
        try:
            content: bytes = pa.decompress(stream, size, codec="snappy", asbytes=True)
        except (pa.ArrowException, OSError) as error:
            if shortage(error):
                raise
            return _snappy_in_python(stream)  # decides if it is damaged
        return content

    return one_by_one(lambda block: _checked(block, decompress))


def _snappy_in_python(stream: bytes) -> bytes:
    try:
        return snappy.decompress(stream)
    except snappy.SnappyError as error:
        raise AvroError(f"a block cannot be decompressed: {error}") from None


def _checked(block: bytes, decompress: Callable[[bytes], bytes]) -> bytes:
    """Decompress a Snappy block, and compare its content with the checksum behind it."""
    stream, checksum = block[:-CHECKSUM_SIZE], block[-CHECKSUM_SIZE:]
    content = decompress(stream)
    if zlib.crc32(content).to_bytes(CHECKSUM_SIZE, "big") != checksum:
        raise AvroError("a Snappy block does not have the checksum that is stored with it")
    return content


def snappy_size(stream: bytes) -> int:
    """Return the uncompressed size that a Snappy stream declares; google/snappy, format_description.txt."""
    size = 0
    for index, byte in enumerate(stream[:5]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if size > MOST_BYTES:
                break
            return size
    raise AvroError(TOO_SHORT_OR_LONG)


def _missing(name: str, package: str) -> Codec:
    def refuse(blocks: Sequence[bytes], budget: Budget | None = None, /) -> Sequence[bytes | AvroError]:
        del blocks, budget
        raise MissingPackageError(f"To decompress {name}", package)

    return refuse


#: The package for a codec, by the codec's name in ``parquet.thrift``.
PACKAGES: Mapping[str, str] = {"ZSTD": "zstandard", "BROTLI": "brotli", "LZ4": "lz4", "LZ4_RAW": "lz4"}
#: Bytes per call for older releases of brotli, which cannot limit their output.
_FEW = 64


@cache
def page_codecs_of_packages() -> Mapping[str, pages.Codec]:
    """Return the codecs of installed packages by codec name. A codec's own package comes before PyArrow."""
    found: dict[str, pages.Codec] = {}
    if have("pyarrow"):
        streams = {codec: _by_pyarrow(codec) for codec in ("ZSTD", "BROTLI")}
        found = {"SNAPPY": _snappy_by_pyarrow(), **streams, "LZ4_RAW": _lz4_by_pyarrow()}
    if have("zstandard"):
        found["ZSTD"] = _zstandard()
    if have("brotli"):
        found["BROTLI"] = _brotli()
    if have("lz4.block"):
        found |= {"LZ4": _lz4, "LZ4_RAW": _lz4_block}
    return found


def _snappy_by_pyarrow() -> pages.Codec:
    """Return PyArrow's Snappy codec, a hundred times as fast as Python alone. If PyArrow fails, Python decides."""
    import pyarrow as pa

    in_python = pages.STANDARD_CODECS["SNAPPY"]

    def decompress(page: bytes, size: int) -> bytes:
        try:
            if decompressed_size(page) == size:
                content: bytes = pa.decompress(page, size, codec="snappy", asbytes=True)
                return content
        except (pa.ArrowException, OSError, SnappyError) as error:
            if shortage(error):
                raise
        return in_python(page, size)

    return decompress


def _by_pyarrow(codec: str) -> pages.Codec:
    import pyarrow as pa

    def decompress(page: bytes, size: int) -> bytes:
        with _damaged(ParquetError, "a page", pa.ArrowException, OSError):
            return _begin_by_pyarrow(page, codec.lower(), size)

    return decompress


def _zstandard() -> pages.Codec:
    import zstandard

    def decompress(page: bytes, size: int) -> bytes:
        with _damaged(ParquetError, "a page", zstandard.ZstdError):
            with zstandard.ZstdDecompressor().stream_reader(page) as stream:
                content: bytes = stream.read(size + 1)
            return content

    return decompress


def _brotli() -> pages.Codec:
    import brotli

    limited = hasattr(brotli.Decompressor, "can_accept_more_data")  # since 1.2

    def decompress(page: bytes, size: int) -> bytes:
        decompressor, content = brotli.Decompressor(), b""
        try:
            if limited:
                content = decompressor.process(page, output_buffer_limit=size + 1)
            else:
                for start in range(0, len(page), _FEW):
                    content += decompressor.process(page[start : start + _FEW])
                    if len(content) > size:
                        break
        except brotli.error as error:
            raise ParquetError(f"a page cannot be decompressed: {error}") from None
        return content

    return decompress


def _lz4_by_pyarrow() -> pages.Codec:
    """Return PyArrow's codec for plain blocks. It needs their exact size, which Hadoop's form does not tell."""
    import pyarrow as pa

    def decompress(block: bytes, size: int) -> bytes:
        with _damaged(ParquetError, "a page", pa.ArrowException, OSError):
            content: bytes = pa.decompress(block, size, codec="lz4_raw", asbytes=True)
            return content

    return decompress


def _lz4_block(block: bytes, size: int) -> bytes:
    import lz4.block

    try:
        content: bytes = lz4.block.decompress(block, uncompressed_size=size)
    except lz4.block.LZ4BlockError as error:
        raise ParquetError(f"a page cannot be decompressed: {error}") from None
    return content


def _lz4(page: bytes, size: int) -> bytes:
    """Decompress Hadoop's form, as in parquet-java, or a plain block, as in old parquet-cpp."""
    try:
        content = _hadoop_blocks(page, size)
    except ParquetError:
        content = b""
    return content if len(content) == size else _lz4_block(page, size)


def _hadoop_blocks(stream: bytes, size: int) -> bytes:
    """Decompress a stream of Hadoop's codec: blocks, each after its size.

    Data written in one call is split into blocks. Its decompressed size comes first; then each block follows its own
    compressed size. Sizes have four bytes, big-endian.

    :param size: maximum number of decompressed bytes
    :raises ParquetError: if it is damaged, or has more bytes
    """
    parts, position, whole = [], 0, 0
    while position < len(stream):
        until = whole + int.from_bytes(stream[position : position + 4], "big")
        position += 4
        if until > size:
            raise ParquetError(f"a page comes to {until} bytes or more, not to {size}")
        while whole < until:
            length = int.from_bytes(stream[position : position + 4], "big")
            position += 4
            if not length or position + length > len(stream):
                raise ParquetError("a page ends within a block of LZ4")
            parts.append(_lz4_block(stream[position : position + length], until - whole))
            if not parts[-1]:
                raise ParquetError("a page has an empty block of LZ4")
            position += length
            whole += len(parts[-1])
    return b"".join(parts)
