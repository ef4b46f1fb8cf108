"""Decompression of Avro blocks on a cluster, whose Python may have only pyspark.

Python itself has all codecs of Avro except Snappy and Zstandard. The JVM decompresses these two with the libraries
that Spark ships; if the Python package zstandard is installed, it is used for Zstandard. A call to the JVM costs more
than decompressing a manifest's block, so one call handles many blocks. Measured on 2,000 blocks of manifests:
zstandard 0.01 s, the JVM 0.06 s; with one call per block, 6 s.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.formats.avro.file import MOST_BYTES, STANDARD_CODECS, Codec
from airflow_delta_provider.domain.formats.avro.primitives import AvroError
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.jobs.spark.hadoop_storage import JvmStreams
from airflow_delta_provider.jobs.tables.codecs import (
    CHECKSUM_SIZE,
    TOO_SHORT_OR_LONG,
    snappy_size,
    zstandard_by_package,
)

#: Maximum bytes that go to the JVM in one call: compressed, and decompressed.
_BATCH, _MOST_OF_BATCH = 1 << 22, 1 << 26
#: Bytes of the mark that is put after every Zstandard block to find its end again.
_MARK_SIZE = 16
#: The head of a Zstandard frame (RFC 8878) with one raw block that holds the mark.
_FRAME_HEAD = b"\x28\xb5\x2f\xfd" + bytes([0x20, _MARK_SIZE]) + (_MARK_SIZE << 3 | 1).to_bytes(3, "little")
#: Head of an org.xerial.snappy.SnappyInputStream: a magic number, its version, the oldest compatible version.
_SNAPPY_HEAD = b"\x82SNAPPY\0" + (1).to_bytes(4, "big") * 2


def codecs_of_jvm(spark: SparkSession) -> Mapping[str, Codec]:
    """Return all codecs of Avro. For Zstandard, the fastest available one is used."""
    return {
        **STANDARD_CODECS,
        "zstandard": zstandard_by_package() or zstandard_by_jvm(spark),
        "snappy": snappy_by_jvm(spark),
    }


def zstandard_by_jvm(spark: SparkSession) -> Codec:
    """Return the Zstandard codec of the library that Spark ships."""
    return _JvmCodec(spark, lambda jvm: jvm.com.github.luben.zstd.ZstdInputStream, _zstandard_frames)


def snappy_by_jvm(spark: SparkSession) -> Codec:
    """Return the Snappy codec of the library that Spark ships. Each block ends with the CRC-32 of its content."""
    return _JvmCodec(spark, lambda jvm: jvm.org.xerial.snappy.SnappyInputStream, _snappy_chunks)


#: Splits the content of joined blocks; raises :class:`AvroError` if it does not match them.
Split = Callable[[bytes], Sequence[bytes]]
#: Joins blocks to one stream for the JVM, and returns a function that splits its content.
Join = Callable[[Sequence[bytes]], tuple[bytes, Split]]


class _JvmCodec:
    """Decompresses blocks in the JVM, many in one call.

    :param find_stream: returns the JVM's class that decompresses a ``java.io.InputStream``; called when needed
    :param join: joins blocks to one stream
    """

    def __init__(self, spark: SparkSession, find_stream: Callable[[Any], Any], join: Join) -> None:
        self._spark = spark
        self._find_stream = find_stream
        self._join = join

    @cached_property
    def _stream(self) -> Any:
        return self._find_stream(self._spark._jvm)

    @cached_property
    def _streams(self) -> JvmStreams:
        return JvmStreams(self._spark)

    def __call__(self, blocks: Sequence[bytes], budget: Budget | None = None, /) -> list[bytes | AvroError]:
        found: list[bytes | AvroError] = []
        for batch in _batches(blocks):
            decompressed = self._decompress(batch)
            if budget is not None:
                budget.take(sum(len(data) for data in decompressed if isinstance(data, bytes)))
            found += decompressed
        return found

    def _decompress(self, blocks: Sequence[bytes]) -> Sequence[bytes | AvroError]:
        """Decompress the blocks of one call. If that fails, halve them until a broken block is isolated."""
        try:
            return self._decompress_whole(blocks)
        except AvroError as error:
            if len(blocks) == 1:
                return [error]
        half = len(blocks) // 2
        return [*self._decompress(blocks[:half]), *self._decompress(blocks[half:])]

    def _decompress_whole(self, blocks: Sequence[bytes]) -> Sequence[bytes]:
        content, split = self._join(blocks)
        try:
            with self._streams.giving(content) as given:
                return split(self._streams.read(self._stream(given), _MOST_OF_BATCH))
        except Py4JJavaError as error:
            raise AvroError(f"a block cannot be decompressed: {error.java_exception.getMessage()}") from None


def _zstandard_frames(blocks: Sequence[bytes]) -> tuple[bytes, Split]:
    """Join blocks, each followed by an unpredictable mark."""
    mark = secrets.token_bytes(_MARK_SIZE)
    end = _FRAME_HEAD + mark

    def split(data: bytes) -> Sequence[bytes]:
        *pieces, rest = data.split(mark)
        if rest or len(pieces) != len(blocks) or any(len(piece) > MOST_BYTES for piece in pieces):
            raise AvroError(TOO_SHORT_OR_LONG)
        return pieces

    return b"".join(piece for block in blocks for piece in (block, end)), split


def _snappy_chunks(blocks: Sequence[bytes]) -> tuple[bytes, Split]:
    """Join blocks in the format of Spark's own Snappy streams: each preceded by its length."""
    streams = [block[:-CHECKSUM_SIZE] for block in blocks]
    sizes = [snappy_size(stream) for stream in streams]

    def split(data: bytes) -> Sequence[bytes]:
        if len(data) != sum(sizes):
            raise AvroError(TOO_SHORT_OR_LONG)
        ends = list(accumulate(sizes))
        pieces = [data[end - size : end] for end, size in zip(ends, sizes)]
        for piece, block in zip(pieces, blocks):
            if zlib.crc32(piece).to_bytes(CHECKSUM_SIZE, "big") != block[-CHECKSUM_SIZE:]:
                raise AvroError("a Snappy block does not have the checksum that is stored with it")
        return pieces

    return _SNAPPY_HEAD + b"".join(len(s).to_bytes(4, "big") + s for s in streams), split


def _batches(blocks: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    start = size = 0
    for index, block in enumerate(blocks):
        if size + len(block) > _BATCH and index > start:
            yield blocks[start:index]
            start, size = index, 0
        size += len(block)
    if start < len(blocks):
        yield blocks[start:]
