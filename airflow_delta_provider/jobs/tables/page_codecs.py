"""Decompressing pages of Parquet files by Python packages, where they are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from airflow_delta_provider.domain.formats.parquet.codecs import Codec
from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError
from airflow_delta_provider.jobs.process.optional_packages import have

#: The package for a codec, by its name in ``parquet.thrift``.
PACKAGES: Mapping[str, str] = {"ZSTD": "zstandard", "BROTLI": "brotli"}
#: Bytes that older releases of brotli, which cannot be told when to stop, are given at once.
_FEW = 64


@cache
def codecs_of_packages() -> Mapping[str, Codec]:
    """Return what installed packages decompress, by the names of codecs."""
    made: Mapping[str, Callable[[], Codec]] = {"ZSTD": _zstandard, "BROTLI": _brotli}
    return {codec: made[codec]() for codec, package in PACKAGES.items() if have(package)}


def _zstandard() -> Codec:
    import zstandard

    def decompress(page: bytes, size: int) -> bytes:
        try:
            with zstandard.ZstdDecompressor().stream_reader(page) as stream:
                content: bytes = stream.read(size + 1)
        except zstandard.ZstdError as error:
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
