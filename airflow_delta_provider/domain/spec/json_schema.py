"""The JSON Schema of spec files, for editors, made from the keys.

Reading checks the rules that the schema cannot express.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from airflow_delta_provider.domain.spec.keys import (
    COLUMN_KEYS,
    FIELD_KEYS,
    FILE_KEYS,
    OWN_KEYS,
    TABLE_KEYS,
    TYPE_KEYS,
    VIEW_KEYS,
    Key,
)

#: Types that editors offer.
_EXAMPLES = (
    *("bigint", "int", "smallint", "tinyint", "double", "float", "decimal(12,2)", "boolean", "string", "binary"),
    *("date", "timestamp", "timestamp_ntz", "variant", "array<string>", "map<string,int>", "struct", "array<struct>"),
    "map<string,struct>",
)


def json_schema() -> dict[str, Any]:
    shared = {name: key for name, key in TABLE_KEYS.items() if name not in OWN_KEYS}
    several = {"anyOf": [{"required": [name]} for name in FILE_KEYS]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Declared state of Delta tables",
        "description": "Of one table, or of several with defaults.",
        "type": "object",
        "if": several,
        "then": _object(FILE_KEYS, required=("tables",)),
        "else": _object(TABLE_KEYS),
        "definitions": {
            "type": {"type": "string", "minLength": 1, "examples": list(_EXAMPLES)},
            "nested": _object(TYPE_KEYS, required=("type",)),
            "field": {**_object(FIELD_KEYS, required=("name",)), **_TYPED},
            "column": {**_object(COLUMN_KEYS, required=("name",)), **_TYPED},
            "view": _object(VIEW_KEYS, required=("name",)),
            "defaults": _object(shared),
            "table": _object(TABLE_KEYS, required=("table",)),
        },
    }


#: Keys that are only valid next to ``type``.
_TYPED: Mapping[str, Any] = {"dependencies": {name: ["type"] for name in TYPE_KEYS if name != "type"}}


def _object(keys: Mapping[str, Key], required: Collection[str] = ()) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _property(key) for name, key in keys.items()},
    }
    return {**schema, "required": list(required)} if required else schema


def _property(key: Key) -> dict[str, Any]:
    """Return the schema of a value.

    Keys next to a reference are ignored, so the reference is put in a list.
    """
    about = {"description": f"{key.about}."}
    return {**about, "allOf": [dict(key.schema)]} if "$ref" in key.schema else {**about, **key.schema}
