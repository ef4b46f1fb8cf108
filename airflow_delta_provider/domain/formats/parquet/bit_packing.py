"""Integers of a few bits each, and the RLE/bit-packing hybrid of levels and dictionary indices.

parquet-format, ``Encodings.md``, RLE. Integers that fit into a byte are unpacked to bytes, which Python counts, filters
and joins faster than lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from struct import unpack

from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError

_MOST_WIDTH = 32
#: Widths with several integers per byte.
_TABLED = (1, 2, 4)
#: Widths that :mod:`struct` can unpack.
_WHOLE = {16: "H", 32: "I", 64: "Q"}


def varint(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned integer of at most 64 bits. Return it with the position after it.

    :raises ParquetError: if it does not end
    """
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise ParquetError("a page ends within a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ParquetError("a number in a page has no end")


def unpacked(packed: bytes, width: int) -> Sequence[int]:
    """Return the integers in whole groups of eight, least significant bit first.

    :param packed: packed groups; the number of bytes is a multiple of ``width``
    :param width: number of bits of an integer, from 1 to 64
    """
    if width in _TABLED:
        return b"".join(map(_table(width).__getitem__, packed))
    if width == 8:
        return packed
    if width in _WHOLE:
        return unpack(f"<{len(packed) * 8 // width}{_WHOLE[width]}", packed)
    mask = (1 << width) - 1
    second, third, fourth, fifth, sixth, seventh, eighth = range(width, 8 * width, width)
    found: list[int] = []
    for start in range(0, len(packed), width):
        group = int.from_bytes(packed[start : start + width], "little")
        found += (
            group & mask,
            group >> second & mask,
            group >> third & mask,
            group >> fourth & mask,
            group >> fifth & mask,
            group >> sixth & mask,
            group >> seventh & mask,
            group >> eighth,
        )
    return found


@cache
def _table(width: int) -> list[bytes]:
    mask = (1 << width) - 1
    return [bytes([byte >> shift & mask for shift in range(0, 8, width)]) for byte in range(256)]


def runs(data: bytes, position: int, width: int, count: int) -> Iterator[tuple[int, int | Sequence[int]]]:
    """Yield ``count`` integers in runs.

    Each run has its length, and either one repeated integer or all its integers.

    :param width: number of bits of an integer, at most 32
    :raises ParquetError: if the data ends too early
    """
    if width > _MOST_WIDTH:
        raise ParquetError(f"a page has integers of {width} bits, where {_MOST_WIDTH} are the most")
    value_size = (width + 7) // 8
    while count > 0:
        header, position = varint(data, position)
        if header & 1:
            groups = min(header >> 1, (count + 7) // 8)
            packed = data[position : position + groups * width]
            position += (header >> 1) * width
            if len(packed) * 8 < min(groups * 8, count) * width:
                raise ParquetError("a page ends within a run")
            length = min(groups * 8, count)
            packed = packed.ljust(groups * width, b"\x00")  # some writers leave out unneeded bytes
            yield length, unpacked(packed, width)[:length] if width else bytes(length)
        else:
            length = min(header >> 1, count)
            if position + value_size > len(data):
                raise ParquetError("a page ends within a run")
            value = int.from_bytes(data[position : position + value_size], "little")
            if value >> width:
                raise ParquetError(f"a page has the integer {value}, which takes more than {width} bits")
            position += value_size
            yield length, value
        count -= length


def levels(data: bytes, position: int, highest: int, count: int) -> bytes:
    """Return ``count`` levels between 0 and ``highest``, one per byte.

    :raises ParquetError: if they end too early, or one is higher
    """
    pieces = [
        bytes([run]) * length if isinstance(run, int) else bytes(run)
        for length, run in runs(data, position, highest.bit_length(), count)
    ]
    found = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    if found and max(found) > highest:
        raise ParquetError(f"a page has the level {max(found)}, where {highest} is the highest")
    return found
