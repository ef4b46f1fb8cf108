"""Decompression of blocks with the standard library.

Avro, Required Codecs and Optional Codecs. Python has no Snappy, and no Zstandard before 3.14: callers pass codecs for
these.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from airflow_delta_provider.domain.formats.avro.primitives import AvroError, LargeAvroError
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.machine_errors import shortage


class Codec(Protocol):
    """A function that decompresses many blocks."""

    def __call__(self, blocks: Sequence[bytes], budget: Budget | None = None, /) -> Sequence[bytes | AvroError]:
        """Return the decompressed bytes of each block, or its error.

        :param budget: memory limit for all of them together; None for no limit
        :raises TooLargeError: if they exceed the budget
        """


#: Maximum bytes of a decompressed block. Writers begin a new block at 64 KB.
MOST_BYTES = 1 << 24


class _Decompressor(Protocol):
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...


def one_by_one(decompress: Callable[[bytes], bytes]) -> Codec:
    """Create a codec from a function that decompresses a single block.

    :param decompress: function that raises :class:`AvroError` if the block is broken
    """

    def decompress_all(blocks: Sequence[bytes], budget: Budget | None = None, /) -> list[bytes | AvroError]:
        found: list[bytes | AvroError] = []
        for block in blocks:
            try:
                data = decompress(block)
            except AvroError as error:
                found.append(error)
                continue
            if budget is not None:
                budget.take(len(data))
            found.append(data)
        return found

    return decompress_all


def _streamed(open_decompressor: Callable[[], _Decompressor]) -> Codec:
    def decompress(block: bytes) -> bytes:
        decompressor = open_decompressor()
        try:
            data = decompressor.decompress(block, MOST_BYTES)
        except (zlib.error, lzma.LZMAError, OSError, ValueError) as error:
            if shortage(error):
                raise
            raise AvroError(f"a block cannot be decompressed: {error}") from None
        if len(data) >= MOST_BYTES and not decompressor.eof:
            raise LargeAvroError(f"a block comes to more than {MOST_BYTES} bytes")
        if not decompressor.eof:
            raise AvroError("a block ends too early")
        return data

    return one_by_one(decompress)


def _stored(blocks: Sequence[bytes], budget: Budget | None = None, /) -> Sequence[bytes]:
    del budget  # already in memory
    return blocks


#: Codecs that need only Python, by Avro's names.
STANDARD_CODECS: Mapping[str, Codec] = {
    "null": _stored,
    "deflate": _streamed(lambda: zlib.decompressobj(-zlib.MAX_WBITS)),
    "bzip2": _streamed(bz2.BZ2Decompressor),
    "xz": _streamed(lzma.LZMADecompressor),
}
