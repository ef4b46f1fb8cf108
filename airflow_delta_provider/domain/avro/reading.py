"""Whole Avro files to rows, many at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from airflow_delta_provider.domain.avro.codecs import Codec
from airflow_delta_provider.domain.avro.container import Container, split_container
from airflow_delta_provider.domain.avro.primitives import AvroError
from airflow_delta_provider.domain.avro.projection import Column, Row, row_reader

#: A file's blocks, decompressed, or why one is not.
_Blocks = list["bytes | AvroError"]


def read_rows(
    files: Sequence[bytes], columns: tuple[Column, ...], codecs: Mapping[str, Codec]
) -> list[list[Row] | AvroError]:
    """Read columns of many files; each codec is asked once, for the blocks of all.

    :param files: their contents; all of their rows are in memory at once
    :param columns: what to read; a row has the values in this order
    :param codecs: by Avro's names, as :data:`codecs.STANDARD_CODECS`
    :returns: for each file its rows, or why it has none: one that is broken keeps no other from being read
    """
    containers = [_container(file) for file in files]
    blocks = _decompress(containers, codecs)
    return [
        container if isinstance(container, AvroError) else _rows(container, blocks[index], columns)
        for index, container in enumerate(containers)
    ]


def _container(file: bytes) -> Container | AvroError:
    try:
        return split_container(file)
    except AvroError as error:
        return error


def _decompress(containers: Sequence[Container | AvroError], codecs: Mapping[str, Codec]) -> Mapping[int, _Blocks]:
    """Return the decompressed blocks of each container by its place."""
    places: dict[str, list[int]] = defaultdict(list)
    compressed: dict[str, list[bytes]] = defaultdict(list)
    for index, container in enumerate(containers):
        if isinstance(container, Container):
            places[container.codec].extend([index] * len(container.blocks))
            compressed[container.codec].extend(block.data for block in container.blocks)
    found: dict[int, _Blocks] = defaultdict(list)
    for name, blocks in compressed.items():
        codec = codecs.get(name)
        unknown = AvroError(f"it is compressed with {name!r:.60}, which cannot be read here")
        for index, data in zip(places[name], [unknown] * len(blocks) if codec is None else codec(blocks)):
            found[index].append(data)
    return found


def _rows(container: Container, blocks: _Blocks, columns: tuple[Column, ...]) -> list[Row] | AvroError:
    try:
        reader = row_reader(container.schema, columns)
        rows: list[Row] = []
        for block, data in zip(container.blocks, blocks):
            if isinstance(data, AvroError):
                return data
            rows += reader.rows(data, block.count)
    except AvroError as error:
        return error
    return rows
