"""The metaData action. PROTOCOL.md, Change Metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.delta.column import Column, all_columns
from airflow_delta_provider.domain.delta.data_type import (
    VOID,
    PrimitiveType,
    StructType,
    missing_fields,
    type_from_json,
)
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX, TableProperties
from airflow_delta_provider.domain.formats.json_values import integer_or_none, map_of, parse_json, text_of, texts_of

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
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    format_provider: str = "parquet"
    format_options: Mapping[str, str] = field(default_factory=dict)
    created_time: int | None = field(default=None, compare=False)
    not_texts: tuple[str, ...] = ()
    missing: tuple[str, ...] = field(default=(), compare=False)
    not_text_fields: tuple[str, ...] = field(default=(), compare=False)

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
    def readable_columns(self) -> tuple[Column, ...] | None:
        """Every place of the schema; None if the schema cannot be read."""
        try:
            columns = tuple(all_columns(self.schema))
        except (BrokenLogError, RecursionError):
            return None
        fields = (column.field for column in columns)
        sound = all(isinstance(field.name, str) and isinstance(field.metadata, Mapping) for field in fields)
        return columns if sound else None

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
