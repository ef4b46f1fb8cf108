"""Pages by each codec: what PyArrow writes, what Hadoop's codecs and old writers wrote, and pages that are damaged."""

from __future__ import annotations

import random
from contextlib import suppress

import brotli
import lz4.block
import pyarrow as pa
import pytest

from airflow_delta_provider.domain.formats.parquet.pages import STANDARD_CODECS, decompress
from airflow_delta_provider.domain.formats.parquet.thrift import MissingCodecError, ParquetError
from airflow_delta_provider.jobs.tables import codecs
from airflow_delta_provider.jobs.tables.codecs import page_codecs_of_packages

CONTENT = random.Random(5).randbytes(2000) * 5 + b"a" * 300_000


def compressed(content: bytes) -> bytes:
    return bytes(lz4.block.compress(content, store_size=False))


def framed(*written: bytes, most: int = 1 << 18) -> bytes:
    """Return the stream of Hadoop's codec for contents that are each written at once, and cut into pieces."""
    stream = b""
    for content in written:
        stream += len(content).to_bytes(4, "big")
        for start in range(0, len(content), most):
            block = compressed(content[start : start + most])
            stream += len(block).to_bytes(4, "big") + block
    return stream


NAMES = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
PAGES = {
    "SNAPPY": [pa.compress(CONTENT, codec="snappy", asbytes=True)],
    "GZIP": [pa.compress(CONTENT, codec="gzip", asbytes=True)],
    "BROTLI": [pa.compress(CONTENT, codec="brotli", asbytes=True)],
    "LZ4": [framed(CONTENT), framed(CONTENT[:7], CONTENT[7:], most=9000), compressed(CONTENT)],
    "ZSTD": [pa.compress(CONTENT, codec="zstd", asbytes=True)],
    "LZ4_RAW": [compressed(CONTENT), lz4.block.compress(CONTENT, store_size=False, mode="high_compression")],
}
EACH = [(name, page) for name, pages in PAGES.items() for page in pages]
each_page = pytest.mark.parametrize(("name", "page"), EACH, ids=[f"{name} {len(page)}" for name, page in EACH])


def read(name: str, page: bytes, size: int = len(CONTENT)) -> bytes:
    return decompress(NAMES.index(name), bytes(page), size, {**STANDARD_CODECS, **page_codecs_of_packages()})


@each_page
def test_page_comes_back(name, page):
    assert read(name, page) == CONTENT


@each_page
@pytest.mark.parametrize("size", [1, len(CONTENT) - 1, len(CONTENT) + 1])
def test_page_that_comes_to_another_size_is_damage(name, page, size):
    with pytest.raises(ParquetError):
        read(name, page, size)


@each_page
def test_damaged_page_is_damage_or_other_bytes(name, page):
    chance = random.Random(name)
    for _ in range(300):
        damaged = bytearray(page)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        with suppress(ParquetError):
            assert len(read(name, damaged[: chance.randint(1, len(damaged))])) == len(CONTENT)


@pytest.mark.parametrize("name", ["ZSTD", "BROTLI"])
def test_few_bytes_that_stand_for_many_are_not_made(name):
    bomb = pa.compress(bytes(50_000_000), codec=name.lower(), asbytes=True)

    with pytest.raises(ParquetError, match="a page comes to"):
        read(name, bomb, 1000)


def test_pyarrow_reads_plain_blocks_of_lz4():
    codec = codecs._lz4_by_pyarrow()
    for page in PAGES["LZ4_RAW"]:
        assert codec(bytes(page), len(CONTENT)) == CONTENT
        with pytest.raises(ParquetError):
            codec(bytes(page)[:-7], len(CONTENT))


@pytest.mark.parametrize(
    "stream", [b"\x00", framed(b"abc")[:-1], framed(b"abc")[:6], b"\x00\x00\x00\x03" + b"\x00" * 4, framed(b"abcd")]
)
def test_stream_of_hadoop_that_is_cut_or_longer_is_damage(stream):
    with pytest.raises(ParquetError):
        read("LZ4", stream, 3)


def test_older_releases_of_brotli_do_as_well(monkeypatch):
    class Decompressor:
        """As before 1.2."""

        def __init__(self) -> None:
            self._own = brotli_decompressor()
            self.made = 0

        def process(self, page: bytes) -> bytes:
            return bytes(self._own.process(page))

    brotli_decompressor = brotli.Decompressor
    monkeypatch.setattr(brotli, "Decompressor", Decompressor)
    codec = codecs._brotli()
    (page,) = PAGES["BROTLI"]

    assert codec(page, len(CONTENT)) == CONTENT
    assert len(codec(page, 1000)) > 1000
    with pytest.raises(ParquetError, match="cannot be decompressed"):
        codec(b"no brotli at all", 1000)


def test_codec_that_nothing_here_has_is_named():
    with pytest.raises(MissingCodecError, match="LZO"):
        read("LZO", b"page")
