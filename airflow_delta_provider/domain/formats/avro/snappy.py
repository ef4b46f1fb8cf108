"""Snappy, as Avro writes it: one raw stream, then the CRC-32 of what it stands for.

google/snappy, format_description.txt; Avro, Optional Codecs.
"""

from __future__ import annotations

import zlib

from airflow_delta_provider.domain.formats.avro.primitives import AvroError

_CHECKSUM_SIZE = 4
#: Lengths of literals from here on stand in bytes of their own.
_LONG_LITERAL = 60
#: By the lower two bits of a tag that is no literal: bytes that the distance takes behind the tag.
_DISTANCE_SIZES = {1: 1, 2: 2, 3: 4}


def decompress_snappy(block: bytes, limit: int) -> bytes:
    """Decompress a block.

    :param limit: bytes that it may come to
    :raises AvroError: if it is damaged, or comes to more
    """
    stream, checksum = block[:-_CHECKSUM_SIZE], block[-_CHECKSUM_SIZE:]
    try:
        data = _decompress(stream, limit)
    except IndexError:
        raise AvroError("a Snappy block ends too early") from None
    if zlib.crc32(data).to_bytes(_CHECKSUM_SIZE, "big") != checksum:
        raise AvroError("a Snappy block does not have the checksum that stands behind it")
    return data


def _decompress(stream: bytes, limit: int) -> bytes:
    size, position = _size(stream)
    if size > limit:
        raise AvroError(f"a Snappy block is said to come to {size} bytes, more than {limit}")
    data = bytearray()
    while position < len(stream):
        tag = stream[position]
        position += 1
        kind = tag & 3
        if not kind:
            length = (tag >> 2) + 1
            if length > _LONG_LITERAL:
                width = length - _LONG_LITERAL
                length = _number(stream, position, width) + 1
                position += width
            if position + length > len(stream):
                raise IndexError
            data += stream[position : position + length]
            position += length
        else:
            width = _DISTANCE_SIZES[kind]
            distance = _number(stream, position, width)
            position += width
            length = (tag >> 2) + 1
            if kind == 1:
                length = (tag >> 2 & 7) + 4
                distance |= (tag >> 5) << 8
            _copy(data, distance, length)
        if len(data) > size:
            break
    if len(data) != size:
        raise AvroError(f"a Snappy block comes to {len(data)} bytes or more, where {size} are said")
    return bytes(data)


def _copy(data: bytearray, distance: int, length: int) -> None:
    """Append what stands so far before the end; it may run into what it appends."""
    start = len(data) - distance
    if not distance or start < 0:
        raise AvroError(f"a Snappy block refers to {distance} bytes before, where it has {len(data)}")
    piece = data[start : start + length]
    data += (piece * (length // len(piece) + 1))[:length]


def _size(stream: bytes) -> tuple[int, int]:
    size = 0
    for position in range(5):
        byte = stream[position]
        size |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            return size, position + 1
    raise AvroError("a Snappy block has no size")


def _number(stream: bytes, position: int, width: int) -> int:
    if position + width > len(stream):
        raise IndexError
    return int.from_bytes(stream[position : position + width], "little")
