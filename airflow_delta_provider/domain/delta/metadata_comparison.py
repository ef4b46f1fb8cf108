"""Comparison of metadata from two files of a log. PROTOCOL.md, Change Metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.formats.json_values import parse_json

_FIELD_KEYS = frozenset({"name", "type", "nullable", "metadata"})
_TYPE_KEYS: Mapping[str, frozenset[str]] = {
    "struct": frozenset({"type", "fields"}),
    "array": frozenset({"type", "elementType", "containsNull"}),
    "map": frozenset({"type", "keyType", "valueType", "valueContainsNull"}),
}


def metadata_differences(ours: Metadata, theirs: Metadata) -> list[str]:
    """Return the names of the fields that differ between two metaData actions.

    Schemas are compared as JSON, ignoring blanks, the order of keys, and keys that PROTOCOL.md does not define.
    """
    fields = (
        ("id", ours.id == theirs.id),
        ("name", (ours.name or None) == (theirs.name or None)),
        ("description", (ours.description or None) == (theirs.description or None)),
        ("format", (ours.format_provider, ours.format_options) == (theirs.format_provider, theirs.format_options)),
        ("schemaString", same_schema(ours.schema_string, theirs.schema_string)),
        ("partitionColumns", ours.partition_columns == theirs.partition_columns),
        ("configuration", ours.configuration == theirs.configuration),
        ("createdTime", None in (ours.created_time, theirs.created_time) or ours.created_time == theirs.created_time),
    )
    return [field for field, same in fields if not same]


def same_schema(one: str, other: str) -> bool:
    """Return True if two schema strings are equal as JSON."""
    if one == other:
        return True
    try:
        return bool(_known_part(parse_json(one)) == _known_part(parse_json(other)))
    except ValueError:
        return False


def _known_part(wire: Any) -> Any:
    """Return a type or a field of a schema, reduced to keys that PROTOCOL.md defines."""
    if not isinstance(wire, dict):
        return wire
    kind = wire.get("type")
    known = _TYPE_KEYS.get(kind, _FIELD_KEYS) if isinstance(kind, str) else _FIELD_KEYS
    if "name" in wire:
        known = _FIELD_KEYS
    return {
        key: [_known_part(field) for field in value]
        if key == "fields" and isinstance(value, list)
        else value
        if key == "metadata"
        else _known_part(value)
        for key, value in wire.items()
        if key in known and not (key == "metadata" and not value)
    }
