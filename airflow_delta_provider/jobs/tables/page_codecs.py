"""Decompression of Parquet pages by installed Python packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from airflow_delta_provider.domain.errors import shortage
from airflow_delta_provider.domain.formats.parquet.pages import STANDARD_CODECS, Codec
from airflow_delta_provider.domain.formats.parquet.thrift import ParquetError
from airflow_delta_provider.domain.formats.snappy import SnappyError, decompressed_size
from airflow_delta_provider.jobs.process import have

#: The package for a codec, by the codec's name in ``parquet.thrift``.
PACKAGES: Mapping[str, str] = {"ZSTD": "zstandard", "BROTLI": "brotli"}
#: Bytes per call for older releases of brotli, which cannot limit their output.
_FEW = 64


@cache
def codecs_of_packages() -> Mapping[str, Codec]:
    """Return the codecs of installed packages by codec name. A codec's own package comes before PyArrow."""
    made: Mapping[str, Callable[[], Codec]] = {"ZSTD": _zstandard, "BROTLI": _brotli}
    found = {codec: made[codec]() for codec, package in PACKAGES.items() if have(package)}
    if have("pyarrow"):
        found = {"SNAPPY": _snappy_by_pyarrow(), **{codec: _by_pyarrow(codec) for codec in PACKAGES}, **found}
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
