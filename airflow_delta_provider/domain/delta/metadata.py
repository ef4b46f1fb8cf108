"""The metaData action. PROTOCOL.md, Change Metadata."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.data_type import (
    VOID,
    ArrayType,
    Column,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    all_columns,
    children,
    missing_fields,
    type_from_json,
    type_to_json,
)
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX, MappingMode, TableProperties
from airflow_delta_provider.domain.formats.json_values import integer_or_none, map_of, parse_json, text_of, texts_of

COMMENT = "comment"
CURRENT_DEFAULT = "CURRENT_DEFAULT"
#: Key under which Spark records that a string is ``char(n)`` or ``varchar(n)``.
CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"


#: Required fields of a metaData action besides id and schemaString, which are empty if they are missing.
_REQUIRED = ("format", "partitionColumns", "configuration")
#: Field that engines treat differently.
PROVIDER = "format.provider"
OPTIONS = "format.options"
#: Optional fields that must be strings.
_OPTIONAL_TEXTS = ("name", "description")


@dataclass(frozen=True)
class Metadata:
    """A metaData action.

    :param schema_string: schema string as in the log
    :param configuration: properties with values as strings; see ``not_texts``
    :param created_time: milliseconds since 1970, UTC
    :param not_texts: keys of the configuration whose values are not strings in the log
    :param missing: required fields that the log does not have
    :param not_text_fields: name or description, if it is not a string in the log
    """

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = dataclasses.field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    format_provider: str = "parquet"
    format_options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    created_time: int | None = dataclasses.field(default=None, compare=False)
    not_texts: tuple[str, ...] = ()
    missing: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    not_text_fields: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Metadata:
        """Read the action's JSON.

        :raises ValueError: if a value is not of its type
        """
        configuration = dict(map_of(wire, "configuration"))
        not_texts = tuple(key for key, value in configuration.items() if not isinstance(value, str))
        file_format = map_of(wire, "format")
        provider = file_format.get("provider")
        return cls(
            _text_or_nothing(wire, "id"),
            _text_or_nothing(wire, "schemaString"),
            texts_of(wire, "partitionColumns") or (),
            configuration | {key: json.dumps(configuration[key]) for key in not_texts},
            wire.get("name"),
            wire.get("description"),
            "parquet" if provider is None else str(provider),
            dict(map_of(file_format, "options")),
            integer_or_none(wire, "createdTime"),
            not_texts,
            tuple(_missing(wire)),
            tuple(key for key in _OPTIONAL_TEXTS if not isinstance(wire.get(key), (str, type(None)))),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the action's JSON."""
        configuration: dict[str, Any] = dict(self.configuration)
        wire: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "format": {
                **({} if PROVIDER in self.missing else {"provider": self.format_provider}),
                **({} if OPTIONS in self.missing else {"options": dict(self.format_options)}),
            },
            "schemaString": self.schema_string,
            "partitionColumns": list(self.partition_columns),
            "configuration": configuration | {key: json.loads(configuration[key]) for key in self.not_texts},
            "createdTime": self.created_time,
        }
        return {key: value for key, value in wire.items() if value is not None and key not in self.missing}

    @cached_property
    def schema(self) -> StructType:
        """The schema.

        :raises BrokenLogError: if the schema string is not a struct
        """
        try:
            schema = type_from_json(self._schema_json)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BrokenLogError(f"the schema in the metaData action is damaged: {error!r}") from error
        if not isinstance(schema, StructType):
            raise BrokenLogError("the schema in the metaData action is not a struct")
        return schema

    @cached_property
    def _schema_json(self) -> Any:
        return parse_json(self.schema_string)

    @property
    def missing_in_schema(self) -> list[tuple[tuple[str, ...], str]]:
        """Path of each column that lacks a required field in a schema that is still readable, and the field."""
        return [] if self.readable_columns is None else list(missing_fields(self._schema_json))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every place of the schema, parents before children.

        :raises BrokenLogError: if the schema string is not a struct
        """
        return tuple(all_columns(self.schema))

    @cached_property
    def readable_columns(self) -> tuple[Column, ...] | None:
        """Every place of the schema; None if the schema cannot be read."""
        try:
            columns = self.columns
        except (BrokenLogError, RecursionError):
            return None
        fields = (column.field for column in columns)
        sound = all(isinstance(field.name, str) and isinstance(field.metadata, Mapping) for field in fields)
        return columns if sound else None

    def column_texts(self, key: str) -> tuple[tuple[Column, str], ...]:
        """Return the columns and fields with a string, such as an expression, under a metadata key; and the string."""
        found = self._column_texts.get(key)
        if found is None:
            places = [column for column in self.columns if not column.field_path]
            texts = ((column, column.field.metadata.get(key)) for column in places)
            found = tuple((column, text) for column, text in texts if isinstance(text, str) and text)
            self._column_texts[key] = found
        return found

    @cached_property
    def _column_texts(self) -> dict[str, tuple[tuple[Column, str], ...]]:
        return {}

    @cached_property
    def void_without_file(self) -> str | None:
        """A column that data files cannot have because it contains only void.

        Empty for the whole table; None if there is none. Such a column is an array or map with void in it, or a struct
        with nothing but void.
        """
        if not self.readable_columns or not _VOID.search(self.schema_string):
            return None
        for column in self.readable_columns:
            inside = column.data_type in _VOIDS and set(column.kinds) != {"field"}
            if inside or (isinstance(column.data_type, StructType) and _is_all_void(column.data_type)):
                return str(column)
        return "" if _is_all_void(self.schema) else None

    @cached_property
    def mapped_schema(self) -> MappedSchema:
        """The schema with its mapping. Ids and physical names that remain in mode none are included.

        :raises BrokenLogError: if the schema string is not a struct
        """
        fields: list[MappedField] = []
        for field in self.schema.fields:
            fields += _mapped(Column((field.name,), field.data_type, field, (), ("field",)), ())
        return MappedSchema(self.properties.mapping_mode, tuple(fields), self.properties.max_column_id)

    @property
    def readable_mapped_schema(self) -> MappedSchema | None:
        """The schema with its mapping; None if the schema cannot be read."""
        try:
            return self.mapped_schema
        except BrokenLogError:
            return None

    @cached_property
    def properties(self) -> TableProperties:
        """The properties that have a meaning in Delta, parsed."""
        return TableProperties.parse(self.configuration)

    @property
    def check_constraints(self) -> dict[str, str]:
        """CHECK constraints: expression by name."""
        return {
            key[len(CONSTRAINT_PREFIX) :]: value
            for key, value in self.configuration.items()
            if key.startswith(CONSTRAINT_PREFIX)
        }


_VOID = re.compile(r'"(?:void|null)"')
#: The spelling of Delta, and of old versions of Spark.
_VOIDS = (VOID, PrimitiveType("null"))


def _is_all_void(struct: StructType) -> bool:
    return bool(struct.fields) and all(field.data_type in _VOIDS for field in struct.fields)


def _missing(wire: Mapping[str, Any]) -> Iterator[str]:
    yield from (key for key in _REQUIRED if wire.get(key) is None)
    if wire.get("format") is not None:
        yield from (key for key in (PROVIDER, OPTIONS) if wire["format"].get(key.partition(".")[2]) is None)


def _text_or_nothing(wire: Mapping[str, Any], key: str) -> str:
    return "" if wire.get(key) is None else text_of(wire, key)


_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"
#: Metadata key from which Spark's Parquet reader takes the id of a field.
_PARQUET_FIELD_ID = "parquet.field.id"
#: Characters that Parquet writers refuse in names.
_REFUSED_BY_PARQUET = frozenset(" ,;{}()\n\t=")


def is_plain_name(name: str) -> bool:
    """Return True if data files can have a column of this name.

    Without column mapping, the table uses the same name.
    """
    return _REFUSED_BY_PARQUET.isdisjoint(name)


def physical_name(field: StructField, mode: MappingMode) -> str:
    if mode is MappingMode.NONE:
        return field.name
    return str(field.metadata.get(_PHYSICAL_NAME, field.name))


def physical_parts(column: Column, schema: StructType, mode: MappingMode) -> tuple[str, ...]:
    parts: list[str] = []
    here: DataType = schema
    for part, kind in zip(column.parts, column.kinds):
        if isinstance(here, StructType) and kind == "field":
            field = here.by_name[part]
            parts.append(physical_name(field, mode))
            here = field.data_type
        else:
            parts.append(part)
            if isinstance(here, ArrayType):
                here = here.element
            elif isinstance(here, MapType):
                here = here.key if kind == "key" else here.value
    return tuple(parts)


def file_schema(metadata: Metadata, columns: frozenset[str]) -> dict[str, Any]:
    """Return the schema, as JSON for Spark, of top-level ``columns`` in data files.

    Every field is nullable, because files older than a column lack it. Fields have their ids in mode id.
    """
    mode = metadata.properties.mapping_mode
    fields = tuple(field for field in metadata.schema.fields if field.name in columns)
    json = type_to_json(StructType(fields), partial(_field_json, mode))
    assert isinstance(json, dict)
    return json


def _field_json(mode: MappingMode, field: StructField, path: tuple[str, ...]) -> dict[str, Any]:
    del path
    by_id = mode is MappingMode.ID and _ID in field.metadata
    return {
        "name": physical_name(field, mode),
        "type": type_to_json(field.data_type, partial(_field_json, mode)),
        "nullable": True,
        "metadata": {_PARQUET_FIELD_ID: field.metadata[_ID]} if by_id else {},
    }


ID = "delta.columnMapping.id"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
NESTED_IDS = "delta.columnMapping.nested.ids"

#: Path from the schema's root: physical names, and ``element``, ``key``, ``value`` in between.
PhysicalPath = tuple[str, ...]


class MappedField(NamedTuple):
    """A struct field.

    :param id: column mapping id; None if it is missing or not a 32-bit integer
    :param name: physical name; None if it is missing or not a string
    :param path: physical field path; None if a name on the way is missing
    :param nested_ids: ids of elements, keys and values below it, as Iceberg compatibility assigns them
    """

    column: Column
    id: int | None
    name: str | None
    path: PhysicalPath | None
    nested_ids: Mapping[str, Any]

    @property
    def ids(self) -> list[int]:
        """All ids that it uses, also for nested elements."""
        nested = [number for number in self.nested_ids.values() if is_id(number)]
        return nested if self.id is None else [self.id, *nested]

    @property
    def is_mapped(self) -> bool:
        """Return True if its metadata has any key of column mapping."""
        return any(key in field_metadata(self.column.field) for key in (ID, PHYSICAL_NAME, NESTED_IDS))


@dataclass(frozen=True)
class MappedSchema:
    """A schema with its mapping.

    :param fields: all struct fields at any depth, parents before children
    :param max_column_id: ``delta.columnMapping.maxColumnId``; None if it is missing or not an integer
    """

    mode: MappingMode
    fields: tuple[MappedField, ...]
    max_column_id: int | None

    @property
    def is_mapped(self) -> bool:
        """Return True if the mode is name or id."""
        return self.mode is not MappingMode.NONE

    @cached_property
    def ids(self) -> Counter[int]:
        """The number of uses of each id, by fields or by nested elements."""
        return Counter(number for field in self.fields for number in field.ids)

    @cached_property
    def dropped_count(self) -> int:
        """The number of ids that no column has any more: the maximum number of dropped columns."""
        highest = self.max_column_id or 0
        return highest - sum(1 for number in self.ids if 0 < number <= highest)

    @cached_property
    def by_id(self) -> dict[int, MappedField]:
        """Fields by id, without ids that are used twice."""
        return {field.id: field for field in self.fields if field.id is not None and self.ids[field.id] == 1}

    @cached_property
    def by_path(self) -> dict[PhysicalPath, MappedField]:
        """Fields by physical path, without paths that are used twice."""
        taken = Counter(field.path for field in self.fields)
        return {field.path: field for field in self.fields if field.path is not None and taken[field.path] == 1}

    @cached_property
    def _by_name(self) -> dict[tuple[str, ...], MappedField]:
        return {field.column.parts: field for field in self.fields}

    def place_of(self, field: MappedField) -> tuple[int | None, tuple[str, ...]]:
        """Return the id of the nearest field that encloses a field, and the way from there, such as ``key``.

        The id is None at the top, or if the enclosing field has none.
        """
        parts = field.column.parts
        for length in range(len(parts) - 1, 0, -1):
            if above := self._by_name.get(parts[:length]):
                return above.id, parts[length:-1]
        return None, ()


def is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31


def field_metadata(field: StructField) -> Mapping[str, Any]:
    """Return the field's metadata, empty if the log does not have a JSON object there."""
    return field.metadata if isinstance(field.metadata, Mapping) else {}


def _mapped(column: Column, above: PhysicalPath | None) -> Iterator[MappedField]:
    path: PhysicalPath | None
    if column.kinds[-1] == "field":
        metadata = field_metadata(column.field)
        number, name, nested = metadata.get(ID), metadata.get(PHYSICAL_NAME), metadata.get(NESTED_IDS)
        name = name if isinstance(name, str) and name else None
        path = None if above is None or name is None else (*above, name)
        yield MappedField(
            column, number if is_id(number) else None, name, path, nested if isinstance(nested, Mapping) else {}
        )
    else:
        path = None if above is None else (*above, column.kinds[-1])
    for child in children(column):
        yield from _mapped(child, path)


class ChangeKind(str, Enum):
    """A kind of change of a column."""

    DROPPED = "dropped"
    RENAMED = "renamed"


class ColumnChange(NamedTuple):
    """One column before and after a commit.

    :param now: column after the commit; None if it was dropped
    """

    kind: ChangeKind
    was: MappedField
    now: MappedField | None = None

    @property
    def text(self) -> str:
        """The change as a verb and its objects."""
        return f"drops {self.was.column}" if self.now is None else f"renames {self.was.column} to {self.now.column}"


def column_changes(before: MappedSchema, after: MappedSchema) -> Iterator[ColumnChange]:
    """Yield the changes of a commit to the columns that existed before it.

    If one of the schemas has no mapping, there are no ids to compare. A column then counts as dropped if its name is
    missing.
    """
    dropped_parts: list[tuple[str, ...]] = []
    by_id = before.is_mapped and after.is_mapped
    names = {field.column.parts for field in after.fields}
    for was in before.fields:
        if any(was.column.parts[: len(parts)] == parts for parts in dropped_parts):
            continue
        if not by_id:
            dropped, now = was.column.parts not in names, None
        elif was.id is None or was.id not in before.by_id:
            continue
        else:
            dropped, now = was.id not in after.ids, after.by_id.get(was.id)
        if dropped:
            dropped_parts.append(was.column.parts)
            yield ColumnChange(ChangeKind.DROPPED, was)
        elif now is not None and (
            now.column.field.name != was.column.field.name or after.place_of(now) != before.place_of(was)
        ):
            yield ColumnChange(ChangeKind.RENAMED, was, now)


def physical_paths(schema: MappedSchema) -> dict[PhysicalPath, MappedField]:
    """Return the fields of a schema by their paths in data files; without mapping, by their own names."""
    if not schema.is_mapped:
        return {field.column.parts: field for field in schema.fields}
    return {field.path: field for field in schema.fields if field.path is not None}
