"""Avro's encoding of single values: functions that read or skip a value at a position in bytes.

Avro, Binary Encoding. A reader returns the value and the position after it. A skipper returns only the position and
creates no object. Data that ends too early raises IndexError, which callers turn into :class:`AvroError`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

Read = Callable[[bytes, int], tuple[Any, int]]
Skip = Callable[[bytes, int], int]

#: Maximum bytes of a 64-bit number.
_MOST_BYTES = 10
_FLOAT = struct.Struct("<f")
_DOUBLE = struct.Struct("<d")


class AvroError(Exception):
    """Bytes that cannot be read as an Avro file here; the message gives the reason."""


class LargeAvroError(AvroError):
    """Records that need more memory than allowed for a file of this size. The file may be undamaged."""


def read_long(data: bytes, position: int) -> tuple[int, int]:
    """Read an int or a long."""
    byte = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value = byte & 0x7F
    shift = 7
    for following in range(position + 1, position + _MOST_BYTES):
        byte = data[following]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return (value >> 1) ^ -(value & 1), following + 1
        shift += 7
    raise AvroError(f"the number at byte {position} has more than 64 bits")


def skip_long(data: bytes, position: int) -> int:
    """Skip an int or a long."""
    if data[position] < 0x80:
        return position + 1
    return read_long(data, position)[1]


def read_bytes(data: bytes, position: int) -> tuple[bytes, int]:
    start, end = _extent(data, position)
    return data[start:end], end


def skip_bytes(data: bytes, position: int) -> int:
    """Skip bytes or a string."""
    byte = data[position]
    end = position + 1 + (byte >> 1)
    if byte & 0x81 or end > len(data):
        return _extent(data, position)[1]
    return end


def read_text(data: bytes, position: int) -> tuple[str, int]:
    """Read a string."""
    start, end = _extent(data, position)
    try:
        return data[start:end].decode(), end
    except UnicodeDecodeError:
        raise AvroError(f"the text at byte {position} is not UTF-8") from None


def read_boolean(data: bytes, position: int) -> tuple[bool, int]:
    byte = data[position]
    if byte > 1:
        raise AvroError(f"the byte at {position} is not a boolean")
    return byte == 1, position + 1


def read_float(data: bytes, position: int) -> tuple[float, int]:
    return _FLOAT.unpack(data[position : skip_fixed(4)(data, position)])[0], position + 4


def read_double(data: bytes, position: int) -> tuple[float, int]:
    return _DOUBLE.unpack(data[position : skip_fixed(8)(data, position)])[0], position + 8


def read_null(data: bytes, position: int) -> tuple[None, int]:  # noqa: ARG001 - as every type
    """Read a null, which has no bytes."""
    return None, position


def skip_null(data: bytes, position: int) -> int:  # noqa: ARG001 - as every type
    return position


def read_fixed(size: int) -> Read:
    """Create a reader of ``size`` bytes."""
    skip = skip_fixed(size)

    def read(data: bytes, position: int) -> tuple[bytes, int]:
        end = skip(data, position)
        return data[position:end], end

    return read


def skip_fixed(size: int) -> Skip:
    """Create a skipper of ``size`` bytes."""

    def skip(data: bytes, position: int) -> int:
        end = position + size
        if end > len(data):
            raise IndexError
        return end

    return skip


def _extent(data: bytes, position: int) -> tuple[int, int]:
    """Return start and end of bytes that follow their length."""
    byte = data[position]
    if byte < 0x80 and not byte & 1:
        start = position + 1
        end = start + (byte >> 1)
    else:
        length, start = read_long(data, position)
        if length < 0:
            raise AvroError(f"the length at byte {position} is {length}")
        end = start + length
    if end > len(data):
        raise IndexError
    return start, end
