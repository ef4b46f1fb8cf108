"""Encodings of differences: DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY.

parquet-format, ``Encodings.md``. The names refer to differences between values, not to Delta Lake.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.formats.parquet.bit_packing import unpacked, varint
from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError

_MOST_WIDTH = 64
#: Bytes that Python adds to the bytes of a value.
_OBJECT_SIZE = 40


def delta_binary_packed(data: bytes, position: int, count: int, bits: int) -> tuple[Sequence[int], int]:
    """Return ``count`` integers, and the position after them.

    :param bits: number of bits of an integer, 32 or 64; larger values wrap around
    :raises ParquetError: if they are damaged
    """
    block_size, position = varint(data, position)
    miniblocks, position = varint(data, position)
    total, position = varint(data, position)
    first, position = _zigzag(data, position)
    if total != count:
        raise ParquetError(f"a page has {total} integers where {count} belong")
    if not total:
        return (), position
    if not miniblocks or block_size % miniblocks or (block_size // miniblocks) % 8:
        raise ParquetError(f"a page has blocks of {block_size} integers in {miniblocks} parts")
    size = block_size // miniblocks
    if size == 0:
        raise ParquetError("a page has empty blocks of integers")
    deltas = [first]
    while (missing := total - len(deltas)) > 0:
        least, position = _zigzag(data, position)
        widths = data[position : position + miniblocks]
        position += miniblocks
        if len(widths) < miniblocks:
            raise ParquetError("a page ends within its integers")
        for width in widths:
            if missing <= 0:
                break
            end = position + size * width // 8
            # The last ones may be incomplete.
            if width > _MOST_WIDTH or end > len(data):
                raise ParquetError("a page ends within its integers")
            found = unpacked(data[position:end], width)[:missing] if width else bytes(min(size, missing))
            deltas += [least + delta for delta in found] if least else found
            position = end
            missing -= size
    return _wrapped(list(accumulate(deltas)), bits), position


def delta_length_byte_array(data: bytes, position: int, count: int) -> Sequence[bytes]:
    """Return ``count`` byte arrays: their lengths come first, then all their bytes.

    :raises ParquetError: if they are damaged
    """
    lengths, position = delta_binary_packed(data, position, count, 32)
    if lengths and min(lengths) < 0:
        raise ParquetError("a page has a value of negative length")
    ends = list(accumulate(lengths, initial=position))
    if ends[-1] > len(data):
        raise ParquetError("a page ends within a value")
    return [data[start:end] for start, end in pairwise(ends)]


def delta_byte_array(data: bytes, position: int, count: int, budget: Budget) -> Sequence[bytes]:
    """Return ``count`` byte arrays that each share a prefix with the one before.

    :raises ParquetError: if they are damaged
    :raises TooLargeError: if they exceed the budget
    """
    shared, position = delta_binary_packed(data, position, count, 32)
    suffixes = delta_length_byte_array(data, position, count)
    if shared and min(shared) < 0:
        raise ParquetError("a value has a negative prefix length")
    budget.take(sum(shared) + _OBJECT_SIZE * count)
    found: list[bytes] = []
    before = b""
    for length, suffix in zip(shared, suffixes):
        if length > len(before):
            raise ParquetError(f"a value has a prefix of {length} bytes, but the value before it has {len(before)}")
        before = before[:length] + suffix
        found.append(before)
    return found


def _zigzag(data: bytes, position: int) -> tuple[int, int]:
    value, position = varint(data, position)
    return (value >> 1) ^ -(value & 1), position


def _wrapped(values: list[int], bits: int) -> list[int]:
    half = 1 << bits - 1
    if -half <= min(values) and max(values) < half:
        return values
    return [(value + half) % (2 * half) - half for value in values]
