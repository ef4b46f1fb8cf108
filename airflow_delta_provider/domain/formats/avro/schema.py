"""An Avro schema, compiled to functions that read or skip a value of it, or only selected columns.

Avro, Schema Declaration. Logical types are read as their underlying values. A schema that contains itself is refused,
because its values have no size limit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

from airflow_delta_provider.domain.formats.avro.primitives import (
    AvroError,
    Read,
    Skip,
    read_boolean,
    read_bytes,
    read_double,
    read_fixed,
    read_float,
    read_long,
    read_null,
    read_text,
    skip_bytes,
    skip_fixed,
    skip_long,
    skip_null,
)

#: Maximum nesting depth of types; a manifest needs five levels.
_MOST_LEVELS = 64


@dataclass(frozen=True)
class AvroType:
    """A type, and the functions that read and skip its values.

    :param kind: name of the type, or of its complex type: ``long``, ``record``, ``array``, ``union``...
    :param fields: fields of a record in order, by name
    :param branches: types of a union
    """

    kind: str
    read: Read
    skip: Skip
    fields: Mapping[str, AvroType] | None = None
    branches: tuple[AvroType, ...] = ()

    @property
    def nullable(self) -> bool:
        return self.kind == "null" or any(branch.kind == "null" for branch in self.branches)

    @property
    def empty(self) -> bool:
        """Return True if its values have no bytes.

        Then the file's size does not limit how many values it can declare.
        """
        return self.kind == "null" or (self.fields is not None and all(field.empty for field in self.fields.values()))

    @property
    def value_kinds(self) -> frozenset[str]:
        """The kinds of its values other than null."""
        return frozenset(branch.kind for branch in self.branches or (self,)) - {"null"}


_PRIMITIVES = {
    "null": AvroType("null", read_null, skip_null),
    "boolean": AvroType("boolean", read_boolean, skip_fixed(1)),
    "int": AvroType("int", read_long, skip_long),
    "long": AvroType("long", read_long, skip_long),
    "float": AvroType("float", read_float, skip_fixed(4)),
    "double": AvroType("double", read_double, skip_fixed(8)),
    "bytes": AvroType("bytes", read_bytes, skip_bytes),
    "string": AvroType("string", read_text, skip_bytes),
}


def compile_schema(declaration: Any) -> AvroType:
    """Compile a schema from its parsed JSON.

    :raises AvroError: if it is not a schema, refers to an undefined type, or contains itself
    """
    return _Compiler().compile(declaration, "", 0)


class _Compiler:
    def __init__(self) -> None:
        self._named: dict[str, AvroType | None] = {}

    def compile(self, declaration: Any, namespace: str, level: int) -> AvroType:
        if level > _MOST_LEVELS:
            raise AvroError(f"its schema is nested deeper than {_MOST_LEVELS} levels")
        if isinstance(declaration, list):
            return self._union(declaration, namespace, level)
        if isinstance(declaration, str):
            return self._by_name(declaration, namespace)
        if not isinstance(declaration, dict):
            raise AvroError(f"its schema has {declaration!r:.60} where a type belongs")
        kind = declaration.get("type")
        if kind in ("record", "error", "enum", "fixed"):
            return self._define(declaration, kind, namespace, level)
        if kind == "array":
            return _array(self.compile(declaration.get("items"), namespace, level + 1))
        if kind == "map":
            return _map(self.compile(declaration.get("values"), namespace, level + 1))
        return self.compile(kind, namespace, level + 1)

    def _by_name(self, name: str, namespace: str) -> AvroType:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        full_name = _full_name(name, namespace)
        if full_name not in self._named:
            raise AvroError(f"its schema has no type {name!r:.60}")
        found = self._named[full_name]
        if found is None:
            raise AvroError(f"its type {name!r:.60} contains itself")
        return found

    def _define(self, declaration: Mapping[str, Any], kind: str, namespace: str, level: int) -> AvroType:
        name = declaration.get("name")
        if not isinstance(name, str):
            raise AvroError(f"its schema has a {kind} without a name")
        full_name = _full_name(name, declaration.get("namespace") or namespace)
        self._named[full_name] = None
        if kind == "enum":
            found = _enum(_list(declaration, "symbols"))
        elif kind == "fixed":
            size = declaration.get("size")
            if type(size) is not int or size < 1:
                raise AvroError(f"its fixed type {name!r:.60} has the size {size!r:.60}")
            found = AvroType("fixed", read_fixed(size), skip_fixed(size))
        else:
            found = self._record(_list(declaration, "fields"), full_name.rpartition(".")[0], level)
        self._named[full_name] = found
        return found

    def _record(self, declarations: list[Any], namespace: str, level: int) -> AvroType:
        fields: dict[str, AvroType] = {}
        for field in declarations:
            if not isinstance(field, dict) or not isinstance(field.get("name"), str) or field["name"] in fields:
                raise AvroError("its schema has a record with a field without a name, or two of one name")
            fields[field["name"]] = self.compile(field.get("type"), namespace, level + 1)
        return _record(fields)

    def _union(self, declarations: list[Any], namespace: str, level: int) -> AvroType:
        return _union(tuple(self.compile(branch, namespace, level + 1) for branch in declarations))


def _full_name(name: str, namespace: Any) -> str:
    return f"{namespace}.{name}" if namespace and "." not in name else name


def _list(declaration: Mapping[str, Any], key: str) -> list[Any]:
    value = declaration.get(key)
    if not isinstance(value, list):
        raise AvroError(f"its schema has a {declaration['type']} without {key}")
    return value


def _record(fields: Mapping[str, AvroType]) -> AvroType:
    reads = tuple((name, field.read) for name, field in fields.items())
    skips = tuple(field.skip for field in fields.values())

    def read(data: bytes, position: int) -> tuple[dict[str, Any], int]:
        values = {}
        for name, read_field in reads:
            values[name], position = read_field(data, position)
        return values, position

    def skip(data: bytes, position: int) -> int:
        for skip_field in skips:
            position = skip_field(data, position)
        return position

    return AvroType("record", read, skip, fields)


def _enum(symbols: list[Any]) -> AvroType:
    def read(data: bytes, position: int) -> tuple[Any, int]:
        index, end = read_long(data, position)
        if not 0 <= index < len(symbols):
            raise AvroError(f"the enum at byte {position} has no symbol {index}")
        return symbols[index], end

    return AvroType("enum", read, skip_long)


def _union(branches: tuple[AvroType, ...]) -> AvroType:
    reads = tuple(branch.read for branch in branches)
    skips = tuple(branch.skip for branch in branches)
    count = len(branches)
    # Branches whose index fits into one byte, as for most.
    short = {index << 1: index for index in range(min(count, 64))}
    short_reads = {byte: reads[index] for byte, index in short.items()}
    short_skips = {byte: skips[index] for byte, index in short.items()}

    def branch_at(data: bytes, position: int) -> tuple[int, int]:
        index, start = read_long(data, position)
        if not 0 <= index < count:
            raise AvroError(f"the union at byte {position} has no branch {index}")
        return index, start

    def read(data: bytes, position: int) -> tuple[Any, int]:
        read_branch = short_reads.get(data[position])
        if read_branch is not None:
            return read_branch(data, position + 1)
        index, start = branch_at(data, position)
        return reads[index](data, start)

    def skip(data: bytes, position: int) -> int:
        skip_branch = short_skips.get(data[position])
        if skip_branch is not None:
            return skip_branch(data, position + 1)
        index, start = branch_at(data, position)
        return skips[index](data, start)

    return AvroType("union", read, skip, branches=branches)


def _array(items: AvroType) -> AvroType:
    if items.empty:
        raise AvroError("its schema has an array whose items take no byte")
    read_item, skip_item = items.read, items.skip

    def read(data: bytes, position: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        while True:
            count, _, position = _items_of_block(data, position)
            if not count:
                return values, position
            for _ in range(count):
                value, position = read_item(data, position)
                values.append(value)

    return AvroType("array", read, _skip_blocks(skip_item))


def _map(values: AvroType) -> AvroType:
    read_value, skip_value = values.read, values.skip

    def read(data: bytes, position: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while True:
            count, _, position = _items_of_block(data, position)
            if not count:
                return found, position
            for _ in range(count):
                key, position = read_text(data, position)
                found[key], position = read_value(data, position)

    def skip_pair(data: bytes, position: int) -> int:
        return skip_value(data, skip_bytes(data, position))

    return AvroType("map", read, _skip_blocks(skip_pair))


def _skip_blocks(skip_item: Skip) -> Skip:
    def skip(data: bytes, position: int) -> int:
        while data[position]:
            count, size, position = _items_of_block(data, position)
            if not count:
                return position
            if size:
                position += size
                continue
            for _ in range(count):
                position = skip_item(data, position)
        return position + 1

    return skip


def _items_of_block(data: bytes, position: int) -> tuple[int, int, int]:
    """Return the number of items that follow, their size in bytes (0 if not declared), and their start."""
    count, start = read_long(data, position)
    size = 0
    if count < 0:
        count = -count
        size, start = read_long(data, start)
        if size < 0 or start + size > len(data):
            raise AvroError(f"the items at byte {position} are said to take {size} bytes")
    if count > len(data) - start:
        raise AvroError(f"{count} items are said to follow byte {position}, where {len(data) - start} bytes are left")
    return count, size, start


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
