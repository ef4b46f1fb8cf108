"""The outer structure of an Avro file: header and blocks.

Avro, Object Container Files. Blocks are returned compressed, because many are decompressed at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.formats.avro.primitives import AvroError, read_bytes, read_long
from airflow_delta_provider.domain.formats.avro.schema import compile_schema

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
