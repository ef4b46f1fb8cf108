"""The pages with a column's values in one row group.

parquet-format, ``README.md`` (Data Pages) and ``parquet.thrift``. Statements in a header are checked before they are
used.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from airflow_delta_provider.domain.formats import snappy
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.formats.parquet.encodings import (
    Encoding,
    decoded,
    levels,
    longest_byte_array,
    looked_up,
)
from airflow_delta_provider.domain.formats.parquet.footer import Content, StoredChunk
from airflow_delta_provider.domain.formats.parquet.schema import Leaf, PhysicalType
from airflow_delta_provider.domain.formats.parquet.thrift import (
    Cursor,
    MissingCodecError,
    ParquetError,
    ThriftError,
    UnsupportedError,
    WireType,
    key,
)

#: Function that decompresses a page, given its bytes and its decompressed size; raises ParquetError if it is broken.
Codec = Callable[[bytes, int], bytes]

#: Names in ``parquet.thrift``, by number.
_NAMES = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
#: Maximum number of members in the stream of one page; writers create one.
_MOST_MEMBERS = 64


def decompress(number: int, page: bytes, size: int, codecs: Mapping[str, Codec]) -> bytes:
    """Decompress a page.

    :param number: number of the codec
    :param size: decompressed size recorded in the file, in bytes
    :param codecs: codecs by their names in ``parquet.thrift``
    :raises MissingCodecError: if the codec is missing from ``codecs``
    :raises ParquetError: if the page is broken
    """
    if not 0 <= number < len(_NAMES):
        raise UnsupportedError(f"it is compressed with codec {number}, which is unknown")
    codec = codecs.get(_NAMES[number])
    if codec is None:
        raise MissingCodecError(_NAMES[number])
    content = codec(page, size) if size else b""  # for empty pages, some writers store no bytes
    if len(content) != size:
        raise ParquetError(f"a page comes to {len(content)} bytes, and its header says {size}")
    return content


def _stored(page: bytes, size: int) -> bytes:
    del size
    return page


def _snappy(page: bytes, size: int) -> bytes:
    try:
        if snappy.decompressed_size(page) != size:
            raise ParquetError("a page's size differs from its header")
        return snappy.decompress(page)
    except snappy.SnappyError as error:
        raise ParquetError(f"a page cannot be decompressed: {error}") from None


def _gzip(page: bytes, size: int) -> bytes:
    content = b""
    try:
        for _ in range(_MOST_MEMBERS):
            decompressor = zlib.decompressobj(_GZIP_OR_ZLIB)
            content += decompressor.decompress(page, size - len(content) + 1)
            page = decompressor.unused_data
            if len(content) >= size or not page:
                break
    except zlib.error as error:
        raise ParquetError(f"a page cannot be decompressed: {error}") from None
    return content


#: Codecs that need only Python.
STANDARD_CODECS: Mapping[str, Codec] = {
    "UNCOMPRESSED": _stored,
    "SNAPPY": _snappy,
    "GZIP": _gzip,
}


class Column(NamedTuple):
    """The stored entries of a column in one row group.

    :param definitions: definition level of each entry, in a byte
    :param repetitions: repetition level of each entry, in a byte; empty for a column in no list
    :param values: values of the entries with the highest definition level
    """

    definitions: bytes
    repetitions: bytes
    values: Sequence[Any]


def read_column(
    content: Content, chunk: StoredChunk, leaf: Leaf, codecs: Mapping[str, Codec], budget: Budget
) -> Column:
    """Read a column of one row group.

    :param content: the file
    :param codecs: codecs by their names in ``parquet.thrift``
    :raises MissingCodecError: if the codec of its pages is missing from ``codecs``
    :raises ParquetError: if it is damaged
    :raises TooLargeError: if it exceeds the budget
    """
    definitions, repetitions = [], []
    values: list[Any] = []
    dictionary: Sequence[Any] | None = None
    left = chunk.num_values
    pages = _pages(content, chunk, codecs, budget)
    while left > 0:
        page = next(pages, None)
        if page is None:
            raise ParquetError(f"column {leaf.element.name} has {left} values less than its footer says")
        if page.kind == _DICTIONARY_PAGE:
            if dictionary is not None or page.encoding not in (Encoding.PLAIN, Encoding.PLAIN_DICTIONARY):
                raise ParquetError("a column has two dictionaries, or one that is not in the encoding PLAIN")
            dictionary = decoded(Encoding.PLAIN, page.body(), 0, page.count, leaf.element, budget)
            continue
        left -= page.count
        if left < 0:
            raise ParquetError(f"column {leaf.element.name} has more values than its footer says")
        budget.take(2 * page.count)  # a level is a byte
        definition, repetition, data, position = page.levels(leaf)
        definitions.append(definition)
        repetitions.append(repetition)
        present = definition.count(leaf.definition)
        if present and page.encoding in (Encoding.PLAIN_DICTIONARY, Encoding.RLE_DICTIONARY):
            values += looked_up(data, position, present, dictionary, budget)
        elif present:
            values += decoded(page.encoding, data, position, present, leaf.element, budget)
    return Column(b"".join(definitions), b"".join(repetitions), values)


def charge_column(
    content: Content, chunk: StoredChunk, leaf: Leaf, codecs: Mapping[str, Codec], budget: Budget
) -> None:
    """Charge the budget for a column of one row group, mostly without decoding the column.

    :raises ParquetError: if it is damaged, as far as that is noticed
    :raises TooLargeError: if it exceeds the budget
    """
    before = budget.left
    repeated = _most_repeated(content, chunk, leaf, codecs, budget)
    if repeated <= budget.left // _SHARE:
        budget.take(repeated)
    else:  # only the values themselves show the size
        budget.give_back_to(before)
        read_column(content, chunk, leaf, codecs, budget)


#: Bytes of a column's slot in columnar memory, and of a value as a Python object.
_SLOT_SIZE, _VALUE_SIZE = 10, 48
#: The part of a budget (one eighth) that one column may need without a closer check.
_SHARE = 8
#: Bytes up to which the values of a page are estimated without reading its dictionary.
_SMALL = 1 << 20


def _most_repeated(
    content: Content, chunk: StoredChunk, leaf: Leaf, codecs: Mapping[str, Codec], budget: Budget
) -> int:
    """Charge the budget for the pages of a column, except repeated values.

    Return the maximum bytes of values that are stored once but may be used repeatedly.
    """
    most = 0
    dictionary: _Page | None = None
    for page in _pages(content, chunk, codecs, budget):
        if page.kind == _DICTIONARY_PAGE:
            dictionary, longest = page, page.size
            continue
        budget.take(page.count * _SLOT_SIZE)
        # Fewer bytes than values: runs stand for many values, most of which may be null.
        present = page.count if page.size >= page.count else page.levels(leaf)[0].count(leaf.definition)
        budget.take(present * _VALUE_SIZE)
        if page.encoding == Encoding.DELTA_BYTE_ARRAY:
            most += present * page.size
        elif dictionary is not None and page.encoding in (Encoding.PLAIN_DICTIONARY, Encoding.RLE_DICTIONARY):
            if longest == dictionary.size and present * longest > _SMALL:
                longest = _longest(dictionary, leaf.element.physical_type)
            most += present * longest
    return most


def _longest(dictionary: _Page, physical_type: PhysicalType | None) -> int:
    """Return the size of the longest string in a dictionary, in bytes; 0 if it has numbers."""
    if physical_type is PhysicalType.FIXED_LEN_BYTE_ARRAY:
        return dictionary.size // max(dictionary.count, 1)
    is_text = physical_type is PhysicalType.BYTE_ARRAY
    return longest_byte_array(dictionary.body(), dictionary.count) if is_text else 0


_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3

_PAGE_TYPE, _SIZE, _COMPRESSED_SIZE, _CRC = (key(number, WireType.I32) for number in (1, 2, 3, 4))
_HEADERS = {
    _DATA_PAGE: key(5, WireType.STRUCT),
    _DICTIONARY_PAGE: key(7, WireType.STRUCT),
    _DATA_PAGE_V2: key(8, WireType.STRUCT),
}
#: Field of all three headers.
_COUNT = key(1, WireType.I32)
#: Field with the encoding in each header.
_ENCODING = {
    _DATA_PAGE: key(2, WireType.I32),
    _DICTIONARY_PAGE: key(2, WireType.I32),
    _DATA_PAGE_V2: key(4, WireType.I32),
}
_DEFINITION_ENCODING, _REPETITION_ENCODING = key(3, WireType.I32), key(4, WireType.I32)
_DEFINITION_SIZE, _REPETITION_SIZE = key(5, WireType.I32), key(6, WireType.I32)
_IS_COMPRESSED = key(7, WireType.TRUE)
_LENGTH_SIZE = 4


class _Page:
    """A page and its header. None of its numbers is negative.

    :param stored: its bytes in the file
    :param size: number of bytes after decompression
    """

    def __init__(
        self, kind: int, header: dict[int, Any], stored: bytes, size: int, codec: int, codecs: Mapping[str, Codec]
    ) -> None:
        self.kind = kind
        self.count: int = _number(header, _COUNT)
        self.encoding: int = _number(header, _ENCODING[kind])
        self._header = header
        self._stored = stored
        self.size = size
        self._codec = codec
        self._codecs = codecs

    def body(self) -> bytes:
        """Decompress it."""
        return decompress(self._codec, self._stored, self.size, self._codecs)

    def levels(self, leaf: Leaf) -> tuple[bytes, bytes, bytes, int]:
        """Return the definition levels, the repetition levels, and the values' bytes with their start."""
        definition, repetition, data, position = self._levels_v2() if self.kind == _DATA_PAGE_V2 else self._levels(leaf)
        count = self.count
        return (
            levels(definition, 0, leaf.definition, count) if leaf.definition else bytes(count),
            levels(repetition, 0, leaf.repetition, count) if leaf.repetition else b"",
            data,
            position,
        )

    def _levels(self, leaf: Leaf) -> tuple[bytes, bytes, bytes, int]:
        data, position = self.body(), 0
        repetition = definition = b""
        if leaf.repetition:
            repetition, position = self._level_bytes(data, position, _REPETITION_ENCODING)
        if leaf.definition:
            definition, position = self._level_bytes(data, position, _DEFINITION_ENCODING)
        return definition, repetition, data, position

    def _level_bytes(self, data: bytes, position: int, encoding: int) -> tuple[bytes, int]:
        if self._header.get(encoding) != Encoding.RLE:
            raise UnsupportedError(f"its levels are in encoding {self._header.get(encoding)}, which is out of use")
        start = position + _LENGTH_SIZE
        end = start + int.from_bytes(data[position:start], "little")
        if end > len(data):
            raise ParquetError("a page ends within its levels")
        return data[start:end], end

    def _levels_v2(self) -> tuple[bytes, bytes, bytes, int]:
        """Split a page of version 2: its levels come first, and are not compressed."""
        definition_start = _number(self._header, _REPETITION_SIZE)
        start = definition_start + _number(self._header, _DEFINITION_SIZE)
        if start > len(self._stored) or start > self.size:
            raise ParquetError("a page ends within its levels")
        data = self._stored[start:]
        if self._header.get(_IS_COMPRESSED, True):
            data = decompress(self._codec, data, self.size - start, self._codecs)
        return self._stored[definition_start:start], self._stored[:definition_start], data, 0


def _pages(content: Content, chunk: StoredChunk, codecs: Mapping[str, Codec], budget: Budget) -> Iterator[_Page]:
    """Yield dictionary and data pages. Each has at least one byte, so the loop ends."""
    end = chunk.start + chunk.size
    if not 0 <= chunk.start <= end <= len(content):
        raise ParquetError(f"its footer places a column at bytes {chunk.start} to {end} of {len(content)}")
    position = chunk.start
    while position < end:
        try:
            header, body, size = _header(content, position, end)
            kind, start = _number(header, _PAGE_TYPE), position + size
            position = start + _number(header, _COMPRESSED_SIZE)
            if position > end:
                raise ParquetError("a page ends behind its column")
            stored = content[start:position]
            if _CRC in header and crc32(stored) != header[_CRC] & 0xFFFFFFFF:
                raise ParquetError(f"the page at byte {start} does not have the checksum that is stored with it")
            if kind not in _HEADERS:  # an index, or a page of a newer format
                continue
            if body is None:
                raise ParquetError("a page has no header of its kind")
        except ThriftError as error:
            raise ParquetError(f"the header of a page is damaged: {error}") from None
        size = _number(header, _SIZE)
        budget.take(size)
        yield _Page(kind, body, stored, size, chunk.codec, codecs)


#: Bytes that are read at first for the header of a page.
_HEADER_SIZE = 1 << 12


def _header(content: Content, position: int, end: int) -> tuple[dict[int, Any], dict[int, Any] | None, int]:
    """Return the header of a page, the header of its kind if there is one, and the size of both in bytes.

    :raises ThriftError: if it is damaged
    """
    in_memory, most = isinstance(content, bytes), _HEADER_SIZE
    while True:
        part = content if in_memory else content[position : min(position + most, end)]
        cursor = Cursor(part, start := position if in_memory else 0)  # type: ignore[arg-type]  # bytes in both cases
        try:
            header = cursor.struct()
            of_kind = header.get(_HEADERS.get(header.get(_PAGE_TYPE, -1), -1))
            body = None if of_kind is None else Cursor(cursor.data, of_kind).struct()
        except ThriftError:
            if in_memory or position + most >= end:
                raise
            most *= 16
        else:
            return header, body, cursor.position - start


def _number(header: dict[int, Any], field: int) -> int:
    number: int = header.get(field, -1)
    if number < 0:
        raise ParquetError("the header of a page lacks a number, or has a negative one")
    return number
