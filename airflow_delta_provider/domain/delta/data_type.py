"""Delta's data types: values, their JSON form and their SQL form.

PROTOCOL.md, Schema Serialization Format.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Union

from airflow_delta_provider.domain.text import SqlNameError, did_you_mean, listed, quote, split_name


@dataclass(frozen=True)
class PrimitiveType:
    """A type without parameters; ``name`` is its name in the schema's JSON."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class DecimalType:
    """``decimal(precision, scale)``, 1 <= precision <= 38, 0 <= scale <= precision."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class ArrayType:
    element: DataType
    contains_null: bool = True

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class MapType:
    key: DataType
    value: DataType
    value_contains_null: bool = True

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True)
class StructField:
    """A column or a field of a struct; ``metadata`` as in the schema's JSON."""

    name: str
    data_type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class StructType:
    """A struct. The schema of a table is a struct."""

    fields: tuple[StructField, ...]

    @cached_property
    def by_name(self) -> Mapping[str, StructField]:
        """The fields by name; the first one if several have the same."""
        return {field.name: field for field in reversed(self.fields)}

    @cached_property
    def places(self) -> Mapping[tuple[str, ...], list[Column]]:
        """All places in the struct by their lowered paths."""
        places: dict[tuple[str, ...], list[Column]] = {}
        for column in all_columns(self):
            places.setdefault(lowered(column.parts), []).append(column)
        return places

    def __str__(self) -> str:
        return f"struct<{','.join(f'{f.name}:{f.data_type}' for f in self.fields)}>"


DataType = Union[PrimitiveType, DecimalType, ArrayType, MapType, StructType]

BYTE = PrimitiveType("byte")
SHORT = PrimitiveType("short")
INTEGER = PrimitiveType("integer")
LONG = PrimitiveType("long")
FLOAT = PrimitiveType("float")
DOUBLE = PrimitiveType("double")
DATE = PrimitiveType("date")
TIMESTAMP_NTZ = PrimitiveType("timestamp_ntz")
VARIANT = PrimitiveType("variant")
VOID = PrimitiveType("void")

#: SQL names of primitive types by their name in the schema's JSON. The name that Spark prints comes first.
_SQL_NAMES: dict[str, tuple[str, ...]] = {
    "byte": ("tinyint", "byte"),
    "short": ("smallint", "short"),
    "integer": ("int", "integer"),
    "long": ("bigint", "long"),
    "float": ("float", "real"),
    "double": ("double",),
    "boolean": ("boolean",),
    "string": ("string",),
    "binary": ("binary",),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamp_ltz"),
    "timestamp_ntz": ("timestamp_ntz",),
    "variant": ("variant",),
    "void": ("void",),
}
_BY_SQL_NAME = {sql: PrimitiveType(json) for json, names in _SQL_NAMES.items() for sql in names}
#: The form in a schema's JSON; SQL allows more spellings.
_JSON_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
MAX_PRECISION = 38
#: Maximum nesting depth of types: deeper than any real schema, and shallow enough for the recursion of rules.
MOST_LEVELS = 64


class UnknownTypeError(ValueError):
    """A string that names no primitive type."""


def parse_type(text: str) -> DataType:
    """Read the SQL name of a primitive type (``bigint``, ``decimal(12,2)``), in any case.

    :raises UnknownTypeError: if it is not one; the message suggests a similar name
    """
    folded = text.strip().lower()
    if folded in _BY_SQL_NAME:
        return _BY_SQL_NAME[folded]
    if decimal := _DECIMAL.fullmatch(folded):
        precision, scale = int(decimal[1] or 10), int(decimal[2] or 0)
        if not (1 <= precision <= MAX_PRECISION and scale <= precision):
            raise UnknownTypeError(
                f"{text!r} is not a decimal: the precision is 1 to {MAX_PRECISION}, the scale 0 to the precision."
            )
        return DecimalType(precision, scale)
    raise UnknownTypeError(
        f"{text!r} is not a primitive SQL type.{did_you_mean(folded, _BY_SQL_NAME)} "
        "Write for instance bigint, double, decimal(12,2) or timestamp_ntz."
    )


def sql_name(data_type: DataType, named: Callable[[str], str] = str) -> str:
    """Return the type in Spark's SQL syntax.

    :param named: function that returns the name of a field in SQL
    """
    if isinstance(data_type, PrimitiveType):
        return _SQL_NAMES.get(data_type.name, (data_type.name,))[0]
    if isinstance(data_type, ArrayType):
        return f"array<{sql_name(data_type.element, named)}>"
    if isinstance(data_type, MapType):
        return f"map<{sql_name(data_type.key, named)},{sql_name(data_type.value, named)}>"
    if isinstance(data_type, StructType):
        return f"struct<{','.join(f'{named(f.name)}:{sql_name(f.data_type, named)}' for f in data_type.fields)}>"
    return str(data_type)


def type_to_json(
    data_type: DataType, to_json: Callable[[StructField, tuple[str, ...]], dict[str, Any]], path: tuple[str, ...] = ()
) -> str | dict[str, Any]:
    """Return a type as in a schema's JSON; everything in it may be null.

    :param to_json: function that returns the JSON of a field of the struct at a path
    """
    if isinstance(data_type, StructType):
        return {"type": "struct", "fields": [to_json(field, path) for field in data_type.fields]}
    if isinstance(data_type, ArrayType):
        element = type_to_json(data_type.element, to_json, (*path, "element"))
        return {"type": "array", "elementType": element, "containsNull": True}
    if isinstance(data_type, MapType):
        return {
            "type": "map",
            "keyType": type_to_json(data_type.key, to_json, (*path, "key")),
            "valueType": type_to_json(data_type.value, to_json, (*path, "value")),
            "valueContainsNull": True,
        }
    return str(data_type)


def type_from_json(wire: Any, levels: int = MOST_LEVELS) -> DataType:
    """Read a type of a schema's JSON. An unknown primitive name is kept unchanged.

    :param levels: maximum nesting depth
    :raises ValueError: if it is not a type at all
    """
    if isinstance(wire, str):
        if decimal := _JSON_DECIMAL.fullmatch(wire):
            return DecimalType(int(decimal[1]), int(decimal[2]))
        return PrimitiveType(wire)
    if levels == 0:
        raise ValueError(f"types are nested more than {MOST_LEVELS} deep")
    if isinstance(wire, Mapping):
        kind = wire.get("type")
        if kind == "array":
            return ArrayType(type_from_json(wire["elementType"], levels - 1), _is_true(wire, "containsNull"))
        if kind == "map":
            return MapType(
                type_from_json(wire["keyType"], levels - 1),
                type_from_json(wire["valueType"], levels - 1),
                _is_true(wire, "valueContainsNull"),
            )
        if kind == "struct" and isinstance(wire["fields"], list):
            return StructType(tuple(_field_from_json(f, levels - 1) for f in wire["fields"]))
        if kind == VARIANT.name:  # PROTOCOL.md has an example with an object
            return VARIANT
    raise ValueError(f"{wire!r:.100} is not a type of a Delta schema")


def missing_fields(wire: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield required fields that a schema's JSON lacks and that parsing tolerates: path and name.

    :param wire: type that :func:`type_from_json` accepts
    """
    if not isinstance(wire, Mapping):
        return
    for key in _REQUIRED.get(wire["type"], ()):
        if wire.get(key) is None:
            yield at, key
    for member in wire.get("fields", ()):
        path = (*at, member["name"])
        yield from ((path, key) for key in _REQUIRED_OF_FIELDS if member.get(key) is None)
        yield from missing_fields(member["type"], path)
    for key, step in _STEPS.items():
        if key in wire:
            yield from missing_fields(wire[key], (*at, step))


_REQUIRED = {"array": ("containsNull",), "map": ("valueContainsNull",)}
_REQUIRED_OF_FIELDS = ("nullable", "metadata")
_STEPS = {"elementType": "element", "keyType": "key", "valueType": "value"}


def _field_from_json(wire: Mapping[str, Any], levels: int) -> StructField:
    if not isinstance(wire["name"], str):
        raise ValueError("the name of a field is not a string")
    data_type = type_from_json(wire["type"], levels)
    metadata = wire.get("metadata")
    if not isinstance(metadata, (Mapping, type(None))):
        raise ValueError("the metadata of a field is not a map")
    return StructField(wire["name"], data_type, _is_true(wire, "nullable"), metadata or {})


def _is_true(wire: Mapping[str, Any], key: str) -> bool:
    """Return a value that must be true or false; true if it is missing."""
    value = wire.get(key)
    if value is None:
        return True
    if not isinstance(value, bool):
        raise ValueError(f"{key} is neither true nor false")
    return value


@dataclass(frozen=True)
class Column:
    """A place in a schema.

    :param parts: names from the top-level column down, in the schema's own spelling
    :param data_type: type at that place
    :param field: nearest struct field, which holds the metadata
    :param field_path: steps from ``field`` down to the place, empty if it is the field itself; the ``fieldPath`` of
        ``delta.typeChanges``
    :param kinds: ``field``, ``element``, ``key`` or ``value`` for each part
    """

    parts: tuple[str, ...]
    data_type: DataType
    field: StructField
    field_path: tuple[str, ...]
    kinds: tuple[str, ...]

    def __str__(self) -> str:
        return path_text(self.parts)


class UnknownColumnError(LookupError):
    """A path that matches no column, or more than one."""


class AmbiguousColumnError(UnknownColumnError):
    """A path that names several columns of a schema."""


def path_text(parts: Iterable[str]) -> str:
    """Return a path as a string, with backticks around the parts that need them."""
    return ".".join(part if _is_plain(part) else quote(part) for part in parts)


def parse_path(text: str) -> tuple[str, ...]:
    """Split a dotted path; parts in backticks are taken literally.

    :raises UnknownColumnError: if a part is empty or a backtick is misplaced
    """
    try:
        return split_name(text)
    except SqlNameError:
        raise UnknownColumnError(
            f"{text!r} is not a column path. Separate nested names by dots, and put a name that itself "
            "holds a dot or a backtick between backticks, a backtick in it doubled."
        ) from None


def lowered(parts: Iterable[str]) -> tuple[str, ...]:
    """Return a form of the path that is equal for two paths to the same column.

    Use it to find a column. It follows Spark's name resolution: ``ß`` and ``ss`` differ, and one struct may have both.
    """
    return tuple(part.lower() for part in parts)


def folded(parts: Iterable[str]) -> tuple[str, ...]:
    """Return a form of the path that is equal if any engine might confuse two paths.

    Use it to choose a name that nothing else has or refers to. Unicode's case folding makes ``ß`` and ``ss`` equal.
    More names are equal than necessary, so a name is avoided rather than shared.
    """
    return tuple(part.casefold() for part in parts)


def all_columns(schema: StructType) -> Iterator[Column]:
    """Yield every place of the schema, parents before children, in the schema's order."""
    for field in schema.fields:
        yield from _descend(Column((field.name,), field.data_type, field, (), ("field",)))


def _descend(column: Column) -> Iterator[Column]:
    yield column
    for child in children(column):
        yield from _descend(child)


def children(column: Column) -> Iterator[Column]:
    """Yield the places directly below ``column``."""
    data_type = column.data_type
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            yield Column((*column.parts, field.name), field.data_type, field, (), (*column.kinds, "field"))
        return
    steps: dict[str, DataType] = {}
    if isinstance(data_type, ArrayType):
        steps = {"element": data_type.element}
    elif isinstance(data_type, MapType):
        steps = {"key": data_type.key, "value": data_type.value}
    for step, step_type in steps.items():
        yield Column((*column.parts, step), step_type, column.field, (*column.field_path, step), (*column.kinds, step))


def find_column(schema: StructType, path: str) -> Column:
    """Return the column that ``path`` names, as :func:`columns_named` reads it.

    :raises UnknownColumnError: if no column matches (the message suggests similar names), or more than one
    """
    found = columns_named(schema, path)
    if len(found) == 1:
        return found[0]
    if found:
        both = " or ".join(".".join(quote(part) for part in column.parts) for column in found)
        raise AmbiguousColumnError(f"{path!r} is ambiguous: write {both}.")
    known = [str(column) for column in all_columns(schema)]
    raise UnknownColumnError(
        f"There is no column {path!r}.{did_you_mean(path, known)} The table has {listed(known, 20)}."
    )


def columns_named(schema: StructType, path: str) -> list[Column]:
    """Return the columns that ``path`` can name, ignoring case, as Spark does by default.

    A top-level name that equals the whole string needs no quotes, unless the string also names a nested field. A path
    with backticks is never read that way, so ``str(column)`` finds its column.

    :raises UnknownColumnError: if it is not a path, and no top-level name either
    """
    unquoted = [column for column in schema.places.get(lowered((path,)), ()) if column.parts == (path,)]
    try:
        parts = parse_path(path)
    except UnknownColumnError:
        if not unquoted:
            raise
        return unquoted[:1]
    same = schema.places.get(lowered(parts), [])
    found = [column for column in same if column.parts == parts] or list(same)
    if "`" not in path:
        found += [column for column in unquoted if column not in found]
    return found


def _is_plain(name: str) -> bool:
    return bool(name) and "." not in name and "`" not in name
