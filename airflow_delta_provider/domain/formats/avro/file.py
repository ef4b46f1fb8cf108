"""Reads whole Avro files into rows, many at once."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from airflow_delta_provider.domain.errors import shortage
from airflow_delta_provider.domain.formats.avro.primitives import AvroError, LargeAvroError, read_bytes, read_long
from airflow_delta_provider.domain.formats.avro.schema import Column, Row, RowReader, compile_schema, row_reader
from airflow_delta_provider.domain.formats.budget import Budget, TooLargeError


class Codec(Protocol):
    """A function that decompresses many blocks."""

    def __call__(self, blocks: Sequence[bytes], budget: Budget | None = None, /) -> Sequence[bytes | AvroError]:
        """Return the decompressed bytes of each block, or its error.

        :param budget: memory limit for all of them together; None for no limit
        :raises TooLargeError: if they exceed the budget
        """


#: Maximum bytes of a decompressed block. Writers begin a new block at 64 KB.
MOST_BYTES = 1 << 24


class _Decompressor(Protocol):
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...


def one_by_one(decompress: Callable[[bytes], bytes]) -> Codec:
    """Create a codec from a function that decompresses a single block.

    :param decompress: function that raises :class:`AvroError` if the block is broken
    """

    def decompress_all(blocks: Sequence[bytes], budget: Budget | None = None, /) -> list[bytes | AvroError]:
        found: list[bytes | AvroError] = []
        for block in blocks:
            try:
                data = decompress(block)
            except AvroError as error:
                found.append(error)
                continue
            if budget is not None:
                budget.take(len(data))
            found.append(data)
        return found

    return decompress_all


def _streamed(open_decompressor: Callable[[], _Decompressor]) -> Codec:
    def decompress(block: bytes) -> bytes:
        decompressor = open_decompressor()
        try:
            data = decompressor.decompress(block, MOST_BYTES)
        except (zlib.error, lzma.LZMAError, OSError, ValueError) as error:
            if shortage(error):
                raise
            raise AvroError(f"a block cannot be decompressed: {error}") from None
        if len(data) >= MOST_BYTES and not decompressor.eof:
            raise LargeAvroError(f"a block comes to more than {MOST_BYTES} bytes")
        if not decompressor.eof:
            raise AvroError("a block ends too early")
        return data

    return one_by_one(decompress)


def _stored(blocks: Sequence[bytes], budget: Budget | None = None, /) -> Sequence[bytes]:
    del budget  # already in memory
    return blocks


#: Codecs that need only Python, by Avro's names.
STANDARD_CODECS: Mapping[str, Codec] = {
    "null": _stored,
    "deflate": _streamed(lambda: zlib.decompressobj(-zlib.MAX_WBITS)),
    "bzip2": _streamed(bz2.BZ2Decompressor),
    "xz": _streamed(lzma.LZMADecompressor),
}


_MAGIC = b"Obj\x01"
_SYNC_SIZE = 16
_METADATA = compile_schema({"type": "map", "values": "bytes"})


@dataclass(frozen=True)
class Block:
    """Records that are compressed together.

    :param count: number of records that the block declares
    :param data: compressed bytes
    """

    count: int
    data: bytes


@dataclass(frozen=True)
class Container:
    """A file of records.

    :param schema: schema of a record, in JSON
    :param codec: codec of the blocks, by Avro's name
    """

    schema: str
    codec: str
    blocks: tuple[Block, ...]


def split_container(data: bytes) -> Container:
    """Read the header of a file, and split it into blocks.

    :param data: the whole file
    :raises AvroError: if it is not an Avro file, or is incomplete
    """
    if not data.startswith(_MAGIC):
        raise AvroError("it does not begin as an Avro file does" if data else "it is empty")
    try:
        metadata, position = _METADATA.read(data, len(_MAGIC))
        end_of_header = position + _SYNC_SIZE
        if end_of_header > len(data):
            raise IndexError
    except IndexError:
        raise AvroError("it ends within its header") from None
    sync = data[position:end_of_header]
    blocks = tuple(_blocks(data, end_of_header, sync))
    return Container(_text(metadata, "avro.schema"), _text(metadata, "avro.codec") or "null", blocks)


def _blocks(data: bytes, position: int, sync: bytes) -> list[Block]:
    blocks = []
    while position < len(data):
        start = position
        try:
            count, position = read_long(data, position)
            content, position = read_bytes(data, position)
        except IndexError:
            raise AvroError(f"it ends within the block at byte {start}") from None
        marker = data[position : position + _SYNC_SIZE]
        position += _SYNC_SIZE
        if len(marker) < _SYNC_SIZE:
            raise AvroError(f"it ends within the block at byte {start}")
        if marker != sync:
            raise AvroError(f"the block at byte {start} does not end with the file's sync marker")
        blocks.append(Block(count, content))
    return blocks


def _text(metadata: dict[str, Any], key: str) -> str:
    try:
        return str(metadata.get(key, b""), "utf-8")
    except UnicodeDecodeError:
        raise AvroError(f"its {key} is not UTF-8") from None


#: The decompressed blocks of a file, or the error of each.
_Blocks = list["bytes | AvroError"]


@dataclass(frozen=True)
class _Read:
    """A file with one block that was read: its schema, the block, and the rows."""

    schema: str
    data: bytes
    rows: list[Row]

    def begins(self, schema: str, data: bytes, count: int) -> bool:
        """Return True if a block begins with this one."""
        return bool(self.rows) and len(self.rows) <= count and schema == self.schema and data.startswith(self.data)


_NOTHING = _Read("", b"", [])


def read_rows(
    files: Sequence[bytes], columns: tuple[Column, ...], codecs: Mapping[str, Codec]
) -> list[list[Row] | AvroError]:
    """Read columns of many files; each codec is called once with the blocks of all files.

    :param files: contents of the files; all of their rows are in memory at once
    :param columns: columns to read, in the order of a row's values
    :param codecs: codecs by Avro's names, as :data:`STANDARD_CODECS`
    :returns: rows of each file, or its error: a broken file does not prevent others from being read
    """
    containers = [_container(file) for file in files]
    budget = Budget(sum(map(len, files)))
    blocks = _decompress(containers, codecs, budget)
    found: list[list[Row] | AvroError] = []
    before = (_NOTHING, _NOTHING)
    readers: dict[str, RowReader] = {}  # the shared cache compares all columns for each file
    for index, container in enumerate(containers):
        if isinstance(container, AvroError):
            found.append(container)
            continue
        rows, read = _rows(container, blocks[index], columns, before, readers, budget)
        before = (before[1], read)
        found.append(rows)
    return found


def _container(file: bytes) -> Container | AvroError:
    try:
        return split_container(file)
    except AvroError as error:
        return error


def _decompress(
    containers: Sequence[Container | AvroError], codecs: Mapping[str, Codec], budget: Budget
) -> Mapping[int, _Blocks]:
    """Return the decompressed blocks of each container, by its index."""
    places: dict[str, list[int]] = defaultdict(list)
    for index, container in enumerate(containers):
        if isinstance(container, Container):
            places[container.codec].append(index)
    found: dict[int, _Blocks] = defaultdict(list)
    for name, indices in places.items():
        codec = codecs.get(name)
        together = _within(containers, indices, name, codec, budget)
        if isinstance(together, AvroError):  # one by one, so that only files that are too large are left out
            for index in indices:
                alone = _within(containers, [index], name, codec, budget)
                found[index] = [alone] if isinstance(alone, AvroError) else alone[index]
        else:
            found |= together
    return found


def _within(
    containers: Sequence[Container | AvroError], indices: Sequence[int], name: str, codec: Codec | None, budget: Budget
) -> dict[int, _Blocks] | AvroError:
    """Return the decompressed blocks of containers.

    If they exceed the budget, return an error and charge nothing.
    """
    before = budget.left
    try:
        return _records_of_blocks(containers, indices, name, codec, budget)
    except TooLargeError as error:
        budget.give_back_to(before)
        return LargeAvroError(str(error))


def _records_of_blocks(
    containers: Sequence[Container | AvroError], indices: Sequence[int], name: str, codec: Codec | None, budget: Budget
) -> dict[int, _Blocks]:
    """Return the decompressed blocks of containers with the same codec, by their indices."""
    places: list[int] = []
    compressed: list[bytes] = []
    for index in indices:
        container = containers[index]
        assert isinstance(container, Container)
        places.extend([index] * len(container.blocks))
        compressed.extend(block.data for block in container.blocks)
    unknown = AvroError(f"it is compressed with {name!r:.60}, which cannot be read here")
    found: dict[int, _Blocks] = defaultdict(list)
    for index, data in zip(places, [unknown] * len(compressed) if codec is None else codec(compressed, budget)):
        found[index].append(data)
    return found


def _rows(
    container: Container,
    blocks: _Blocks,
    columns: tuple[Column, ...],
    before: tuple[_Read, _Read],
    readers: dict[str, RowReader],
    budget: Budget,
) -> tuple[list[Row] | AvroError, _Read]:
    """Read a file. Also return it in the form that a later file may begin with.

    A manifest list is often the base list of the commit before followed by its delta list; these need not be read
    again.

    :param before: the last two files that were read, older first
    """
    broken = next((block for block in blocks if isinstance(block, AvroError)), None)
    if broken is not None:
        return broken, _NOTHING
    try:
        reader = readers.get(container.schema) or row_reader(container.schema, columns)
        readers[container.schema] = reader
        rows: list[Row] = []
        for block, data in zip(container.blocks, blocks):
            assert isinstance(data, bytes)
            count = block.count
            for earlier in () if rows else before:
                if earlier.begins(container.schema, data, count):
                    rows += earlier.rows
                    data, count = data[len(earlier.data) :], count - len(earlier.rows)
            if count <= len(data):  # otherwise it is damaged, and the reader reports it
                budget.take(_memory(columns, data, count))
            rows += reader.rows(data, count)
    except TooLargeError as error:
        return LargeAvroError(str(error)), _NOTHING
    except AvroError as error:
        return error, _NOTHING
    whole = blocks[0] if len(blocks) == 1 else b""
    return rows, _Read(container.schema, whole, rows) if isinstance(whole, bytes) and whole else _NOTHING


#: Bytes of a row, of each value in it, and of a reference to a value.
_ROW_SIZE, _VALUE_SIZE, _REFERENCE_SIZE = 64, 48, 8


def _memory(columns: tuple[Column, ...], data: bytes, count: int) -> int:
    """Return the maximum bytes that the rows of a block need.

    A value has at least one byte in the block.
    """
    count = max(count, 0)
    has_items = any(column.kind == "array" for column in columns)
    of_rows = count * (_ROW_SIZE + _REFERENCE_SIZE * len(columns))
    return of_rows + min(count * len(columns), len(data)) * _VALUE_SIZE + has_items * _REFERENCE_SIZE * len(data)
