"""Decompression of Avro blocks by installed Python packages.

Python itself has all codecs of Avro except Snappy, which this package reads slowly, and Zstandard.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence

from airflow_delta_provider.domain.errors import shortage
from airflow_delta_provider.domain.formats import snappy
from airflow_delta_provider.domain.formats.avro.file import MOST_BYTES, STANDARD_CODECS, Codec, one_by_one
from airflow_delta_provider.domain.formats.avro.primitives import AvroError, LargeAvroError
from airflow_delta_provider.domain.formats.budget import Budget
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
        try:
            for piece in decompressor.read_to_iter(block):
                pieces.append(piece)
                size += len(piece)
                if size > MOST_BYTES:
                    raise LargeAvroError(TOO_LONG)
        except zstandard.ZstdError as error:
            if shortage(error):
                raise
            raise AvroError(f"a block cannot be decompressed: {error}") from None
        return b"".join(pieces)

    return one_by_one(decompress)


def zstandard_by_pyarrow() -> Codec | None:
    """Return the Zstandard codec of PyArrow; None if it is not installed."""
    if not have("pyarrow"):
        return None
    import pyarrow as pa

    def decompress(block: bytes) -> bytes:
        try:
            with pa.CompressedInputStream(pa.BufferReader(block), "zstd") as stream:
                content: bytes = stream.read(MOST_BYTES + 1)
        except (pa.ArrowException, OSError) as error:
            if shortage(error):
                raise
            raise AvroError(f"a block cannot be decompressed: {error}") from None
        if len(content) > MOST_BYTES:
            raise LargeAvroError(TOO_LONG)
        return content

    return one_by_one(decompress)


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
