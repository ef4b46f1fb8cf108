"""Edits of a schema string that keep the spelling of everything unchanged; its column mapping."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import ID, NESTED_IDS, PHYSICAL_NAME
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID
from airflow_delta_provider.domain.formats.json_values import parse_json


@dataclass(frozen=True)
class SchemaText:
    """A schema as JSON, to be changed in place and written again.

    :param schema: JSON of the struct, as in the log
    """

    schema: dict[str, Any]
    _mark: str

    @classmethod
    def read(cls, text: str) -> SchemaText:
        """Read a schema string.

        :raises BrokenLogError: if it is not a struct, or an object in it has a duplicate key
        """
        mark = uuid.uuid4().hex
        try:
            parse_json(text, unique=True)
            schema = json.loads(text, parse_float=lambda number: f"{mark}{number}")
        except ValueError as error:
            raise BrokenLogError(f"the schema in the metaData action is damaged: {error}") from error
        if not isinstance(schema, dict) or schema.get("type") != "struct":
            raise BrokenLogError("the schema in the metaData action is not a struct")
        return cls(schema, mark)

    def write(self) -> str:
        text = json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))
        return re.sub(f'"{self._mark}([^"]*)"', r"\1", text)


_BELOW = ("elementType", "keyType", "valueType")


def map_by_name(schema_string: str) -> tuple[str, dict[str, str]]:
    """Return a schema with column mapping by name, and the properties to set.

    Each column gets the next id. Its physical name is its own name, as in its files.

    :raises BrokenLogError: if the schema is damaged
    """
    text = SchemaText.read(schema_string)
    numbers = count(1)
    highest = 0
    for field in _fields(text.schema):
        highest = next(numbers)
        field["metadata"] = {**(field.get("metadata") or {}), ID: highest, PHYSICAL_NAME: field["name"]}
    return text.write(), {COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: str(highest)}


def disable_in_schema(schema_string: str) -> tuple[str, tuple[str, ...]]:
    """Return a schema without its column mapping, and the properties to remove.

    The caller must prove that every column then still reads the same.

    :raises BrokenLogError: if the schema is damaged
    """
    text = SchemaText.read(schema_string)
    for field in _fields(text.schema):
        for key in (ID, PHYSICAL_NAME, NESTED_IDS):
            (field.get("metadata") or {}).pop(key, None)
    return text.write(), (COLUMN_MAPPING_MODE, MAX_COLUMN_ID)


def _fields(data_type: Any) -> Iterator[dict[str, Any]]:
    """Yield every struct field of a type's JSON, at any depth, parents first."""
    if not isinstance(data_type, dict):
        return
    for field in data_type.get("fields") or ():
        yield field
        yield from _fields(field["type"])
    for below in _BELOW:
        yield from _fields(data_type.get(below))
