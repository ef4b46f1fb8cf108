"""Projection of records: reads the selected columns and skips the others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

from airflow_delta_provider.domain.formats.avro.primitives import AvroError, Read, Skip
from airflow_delta_provider.domain.formats.avro.schema import AvroType, compile_schema

Row = tuple[Any, ...]

#: Maximum number of compiled schemas in the cache, for the files of as many tables.
_COMPILED = 64
#: Types that are accepted if another type is wanted.
_PROMOTED = {"long": frozenset({"int", "long"}), "double": frozenset({"int", "long", "float", "double"})}


@dataclass(frozen=True)
class Column:
    """A column to read.

    :param path: its name, preceded by the names of the records around it: ``_FILE._FILE_NAME``
    :param kind: Avro type that its values must have; ``long`` also accepts an int
    :param optional: True if it may be null, or missing in the schema; its value is None then
    """

    path: str
    kind: str
    optional: bool = False


class RowReader:
    """Reads the selected columns of one record after another.

    :param record: type of the file's records
    :param columns: columns to read, in the order of a row's values
    :raises AvroError: if a column is missing, or is of another type
    """

    def __init__(self, record: AvroType, columns: tuple[Column, ...]) -> None:
        if record.kind != "record":
            raise AvroError(f"it holds values of type {record.kind}, not records")
        by_path = {column.path: column for column in columns}
        found: list[str] = []
        steps: list[tuple[Read | None, Skip]] = []
        for path, leaf in _leaves(record, by_path, ""):
            column = by_path.get(path)
            if column is None:
                steps.append((None, leaf.skip))
                continue
            found.append(path)
            steps.append((_checked(column, leaf), leaf.skip))
        missing = [column.path for column in columns if not column.optional and column.path not in found]
        if missing:
            raise AvroError(f"its schema has no {', '.join(missing)}")
        self._steps = tuple(steps)
        # A row that was read ends with one None, for every column that the file does not have.
        places = [found.index(column.path) if column.path in found else len(found) for column in columns]
        self._in_order = itemgetter(*places, len(found))

    def rows(self, data: bytes, count: int) -> list[Row]:
        """Read the records of a block.

        :param data: the block, decompressed
        :param count: number of records that the block declares
        :raises AvroError: if its number of records differs, or it is not Avro
        """
        if not 0 <= count <= len(data):
            raise AvroError(f"a block is said to have {count} records in {len(data)} bytes")
        rows: list[Row] = []
        steps, in_order = self._steps, self._in_order
        position = 0
        try:
            for _ in range(count):
                row: list[Any] = []
                append = row.append
                for read, skip in steps:
                    if read is None:
                        position = skip(data, position)
                    else:
                        value, position = read(data, position)
                        append(value)
                append(None)
                rows.append(in_order(row)[:-1])
        except IndexError:
            raise AvroError(f"a block ends within record {len(rows) + 1} of {count}") from None
        if position != len(data):
            raise AvroError(f"a block has {len(data) - position} bytes behind its {count} records")
        return rows


@lru_cache(maxsize=_COMPILED)
def row_reader(schema: str, columns: tuple[Column, ...]) -> RowReader:
    """Compile the schema of a file.

    :param schema: schema as in the file, in JSON
    :raises AvroError: if it is not a schema, or lacks the columns
    """
    try:
        declaration = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise AvroError(f"its schema is not JSON: {error}") from None
    return RowReader(compile_schema(declaration), columns)


def _leaves(record: AvroType, wanted: Mapping[str, Column], prefix: str) -> Iterator[tuple[str, AvroType]]:
    """Yield the fields in byte order; a record with a wanted column is replaced with its own fields."""
    for name, field in (record.fields or {}).items():
        path = prefix + name
        if field.kind == "record" and any(column.startswith(f"{path}.") for column in wanted):
            yield from _leaves(field, wanted, f"{path}.")
        else:
            yield path, field


def _checked(column: Column, leaf: AvroType) -> Read:
    if leaf.value_kinds - _PROMOTED.get(column.kind, {column.kind}):
        raise AvroError(f"its {column.path} is of type {' or '.join(sorted(leaf.value_kinds))}, not {column.kind}")
    if column.optional or not leaf.nullable:
        return leaf.read
    read_leaf = leaf.read

    def read(data: bytes, position: int) -> tuple[Any, int]:
        value, end = read_leaf(data, position)
        if value is None:
            raise AvroError(f"its {column.path} is null")
        return value, end

    return read
