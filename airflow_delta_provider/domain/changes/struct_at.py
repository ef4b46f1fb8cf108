"""Structs of a schema, as JSON, by their paths: found, and replaced; what is around them stays as it is in the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_delta_provider.domain.changes.step import Parts
from airflow_delta_provider.domain.delta.mapped_schema import PHYSICAL_NAME, PhysicalPath

Json = dict[str, Any]

#: Where a type has the one in it, by the step of a path that leads there.
BELOW: Mapping[str, str] = {"element": "elementType", "key": "keyType", "value": "valueType"}


def with_struct(wire: Any, path: Parts, edit: Callable[[Json, PhysicalPath], Json], above: PhysicalPath = ()) -> Json:
    """Return a type after ``edit`` of the struct at a path, which also gets that in data files.

    :param path: from the type to the struct; empty for itself
    :raises LookupError: if no struct is there
    """
    if not isinstance(wire, dict) or (not path and wire.get("type") != "struct"):
        raise LookupError(f"there is no struct at {'.'.join((*above, *path))!r}")
    if not path:
        return edit(wire, above)
    if wire["type"] != "struct":
        key = BELOW[path[0]]
        return {**wire, key: with_struct(wire[key], path[1:], edit, (*above, path[0]))}

    def inside(field: Json) -> Json:
        name: str = field["name"]
        below = (*above, (field.get("metadata") or {}).get(PHYSICAL_NAME, name))
        return {**field, "type": with_struct(field["type"], path[1:], edit, below)}

    return with_field(wire, path[0], inside)


def with_field(struct: Json, name: str, edit: Callable[[Json], Json]) -> Json:
    """Return a struct after ``edit`` of one of its fields.

    :raises LookupError: if there is none
    """
    wanted = field_of(struct, name)
    return {**struct, "fields": [edit(field) if field is wanted else field for field in struct["fields"]]}


def field_of(struct: Json, name: str) -> Json:
    """Return the field of a name: in its own case, or else in any.

    :raises LookupError: if there is none
    """
    fields: list[Json] = struct["fields"]
    for field in fields:
        if field["name"] == name:
            return field
    for field in fields:
        if field["name"].lower() == name.lower():
            return field
    raise LookupError(f"there is no field {name!r}")
