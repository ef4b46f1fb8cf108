"""The schema of a Parquet file: its elements, and the meaning of their types.

parquet-format, ``parquet.thrift`` (SchemaElement) and ``LogicalTypes.md``. Files record a column's meaning in two
forms; the older is the converted type. Both are read as a :class:`LogicalType`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any, NamedTuple

from airflow_delta_provider.domain.formats.parquet.thrift import Cursor, ParquetError, WireType, key


class PhysicalType(IntEnum):
    """The storage type of a leaf column's values."""

    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    INT96 = 3
    FLOAT = 4
    DOUBLE = 5
    BYTE_ARRAY = 6
    FIXED_LEN_BYTE_ARRAY = 7


class Repetition(IntEnum):
    """The number of times that a field occurs in its parent."""

    REQUIRED = 0
    OPTIONAL = 1
    REPEATED = 2


class LogicalKind(Enum):
    """The kinds of a column's values; ``UNKNOWN`` for kinds of a newer format than this code."""

    STRING = "string"
    MAP = "map"
    LIST = "list"
    ENUM = "enum"
    DECIMAL = "decimal"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    INTERVAL = "interval"
    INTEGER = "integer"
    NULL = "null"
    JSON = "json"
    BSON = "bson"
    UUID = "uuid"
    FLOAT16 = "float16"
    VARIANT = "variant"
    GEOMETRY = "geometry"
    GEOGRAPHY = "geography"
    UNKNOWN = "unknown"


class TimeUnit(Enum):
    """The unit of a time or a timestamp."""

    MILLIS = "millis"
    MICROS = "micros"
    NANOS = "nanos"


class LogicalType(NamedTuple):
    """The type of a column's values.

    :param precision: digits of a decimal
    :param scale: digits after the point of a decimal
    :param bit_width: 8, 16, 32 or 64, for an integer
    :param signed: True for a signed integer
    :param unit: unit of a time or a timestamp
    :param adjusted_to_utc: True if a time or timestamp is an instant, not the local time of a clock
    :param inferred: True if ``adjusted_to_utc`` of a time or timestamp follows only from the older converted type
    """

    kind: LogicalKind
    precision: int | None = None
    scale: int | None = None
    bit_width: int | None = None
    signed: bool | None = None
    unit: TimeUnit | None = None
    adjusted_to_utc: bool | None = None
    inferred: bool = False


class SchemaElement(NamedTuple):
    """One node of the schema.

    :param physical_type: storage type; None for a group
    :param repetition: repetition; None if the file has none, as for some roots, or one of a newer format than this code
    :param type_length: size of a FIXED_LEN_BYTE_ARRAY in bytes
    :param logical_type: logical type; None if the file has none, and only the physical type counts
    """

    name: str
    physical_type: PhysicalType | None
    repetition: Repetition | None
    num_children: int = 0
    field_id: int | None = None
    type_length: int | None = None
    logical_type: LogicalType | None = None

    @property
    def is_leaf(self) -> bool:
        return self.physical_type is not None


class Schema:
    """The elements of a schema, depth-first, and its leaf columns by path.

    :param elements: elements, depth-first, the root first
    :raises ValueError: if the numbers of children do not form one tree
    """

    __slots__ = ("elements", "leaves")

    def __init__(self, elements: tuple[SchemaElement, ...]) -> None:
        self.elements = elements
        #: Ordinal (the column's place in each row group) and element by path below the root.
        self.leaves: dict[tuple[str, ...], tuple[int, SchemaElement]] = _leaves(elements)


def _leaves(elements: tuple[SchemaElement, ...]) -> dict[tuple[str, ...], tuple[int, SchemaElement]]:
    leaves: dict[tuple[str, ...], tuple[int, SchemaElement]] = {}
    if not elements or elements[0].is_leaf:
        raise ValueError("its schema has no root")
    path: tuple[str, ...] = ()
    left = elements[0].num_children  # remaining children of the group at path
    parents: list[tuple[tuple[str, ...], int]] = []
    ordinal = 0
    for element in elements[1:]:
        while not left and parents:
            path, left = parents.pop()
        if not left:
            raise ValueError("its schema has elements outside of the root")
        left -= 1
        if element.is_leaf:
            leaves.setdefault((*path, element.name), (ordinal, element))
            ordinal += 1
        else:
            parents.append((path, left))
            if len(parents) > _MAX_DEPTH:
                raise ValueError(f"its schema nests more than {_MAX_DEPTH} levels")
            path, left = (*path, element.name), element.num_children
    if left or any(more for _, more in parents):
        raise ValueError("its schema lacks elements")
    return leaves


#: Limits the length of paths. Otherwise their sum would grow with the square of a damaged schema's size.
_MAX_DEPTH = 200

_TYPE = key(1, WireType.I32)
_TYPE_LENGTH = key(2, WireType.I32)
_REPETITION = key(3, WireType.I32)
_NAME = key(4, WireType.BINARY)
_NUM_CHILDREN = key(5, WireType.I32)
_CONVERTED = key(6, WireType.I32)
_SCALE = key(7, WireType.I32)
_PRECISION = key(8, WireType.I32)
_FIELD_ID = key(9, WireType.I32)
_LOGICAL = key(10, WireType.STRUCT)

_PHYSICAL_TYPES = dict(enumerate(PhysicalType))
_REPETITIONS = dict(enumerate(Repetition))


def read_element(cursor: Cursor) -> SchemaElement:
    """Read one element.

    :raises ThriftError: if the bytes are not Thrift
    :raises ValueError: if the element lacks a required value, or has an impossible one
    """
    wire = cursor.struct()
    found = wire.get
    name = found(_NAME)
    if name is None:
        raise ValueError("an element of its schema has no name")
    physical_type = None
    if (number := found(_TYPE)) is not None:
        physical_type = _PHYSICAL_TYPES.get(number)
        if physical_type is None:
            raise ValueError(f"its schema has the physical type {number}, which Parquet does not have")
    children = found(_NUM_CHILDREN, 0)
    if children < 0 or (children and physical_type is not None):
        raise ValueError("its schema has an element with an impossible number of children")
    logical = None
    if _LOGICAL in wire:
        logical = _logical_type(cursor.data, wire[_LOGICAL])
    elif _CONVERTED in wire:
        logical = _converted_type(wire)
    return SchemaElement(
        name.decode(),
        physical_type,
        _REPETITIONS.get(found(_REPETITION, -1)),
        children,
        found(_FIELD_ID),
        found(_TYPE_LENGTH),
        logical,
    )


def _integer(bits: int, signed: bool) -> LogicalType:
    return LogicalType(LogicalKind.INTEGER, bit_width=bits, signed=signed)


def _time(kind: LogicalKind, unit: TimeUnit) -> LogicalType:
    return LogicalType(kind, unit=unit, adjusted_to_utc=True, inferred=True)


#: Converted types by number, except DECIMAL; LogicalTypes.md has the current meaning of each.
_CONVERTED_TYPES = {
    0: LogicalType(LogicalKind.STRING),
    1: LogicalType(LogicalKind.MAP),
    2: LogicalType(LogicalKind.MAP),
    3: LogicalType(LogicalKind.LIST),
    4: LogicalType(LogicalKind.ENUM),
    6: LogicalType(LogicalKind.DATE),
    7: _time(LogicalKind.TIME, TimeUnit.MILLIS),
    8: _time(LogicalKind.TIME, TimeUnit.MICROS),
    9: _time(LogicalKind.TIMESTAMP, TimeUnit.MILLIS),
    10: _time(LogicalKind.TIMESTAMP, TimeUnit.MICROS),
    11: _integer(8, False),
    12: _integer(16, False),
    13: _integer(32, False),
    14: _integer(64, False),
    15: _integer(8, True),
    16: _integer(16, True),
    17: _integer(32, True),
    18: _integer(64, True),
    19: LogicalType(LogicalKind.JSON),
    20: LogicalType(LogicalKind.BSON),
    21: LogicalType(LogicalKind.INTERVAL),
}
_CONVERTED_DECIMAL = 5
_UNKNOWN = LogicalType(LogicalKind.UNKNOWN)


def _converted_type(wire: dict[int, Any]) -> LogicalType:
    number = wire[_CONVERTED]
    if number == _CONVERTED_DECIMAL:
        return LogicalType(LogicalKind.DECIMAL, precision=wire.get(_PRECISION), scale=wire.get(_SCALE, 0))
    return _CONVERTED_TYPES.get(number, _UNKNOWN)


#: The members of the union LogicalType without further fields, by field id.
_PLAIN = {
    1: LogicalType(LogicalKind.STRING),
    2: LogicalType(LogicalKind.MAP),
    3: LogicalType(LogicalKind.LIST),
    4: LogicalType(LogicalKind.ENUM),
    6: LogicalType(LogicalKind.DATE),
    11: LogicalType(LogicalKind.NULL),
    12: LogicalType(LogicalKind.JSON),
    13: LogicalType(LogicalKind.BSON),
    14: LogicalType(LogicalKind.UUID),
    15: LogicalType(LogicalKind.FLOAT16),
    16: LogicalType(LogicalKind.VARIANT),
    17: LogicalType(LogicalKind.GEOMETRY),
    18: LogicalType(LogicalKind.GEOGRAPHY),
}
_DECIMAL, _TIME, _TIMESTAMP, _INTEGER = 5, 7, 8, 10
_UNITS = {1: TimeUnit.MILLIS, 2: TimeUnit.MICROS, 3: TimeUnit.NANOS}
_FIRST_I32, _SECOND_I32 = key(1, WireType.I32), key(2, WireType.I32)
_FIRST_BYTE, _FIRST_BOOL, _SECOND_BOOL = key(1, WireType.BYTE), key(1, WireType.TRUE), key(2, WireType.TRUE)
_SECOND_STRUCT = key(2, WireType.STRUCT)


def _logical_type(data: bytes, position: int) -> LogicalType:
    cursor = Cursor(data, position)
    member, wire_type = cursor.field(0)
    if wire_type != WireType.STRUCT:
        return _UNKNOWN
    if member in _PLAIN:
        return _PLAIN[member]
    body = cursor.struct()
    if member == _DECIMAL:
        return LogicalType(LogicalKind.DECIMAL, body.get(_SECOND_I32), body.get(_FIRST_I32))
    if member == _INTEGER:
        return LogicalType(LogicalKind.INTEGER, bit_width=body.get(_FIRST_BYTE), signed=body.get(_SECOND_BOOL))
    if member in (_TIME, _TIMESTAMP):
        unit = Cursor(data, body[_SECOND_STRUCT]).field(0)[0] if _SECOND_STRUCT in body else 0
        return LogicalType(
            LogicalKind.TIME if member == _TIME else LogicalKind.TIMESTAMP,
            unit=_UNITS.get(unit),
            adjusted_to_utc=body.get(_FIRST_BOOL),
        )
    return _UNKNOWN


def read_schema(cursor: Cursor) -> Schema:
    """Read the list of elements.

    :raises ThriftError: if the bytes are not Thrift
    :raises ValueError: if the elements do not form a schema
    """
    return Schema(tuple([read_element(cursor) for _ in range(cursor.list_of(WireType.STRUCT))]))


#: Maximum nesting depth of fields; checkpoints need about ten levels.
_MOST_LEVELS = 100
#: Names below a column, as a schema shows them: without the groups that lists and maps insert.
Names = tuple[str, ...]


@dataclass(frozen=True)
class Field:
    """One field of a record.

    :param definition: lowest definition level at which it is not null
    :param repetition: number of lists and maps around it
    :param optional: True if it can be null
    """

    name: str
    definition: int
    repetition: int
    optional: bool

    def leaves(self) -> Iterator[Leaf]:
        """Yield the columns in its storage, depth-first."""
        raise NotImplementedError

    def groups(self) -> Iterator[Field]:
        """Yield the structs, lists and maps in this subtree, itself included."""
        raise NotImplementedError


@dataclass(frozen=True)
class Leaf(Field):
    """A column.

    :param path: path in the file, with the groups that lists and maps insert
    """

    path: tuple[str, ...]
    element: SchemaElement

    def leaves(self) -> Iterator[Leaf]:
        yield self

    def groups(self) -> Iterator[Field]:
        return iter(())


@dataclass(frozen=True)
class Struct(Field):
    """Named fields, one value each."""

    fields: tuple[Field, ...]

    def leaves(self) -> Iterator[Leaf]:
        for field in self.fields:
            yield from field.leaves()

    def groups(self) -> Iterator[Field]:
        yield self
        for field in self.fields:
            yield from field.groups()

    def only(self, wanted: Collection[Names]) -> Struct:
        """Return the struct with only the given fields and everything below them.

        Missing fields are ignored.

        :raises ParquetError: if two fields have one of the names
        """
        found: dict[str, Field] = {}
        for field in self.fields:
            below = {names[1:] for names in wanted if names and names[0] == field.name}
            if not below:
                continue
            if field.name in found:
                raise ParquetError(f"it has two fields of the name {field.name}")
            if () in below:
                found[field.name] = field
            elif isinstance(field, Struct):
                found[field.name] = field.only(below)
        return replace(self, fields=tuple([field for field in found.values() if any(field.leaves())]))


@dataclass(frozen=True)
class Listing(Field):
    """A list, or a map.

    :param items: one field for a list; key and value for a map
    """

    items: tuple[Field, ...]

    @property
    def item_definition(self) -> int:
        """The lowest definition level at which it has items."""
        return self.definition + 1

    @property
    def is_map(self) -> bool:
        return len(self.items) > 1

    def leaves(self) -> Iterator[Leaf]:
        for item in self.items:
            yield from item.leaves()

    def groups(self) -> Iterator[Field]:
        yield self
        for item in self.items:
            yield from item.groups()


def field_tree(elements: tuple[SchemaElement, ...]) -> Struct:
    """Return the fields of a schema, below a struct that represents a row.

    :param elements: elements of a consistent tree, depth-first, the root first
    :raises ParquetError: if a list or a map has an invalid form
    """
    return Struct("", 0, 0, False, _Builder(elements).fields(elements[0].num_children, 0, 0, ()))


class _Builder:
    def __init__(self, elements: tuple[SchemaElement, ...]) -> None:
        self._elements = elements
        self._position = 1

    def fields(self, count: int, definition: int, repetition: int, path: Names) -> tuple[Field, ...]:
        """Read fields; groups without any column are skipped."""
        if len(path) > _MOST_LEVELS:
            raise ParquetError(f"its schema nests more than {_MOST_LEVELS} levels")
        found = [self._field(definition, repetition, path) for _ in range(count)]
        return tuple([field for field in found if any(field.leaves())])

    def _field(self, definition: int, repetition: int, path: Names) -> Field:
        element = self._elements[self._position]
        if element.repetition is None:
            raise ParquetError(f"its schema does not say how often {element.name} occurs in a record")
        if element.repetition is Repetition.REPEATED:  # a list without a group around it
            item = self._body(definition + 1, repetition + 1, path, optional=False)
            return Listing(element.name, definition, repetition, False, (item,))
        optional = element.repetition is Repetition.OPTIONAL
        return self._body(definition + optional, repetition, path, optional=optional)

    def _body(self, definition: int, repetition: int, path: Names, *, optional: bool) -> Field:
        """Read a field whose own repetition was already handled."""
        element = self._elements[self._position]
        self._position += 1
        path = (*path, element.name)
        if element.is_leaf:
            return Leaf(element.name, definition, repetition, optional, path, element)
        kind = element.logical_type.kind if element.logical_type is not None else None
        if kind is LogicalKind.LIST or kind is LogicalKind.MAP:
            items = self._items(element, definition + 1, repetition + 1, path)
            return Listing(element.name, definition, repetition, optional, items)
        fields = self.fields(element.num_children, definition, repetition, path)
        return Struct(element.name, definition, repetition, optional, fields)

    def _items(self, group: SchemaElement, definition: int, repetition: int, path: Names) -> tuple[Field, ...]:
        repeated = self._elements[self._position] if group.num_children == 1 else None
        if repeated is None or repeated.repetition is not Repetition.REPEATED:
            raise ParquetError(f"its schema has a list or map {group.name} without one repeated field")
        assert group.logical_type is not None
        if group.logical_type.kind is LogicalKind.MAP and repeated.num_children == 2:
            self._position += 1
            items = self.fields(2, definition, repetition, (*path, repeated.name))
            if len(items) != 2:
                raise ParquetError(f"its schema has a map {group.name} whose key or value holds no column")
            return items
        if self._is_item(group, repeated):
            return (self._body(definition, repetition, path, optional=False),)
        self._position += 1
        return self.fields(1, definition, repetition, (*path, repeated.name))

    def _is_item(self, group: SchemaElement, repeated: SchemaElement) -> bool:
        """Return True if the repeated field of a list is the item itself, as in files of older writers."""
        if repeated.num_children != 1 or repeated.name in ("array", f"{group.name}_tuple"):
            return True
        if repeated.logical_type is not None and repeated.logical_type.kind in (LogicalKind.LIST, LogicalKind.MAP):
            return True
        return self._elements[self._position + 1].repetition is Repetition.REPEATED
