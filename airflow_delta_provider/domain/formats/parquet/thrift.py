"""The Thrift compact protocol, as far as a Parquet footer needs it.

Thrift, ``doc/specs/thrift-compact-protocol.md``. This module knows nothing about Parquet. For any bytes, reading ends
within them: a length is checked against the remaining bytes before it is used, nesting has a limit, and values that are
not requested are skipped without creating objects.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class ParquetError(ValueError):
    """Rows that cannot be read; the message gives the reason."""


class MissingCodecError(ParquetError):
    """Pages compressed with a codec that was not passed in. The file may be undamaged.

    :param codec: name of the codec in ``parquet.thrift``
    """

    def __init__(self, codec: str) -> None:
        super().__init__(f"it is compressed with {codec}, which cannot be decompressed here")
        self.codec = codec


class UnsupportedError(ParquetError):
    """A file that uses features that this code does not support. The file may be undamaged."""


class BrokenValueError(ParquetError):
    """A value that is invalid for its type, such as a string that is not UTF-8.

    Other columns can be read.
    """


#: Maximum nesting depth of structs and lists; a Parquet footer needs about eight levels.
MAX_DEPTH = 64
#: Maximum bytes of an i64 as a varint.
_MAX_VARINT = 10


class ThriftError(Exception):
    """Bytes that are not valid Thrift; the message names the position."""


class WireType(IntEnum):
    """The type of a field or of a list's elements, by its number in the encoding."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    MAP = 11
    STRUCT = 12
    UUID = 13


# Plain ints, because an enum member costs a lookup in the loops below.
_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY = 1, 2, 3, 4, 6, 7, 8
_LIST, _SET, _MAP, _STRUCT, _UUID = 9, 10, 11, 12, 13


def key(field_id: int, wire_type: WireType) -> int:
    """Return the key of a field in the result of :meth:`Cursor.struct`.

    It includes the type: a field of another type than the reader expects is another field.
    """
    return field_id << 4 | int(wire_type)


class Cursor:
    """Reads values one after another.

    Every method raises :class:`ThriftError` if the bytes are not Thrift or end too early, and moves the cursor past the
    bytes that it read.

    :param data: bytes to read
    :param position: start position
    """

    __slots__ = ("data", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def varint(self) -> int:
        data, position = self.data, self.position
        value = shift = 0
        try:
            while True:
                byte = data[position]
                position += 1
                value |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
                if shift == 7 * _MAX_VARINT:
                    raise ThriftError(f"a number at byte {self.position} has no end")
        except IndexError:
            raise ThriftError("it ends within a number") from None
        self.position = position
        return value

    def integer(self) -> int:
        """Read a signed integer of 16, 32 or 64 bits."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def field(self, previous_id: int) -> tuple[int, int]:
        """Read the head of a struct's field.

        :param previous_id: id of the field before it in the struct, 0 for the first
        :returns: id and wire type; (0, 0) at the end of the struct
        """
        try:
            head = self.data[self.position]
        except IndexError:
            raise ThriftError("it ends within a struct") from None
        self.position += 1
        if not head:
            return 0, 0
        if not 0 < head & 0x0F <= _UUID:
            raise ThriftError(f"no field has type {head & 0x0F}, as at byte {self.position - 1}")
        return (previous_id + (head >> 4) if head >> 4 else self.integer()), head & 0x0F

    def list_of(self, wire_type: WireType) -> int:
        """Read the head of a list whose elements must have this type. Return their number."""
        at = self.position
        count, element = self._list_head()
        if count and element != wire_type:
            raise ThriftError(f"the list at byte {at} has elements of type {element}, not {int(wire_type)}")
        return count

    def binary(self) -> bytes:
        """Read bytes that follow their length."""
        length = self.varint()
        start = self.position
        end = start + length
        if end > len(self.data):
            raise ThriftError(f"{length} bytes are said to follow byte {start}, {len(self.data) - start} do")
        self.position = end
        return self.data[start:end]

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct's fields, by :func:`key`: numbers, bools and bytes by their value.

        A nested struct, list, set or map is skipped and represented by its position, so that another cursor can begin
        there. A double or a UUID is skipped completely.
        """
        fields: dict[int, Any] = {}
        data = self.data
        field_id = 0
        try:
            while True:
                head = data[self.position]
                self.position += 1
                if not head:
                    return fields
                wire_type = head & 0x0F
                if head >> 4:
                    field_id += head >> 4
                else:
                    field_id = self.integer()
                if _I16 <= wire_type <= _I64:
                    value = data[self.position]
                    if value < 0x80:
                        self.position += 1
                    else:
                        value = self.varint()
                    fields[field_id << 4 | wire_type] = (value >> 1) ^ -(value & 1)
                elif wire_type == _BINARY:
                    fields[field_id << 4 | _BINARY] = self.binary()
                elif 0 < wire_type <= _FALSE:
                    fields[field_id << 4 | _TRUE] = wire_type == _TRUE
                elif wire_type == _BYTE:
                    value = data[self.position]
                    fields[field_id << 4 | _BYTE] = value - 256 if value > 127 else value
                    self.position += 1
                else:
                    fields[field_id << 4 | wire_type] = self.position
                    self.skip(wire_type, depth + 1)
        except IndexError:
            raise ThriftError("it ends within a struct") from None

    def skip(self, wire_type: int, depth: int = 0) -> None:
        """Skip a value of a field of this type."""
        if depth > MAX_DEPTH:
            raise ThriftError(f"more than {MAX_DEPTH} levels are nested at byte {self.position}")
        if wire_type == _STRUCT:
            self._skip_struct(depth)
        elif wire_type in (_LIST, _SET):
            count, element = self._list_head()
            self._skip_elements(count, element, depth)
        elif wire_type == _MAP:
            self._skip_map(depth)
        elif wire_type not in (_TRUE, _FALSE):
            self._skip_scalar(wire_type)

    def _skip_struct(self, depth: int) -> None:
        """Skip a struct, without collecting fields as :meth:`struct` does.

        It is one loop, because this covers most of a footer.
        """
        data, position = self.data, self.position
        size = len(data)
        try:
            while True:
                head = data[position]
                position += 1
                if not head:
                    self.position = position
                    return
                if head < 0x10:
                    while data[position] > 0x7F:
                        position += 1
                    position += 1
                wire_type = head & 0x0F
                if _I16 <= wire_type <= _I64:
                    while data[position] > 0x7F:
                        position += 1
                    position += 1
                elif wire_type == _BINARY and data[position] < 0x80:
                    position += data[position] + 1
                    if position > size:
                        raise IndexError
                elif wire_type > _FALSE or not wire_type:
                    self.position = position
                    self.skip(wire_type, depth + 1)
                    position = self.position
        except IndexError:
            raise ThriftError("it ends within a struct") from None

    def _skip_map(self, depth: int) -> None:
        count = self.varint()
        if not count:
            return
        self._expect(count)
        try:
            kinds = self.data[self.position]
        except IndexError:
            raise ThriftError("it ends within a map") from None
        self.position += 1
        for _ in range(count):
            self._skip_elements(1, kinds >> 4, depth)
            self._skip_elements(1, kinds & 0x0F, depth)

    def _skip_elements(self, count: int, element: int, depth: int) -> None:
        if element in (_TRUE, _FALSE, _BYTE):
            self._advance(count)
        elif element in (_DOUBLE, _UUID):
            self._advance(count * (8 if element == _DOUBLE else 16))
        else:
            for _ in range(count):
                self.skip(element, depth + 1)

    def _skip_scalar(self, wire_type: int) -> None:
        if _I16 <= wire_type <= _I64:
            self.varint()
        elif wire_type == _BINARY:
            self._advance(self.varint())
        elif wire_type in (_BYTE, _DOUBLE, _UUID):
            self._advance({_BYTE: 1, _DOUBLE: 8, _UUID: 16}[wire_type])
        else:
            raise ThriftError(f"nothing has type {wire_type}, as before byte {self.position}")

    def _list_head(self) -> tuple[int, int]:
        try:
            head = self.data[self.position]
        except IndexError:
            raise ThriftError("it ends within a list") from None
        self.position += 1
        count = head >> 4
        if count == 0x0F:
            count = self.varint()
        self._expect(count)
        return count, head & 0x0F

    def _expect(self, count: int) -> None:
        """Check a number of elements.

        An element has at least one byte, so more elements than bytes are damage.
        """
        left = len(self.data) - self.position
        if count > left:
            raise ThriftError(f"{count} elements are said to follow byte {self.position}, and {left} bytes do")

    def _advance(self, count: int) -> None:
        self.position += count
        if self.position > len(self.data):
            raise ThriftError("it ends within a value")
