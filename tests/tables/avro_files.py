"""Avro files by fastavro, in every codec that Paimon can be told to write manifests with."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable
from typing import Any

import fastavro
import pyarrow

CODECS = ("null", "deflate", "bzip2", "xz", "zstandard", "snappy")


def avro_file(schema: Any, records: Iterable[Any], codec: str = "null") -> bytes:
    """Return a file of records.

    :param codec: one of :data:`CODECS`
    """
    if codec == "snappy":
        return _snappy(avro_file(schema, records))
    file = io.BytesIO()
    fastavro.writer(file, schema, records, codec)
    return file.getvalue()


def recompressed(content: bytes, codec: str) -> bytes:
    """Return the same file with another codec."""
    reader = fastavro.reader(io.BytesIO(content))
    return avro_file(reader.writer_schema, list(reader), codec)


def _snappy(content: bytes) -> bytes:
    """Compress the blocks of a file; fastavro has Snappy only with a further package."""
    blocks = list(fastavro.block_reader(io.BytesIO(content)))
    head_end = content.index(b"avro.codec")
    sync = content[-16:]
    header = content[:head_end] + content[head_end:].replace(b"\x08null", b"\x0csnappy", 1).split(sync)[0] + sync
    body = b""
    for block in blocks:
        data = getattr(block, "bytes_").getvalue()  # noqa: B009  # fastavro does not declare it
        packed = pyarrow.compress(data, codec="snappy", asbytes=True) + zlib.crc32(data).to_bytes(4, "big")
        body += _long(block.num_records) + _long(len(packed)) + packed + sync
    return header + body


def _long(value: int) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, "long", value)
    return file.getvalue()
