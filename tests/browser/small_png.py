"""Pictures of pages in a third of the bytes: a palette of the 256 most frequent colours. https://www.w3.org/TR/png/."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Colour types, with the bytes of a pixel.
_RGB, _PALETTE, _RGBA = 2, 3, 6
_BYTES = {_RGB: 3, _RGBA: 4}


def small_png(picture: bytes) -> bytes:
    """Return a picture as Chromium makes it, of 8 bits a channel, with a palette; it is not transparent."""
    chunks = list(_chunks(picture))
    [header] = [content for kind, content in chunks if kind == b"IHDR"]
    width, height, depth, color = struct.unpack(">IIBB", header[:10])
    assert depth == 8
    data = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
    size = _BYTES[color]
    rows = [[row[at : at + 3] for at in range(0, width * size, size)] for row in _unfiltered(data, width, height, size)]
    frequent = [pixel for pixel, _ in Counter(pixel for row in rows for pixel in row).most_common(256)]
    index = {pixel: number for number, pixel in enumerate(frequent)}
    for row in rows:
        for pixel in row:
            if pixel not in index:
                index[pixel] = min(range(len(frequent)), key=lambda at: _distance(frequent[at], pixel))
    lines = b"".join(b"\0" + bytes(index[pixel] for pixel in row) for row in rows)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _PALETTE, 0, 0, 0)),
        (b"PLTE", b"".join(frequent)),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(picture):
        [length] = struct.unpack(">I", picture[at : at + 4])
        yield picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        at += 12 + length


def _unfiltered(data: bytes, width: int, height: int, size: int) -> Iterator[bytes]:
    """Yield the rows, each without the filter that it was stored with."""
    stride, above = width * size, bytes(width * size)
    for number in range(height):
        begin = number * (stride + 1)
        kind, row = data[begin], bytearray(data[begin + 1 : begin + 1 + stride])
        for at in range(stride) if kind else ():
            left = row[at - size] if at >= size else 0
            corner = above[at - size] if at >= size else 0
            row[at] = (row[at] + _predicted(kind, left, above[at], corner)) & 255
        yield bytes(row)
        above = bytes(row)


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 4:
        guess = left + up - corner
        return min((left, up, corner), key=lambda value: abs(guess - value))
    return (0, left, up, (left + up) // 2)[kind]


def _distance(one: bytes, other: bytes) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other))
