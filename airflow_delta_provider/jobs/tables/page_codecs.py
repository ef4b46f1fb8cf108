"""Decompression of Parquet pages by installed Python packages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from airflow_delta_provider.domain.errors import shortage
from airflow_delta_provider.domain.formats.parquet.pages import STANDARD_CODECS, Codec
from airflow_delta_provider.domain.formats.parquet.thrift import ParquetError
from airflow_delta_provider.domain.formats.snappy import SnappyError, decompressed_size
from airflow_delta_provider.jobs.process import have

#: The package for a codec, by the codec's name in ``parquet.thrift``.
PACKAGES: Mapping[str, str] = {"ZSTD": "zstandard", "BROTLI": "brotli", "LZ4": "lz4", "LZ4_RAW": "lz4"}
#: Bytes per call for older releases of brotli, which cannot limit their output.
_FEW = 64


@cache
def codecs_of_packages() -> Mapping[str, Codec]:
    """Return the codecs of installed packages by codec name. A codec's own package comes before PyArrow."""
    found: dict[str, Codec] = {}
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


def _snappy_by_pyarrow() -> Codec:
    """Return PyArrow's Snappy codec, a hundred times as fast as Python alone. If PyArrow fails, Python decides."""
    import pyarrow as pa

    in_python = STANDARD_CODECS["SNAPPY"]

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


def _by_pyarrow(codec: str) -> Codec:
    import pyarrow as pa

    def decompress(page: bytes, size: int) -> bytes:
        try:
            with pa.CompressedInputStream(pa.BufferReader(page), codec.lower()) as stream:
                content: bytes = stream.read(size + 1)
        except (pa.ArrowException, OSError) as error:
            if shortage(error):
                raise
            raise ParquetError(f"a page cannot be decompressed: {error}") from None
        return content

    return decompress


def _zstandard() -> Codec:
    import zstandard

    def decompress(page: bytes, size: int) -> bytes:
        try:
            with zstandard.ZstdDecompressor().stream_reader(page) as stream:
                content: bytes = stream.read(size + 1)
        except zstandard.ZstdError as error:
            if shortage(error):
                raise
            raise ParquetError(f"a page cannot be decompressed: {error}") from None
        return content

    return decompress


def _brotli() -> Codec:
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


def _lz4_by_pyarrow() -> Codec:
    """Return PyArrow's codec for plain blocks. It needs their exact size, which Hadoop's form does not tell."""
    import pyarrow as pa

    def decompress(block: bytes, size: int) -> bytes:
        try:
            content: bytes = pa.decompress(block, size, codec="lz4_raw", asbytes=True)
        except (pa.ArrowException, OSError) as error:
            if shortage(error):
                raise
            raise ParquetError(f"a page cannot be decompressed: {error}") from None
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
