"""Roaring bitmaps of 32-bit numbers, read from their portable form.

https://github.com/RoaringBitmap/RoaringFormatSpec. The numbers are split by their upper 16 bits, the key, into
containers. A container is a sorted array, a bitset or a list of runs of the lower 16 bits.
"""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import dataclass
from itertools import pairwise

_NO_RUNS_COOKIE = 12346
_RUNS_COOKIE = 12347
#: With run containers and fewer containers than this, their offsets are not written.
_NO_OFFSET_THRESHOLD = 4
#: Range of numbers in a container, and the bytes of a bitset for them.
_SPAN = 1 << 16
_BITSET_SIZE = _SPAN // 8
#: A container with more numbers is a bitset, unless it is a list of runs.
_MAX_ARRAY = 4096
#: From this number of values on, setting characters and converting them all at once is faster than setting bits.
_DENSE_ARRAY = 1800


class BrokenBitmapError(Exception):
    """Bytes that are not a Roaring bitmap; the message gives the reason."""


class BeyondLimitError(BrokenBitmapError):
    """A bitmap with a number that reaches the limit."""


@dataclass(frozen=True)
class Bitmap:
    """A set of 32-bit numbers.

    :param bits: the set: bit ``n`` is set if it contains ``n``
    :param end: end of the bitmap in the bytes
    """

    bits: int
    end: int


def read_bitmap(data: bytes, start: int, limit: int) -> Bitmap:
    """Read the bitmap that begins at ``start``.

    The result never has more than ``limit`` bits.

    :param limit: upper limit, exclusive, of the numbers in the set
    :raises BrokenBitmapError: if the bytes are not a bitmap, end too early, or a number reaches the limit
    """
    keys, cardinalities, runs, position = _read_header(data, start)
    if not keys:
        return Bitmap(0, position)
    if any(key >= following for key, following in pairwise(keys)):
        raise BrokenBitmapError("its containers are out of order")
    if keys[-1] * _SPAN >= limit:
        raise BeyondLimitError(f"it has a number of {keys[-1] * _SPAN} or more, but all must be below {limit}")
    bits = bytearray((keys[-1] + 1) * _BITSET_SIZE)
    for index, key in enumerate(keys):
        if runs >> index & 1:
            position = _set_runs(data, position, bits, key)
        elif cardinalities[index] <= _MAX_ARRAY:
            position = _set_array(data, position, bits, key, cardinalities[index])
        else:
            position = _set_bitset(data, position, bits, key)
    value = int.from_bytes(bits, "little")
    if value >> limit:
        raise BeyondLimitError(f"it has the number {value.bit_length() - 1}, but all must be below {limit}")
    return Bitmap(value, position)


def _read_header(data: bytes, start: int) -> tuple[list[int], list[int], int, int]:
    """Return keys, cardinalities, the run containers (as a bit set), and the containers' start."""
    cookie = _number(data, start, 4)
    runs = 0
    if cookie == _NO_RUNS_COOKIE:
        count = _number(data, start + 4, 4)
        position = start + 8
        with_offsets = True
    elif cookie & 0xFFFF == _RUNS_COOKIE:
        count = (cookie >> 16) + 1
        size = (count + 7) // 8
        runs = _number(data, start + 4, size)
        position = start + 4 + size
        with_offsets = count >= _NO_OFFSET_THRESHOLD
    else:
        raise BrokenBitmapError("it does not begin as a Roaring bitmap does")
    if count > _SPAN:
        raise BrokenBitmapError(f"it is said to have {count} containers")
    descriptions = _halves(data, position, 2 * count)
    position += 4 * count
    if with_offsets:  # not needed: the containers are contiguous
        position += 4 * count
    return list(descriptions[::2]), [cardinality + 1 for cardinality in descriptions[1::2]], runs, position


def _set_array(data: bytes, position: int, bits: bytearray, key: int, cardinality: int) -> int:
    numbers = _halves(data, position, cardinality)
    base = key * _BITSET_SIZE
    if cardinality < _DENSE_ARRAY:
        for number in numbers:
            bits[base + (number >> 3)] |= 1 << (number & 7)
    else:
        characters = bytearray(b"0") * _SPAN
        for number in numbers:
            characters[~number] = 49  # "1"; the last character is bit 0
        bits[base : base + _BITSET_SIZE] = int(characters, 2).to_bytes(_BITSET_SIZE, "little")
    return position + 2 * cardinality


def _set_bitset(data: bytes, position: int, bits: bytearray, key: int) -> int:
    end = position + _BITSET_SIZE
    if end > len(data):
        raise BrokenBitmapError("it ends within a container")
    bits[key * _BITSET_SIZE : (key + 1) * _BITSET_SIZE] = data[position:end]
    return end


def _set_runs(data: bytes, position: int, bits: bytearray, key: int) -> int:
    count = _number(data, position, 2)
    position += 2
    pairs = _halves(data, position, 2 * count)
    container = bytearray(b"0") * _SPAN
    following = 0
    for first, more in zip(pairs[::2], pairs[1::2]):
        end = first + more + 1
        if first < following or end > _SPAN:
            raise BrokenBitmapError("its runs overlap, or leave their container")
        container[first:end] = b"1" * (more + 1)
        following = end
    container.reverse()
    bits[key * _BITSET_SIZE : (key + 1) * _BITSET_SIZE] = int(container, 2).to_bytes(_BITSET_SIZE, "little")
    return position + 4 * count


def _number(data: bytes, position: int, size: int) -> int:
    if position + size > len(data):
        raise BrokenBitmapError(f"it ends at byte {len(data)}, before a number at byte {position}")
    return int.from_bytes(data[position : position + size], "little")


def _halves(data: bytes, position: int, count: int) -> array[int]:
    """Return numbers of 16 bits."""
    end = position + 2 * count
    if end > len(data):
        raise BrokenBitmapError(f"it ends at byte {len(data)}, before {count} numbers at byte {position}")
    numbers = array("H", data[position:end])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


#: The format of PROTOCOL.md.
_PORTABLE_MAGIC = struct.pack("<I", 1681511377)
#: Layouts of the number of buckets and of the value before each bucket, by the bytes of the magic. The first format is
#: the portable one; its value is the bucket's key. The others are RoaringBitmapArray's own, whose value is the bucket's
#: size. delta-io/delta reads that format little-endian. The inline example in PROTOCOL.md is an older, big-endian one,
#: although the text there says otherwise.
_FORMATS = {
    _PORTABLE_MAGIC: ("<Q", "<I"),
    struct.pack("<I", 1681511376): ("<I", "<I"),
    struct.pack(">I", 1681511376): (">I", ">I"),
}
_BUCKET_BITS = 32


def read_array(data: bytes, limit: int) -> int:
    """Read a set in any of its formats.

    The result never has more than ``limit`` bits.

    :param limit: upper limit, exclusive, of the numbers in the set
    :raises BrokenBitmapError: if the bytes are not such a set, end too early, or a number reaches the limit
    """
    try:
        return _read(data, limit)
    except struct.error:
        raise BrokenBitmapError("it ends too early") from None


def _read(data: bytes, limit: int) -> int:
    magic = data[:4]
    if magic not in _FORMATS:
        raise BrokenBitmapError("it does not begin as one of the known formats does")
    count_layout, head_layout = _FORMATS[magic]
    portable = magic == _PORTABLE_MAGIC
    (count,) = struct.unpack_from(count_layout, data, 4)
    position = 4 + struct.calcsize(count_layout)
    rows = 0
    following = 0
    for index in range(count):  # each bucket has bytes, so a false count ends with them
        (head,) = struct.unpack_from(head_layout, data, position)
        position += 4
        bucket = head if portable else index
        if bucket < following:
            raise BrokenBitmapError("its buckets are out of order")
        base = bucket << _BUCKET_BITS
        bitmap = read_bitmap(data, position, min(max(limit - base, 0), 1 << _BUCKET_BITS))
        if not portable and bitmap.end != position + head:
            raise BrokenBitmapError("one of its bitmaps does not have the size that it is said to have")
        if bitmap.bits:
            rows = rows | bitmap.bits << base if base else bitmap.bits
        position = bitmap.end
        following = bucket + 1
    return rows
