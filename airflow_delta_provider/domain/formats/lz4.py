"""Decompression of LZ4, which Python lacks.

lz4/lz4, ``lz4_Block_format.md``: blocks, without frames around them.
"""

from __future__ import annotations

#: Length in a token that is continued in the bytes after it, and the length of the shortest match.
_GOES_ON, _SHORTEST = 15, 4
_FULL = 255
_INT = 4


class Lz4Error(ValueError):
    """Bytes that are not valid LZ4; the message gives the reason."""


def decompress(block: bytes, size: int) -> bytes:
    """Decompress a block.

    :param size: maximum number of decompressed bytes
    :raises Lz4Error: if it is damaged, or has more bytes
    """
    try:
        return bytes(_content(block, size))
    except IndexError:
        raise Lz4Error("an LZ4 block ends too early") from None


def decompress_hadoop(stream: bytes, size: int) -> bytes:
    """Decompress a stream of Hadoop's codec: blocks, each after its size.

    Data written in one call is split into blocks. Its decompressed size comes first; then each block follows its own
    compressed size. Sizes have four bytes, big-endian.

    :param size: maximum number of decompressed bytes
    :raises Lz4Error: if it is damaged, or has more bytes
    """
    parts, position, whole = [], 0, 0
    while position < len(stream):
        until, position = _number(stream, position)
        until += whole
        if until > size:
            raise Lz4Error(f"an LZ4 stream says that it comes to {until} bytes or more, not to {size}")
        while whole < until:
            length, position = _number(stream, position)
            if not length or position + length > len(stream):
                raise Lz4Error("an LZ4 stream ends within a block")
            parts.append(decompress(stream[position : position + length], until - whole))
            position += length
            whole += len(parts[-1])
    return b"".join(parts)


def _number(stream: bytes, position: int) -> tuple[int, int]:
    end = position + _INT
    if end > len(stream):
        raise Lz4Error("an LZ4 stream ends within a size")
    return int.from_bytes(stream[position:end], "big"), end


def _content(block: bytes, size: int) -> bytearray:
    """Decompress all sequences in one loop. Calls per sequence would cost more than their work."""
    out = bytearray()
    position, end = 0, len(block)
    while True:
        token = block[position]
        position += 1
        length = token >> 4
        if length == _GOES_ON:
            while block[position] == _FULL:
                length += _FULL
                position += 1
            length += block[position]
            position += 1
        if length:
            out += block[position : position + length]
            position += length
        if position >= end:  # the last sequence has no match
            break
        offset = block[position] | block[position + 1] << 8
        position += 2
        length = token & _GOES_ON
        if length == _GOES_ON:
            while block[position] == _FULL:
                length += _FULL
                position += 1
            length += block[position]
            position += 1
        length += _SHORTEST
        start = len(out) - offset
        if start < 0 or not offset:
            raise Lz4Error("an LZ4 block copies from where nothing is")
        if length > size - len(out):
            raise Lz4Error(f"an LZ4 block comes to more than {size} bytes")
        if offset >= length:
            out += out[start : start + length]
        else:  # the copy overlaps its own output: a pattern is repeated
            out += (out[start:] * (length // offset + 1))[:length]
    if position > end or len(out) > size:
        raise Lz4Error(f"an LZ4 block ends too early, or comes to more than {size} bytes")
    return out
