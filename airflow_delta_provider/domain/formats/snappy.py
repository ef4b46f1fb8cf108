"""Decompression of Snappy, which Python lacks.

google/snappy, ``format_description.txt``: the raw format, unframed.
"""

from __future__ import annotations

#: Maximum ratio of decompressed to compressed size: a copy has at least two bytes and yields at most 64.
_MOST_GROWTH = 32
_MOST_PREAMBLE = 5


class SnappyError(ValueError):
    """Bytes that are not a Snappy stream; the message gives the reason."""


def decompressed_size(stream: bytes) -> int:
    """Return the decompressed size that a stream declares, in bytes.

    :raises SnappyError: if it declares none, or an impossible one
    """
    return _preamble(stream)[0]


def decompress(stream: bytes) -> bytes:
    """Decompress a stream.

    :raises SnappyError: if it is damaged
    """
    size, position = _preamble(stream)
    try:
        content = _content(stream, position)
    except IndexError:
        raise SnappyError("a Snappy stream ends too early") from None
    if len(content) != size:
        raise SnappyError(f"a Snappy stream comes to {len(content)} bytes, not to the {size} that it says")
    return bytes(content)


def _preamble(stream: bytes) -> tuple[int, int]:
    """Return the size of the content, and the start of the elements."""
    size = 0
    for index, byte in enumerate(stream[:_MOST_PREAMBLE]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if size > _MOST_GROWTH * len(stream):
                raise SnappyError(f"a Snappy stream of {len(stream)} bytes says that it comes to {size}")
            return size, index + 1
    raise SnappyError("a Snappy stream does not say its size")


#: Length, and upper bits of a short copy's offset, by the tag of an element.
_LENGTHS = [(tag >> 2 & 7) + 4 if tag & 3 == 1 else (tag >> 2) + 1 for tag in range(256)]
_OFFSETS = [(tag & 0xE0) << 3 for tag in range(256)]
#: From this tag on, the length of a literal follows the tag, in one or more bytes.
_LONG_LITERAL = 60 << 2


def _content(stream: bytes, position: int) -> bytearray:
    """Decompress all elements in one loop. Calls per element would cost more than their work."""
    out = bytearray()
    lengths, offsets = _LENGTHS, _OFFSETS
    end = len(stream)
    while position < end:
        tag = stream[position]
        if tag & 2:
            if tag & 1:  # a copy with an offset of four bytes
                offset = int.from_bytes(stream[position + 1 : position + 5], "little")
                position += 5
            else:  # a copy with an offset of two bytes
                offset = stream[position + 1] | stream[position + 2] << 8
                position += 3
        elif tag & 1:  # a short copy from nearby
            offset = offsets[tag] | stream[position + 1]
            position += 2
        else:  # a literal: uncompressed bytes
            position += 1
            length = lengths[tag]
            if tag >= _LONG_LITERAL:
                extra = length - 60
                length = int.from_bytes(stream[position : position + extra], "little") + 1
                position += extra
            out += stream[position : position + length]
            position += length
            continue
        length = lengths[tag]
        start = len(out) - offset
        if start < 0 or not offset:
            raise SnappyError("a Snappy stream copies from where nothing is")
        if offset >= length:
            out += out[start : start + length]
        else:  # the copy overlaps its own output: a pattern is repeated
            out += (out[start:] * (length // offset + 1))[:length]
    if position > end:
        raise SnappyError("a Snappy stream ends too early")
    return out
