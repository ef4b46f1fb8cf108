"""A schema, as JSON, after its columns were changed; everything else stays as it is in the log."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from airflow_delta_provider.domain.changes.alter_columns.naming import Naming
from airflow_delta_provider.domain.changes.step import Alteration, ColumnName, NewColumn, Parts
from airflow_delta_provider.domain.delta.data_type import StructField, type_to_json
from airflow_delta_provider.domain.delta.mapped_schema import ID, PHYSICAL_NAME, PhysicalPath

Json = dict[str, Any]

_BELOW = {"element": "elementType", "key": "keyType", "value": "valueType"}


class Mapper:
    """Assigns ids and physical names to new columns, parents before children.

    :param max_column_id: the highest id ever assigned; grows
    """

    def __init__(self, naming: Naming, max_column_id: int) -> None:
        self._naming = naming
        self.max_column_id = max_column_id

    def metadata(self, name: str, above: PhysicalPath) -> Json:
        """Return the metadata of a new column.

        :param above: physical path of its parent
        """
        self.max_column_id += 1
        return {ID: self.max_column_id, PHYSICAL_NAME: self._naming.physical_name(name, above)}


def altered(schema: Json, alteration: Alteration, mapper: Mapper | None = None) -> Json:
    """Return the schema after the change; ``schema`` itself is not modified.

    :param mapper: for a table with column mapping
    :raises LookupError: if a path does not exist
    """
    for parts in alteration.drops:
        schema = dropped(schema, parts)
    for rename in alteration.renames:
        schema = renamed(schema, rename)
    for add in alteration.adds:
        schema = added(schema, add, mapper)
    return schema


def dropped(schema: Json, parts: Parts) -> Json:
    """Return the schema without the column at ``parts``."""

    def drop(fields: list[Json], _: PhysicalPath) -> list[Json]:
        return [field for field in fields if field is not _named(fields, parts[-1])]

    return _edited(schema, parts, drop)


def renamed(schema: Json, rename: ColumnName) -> Json:
    """Return the schema with a column renamed; it keeps its id, physical name and position."""

    def put(fields: list[Json], _: PhysicalPath) -> list[Json]:
        column = _named(fields, rename.parts[-1])
        return [{**field, "name": rename.new} if field is column else field for field in fields]

    return _edited(schema, rename.parts, put)


def added(schema: Json, add: NewColumn, mapper: Mapper | None = None) -> Json:
    """Return the schema with a column added at the end of its struct."""

    def append(fields: list[Json], above: PhysicalPath) -> list[Json]:
        return [*fields, _new_field(mapper, StructField(add.parts[-1], add.data_type), above)]

    return _edited(schema, add.parts, append)


def _edited(
    wire: Any, parts: Parts, edit: Callable[[list[Json], PhysicalPath], list[Json]], above: PhysicalPath = ()
) -> Json:
    """Return a type after ``edit`` of the list of fields that contains the last of ``parts``."""
    if not isinstance(wire, dict):
        raise LookupError(f"there is no {parts[0]!r} below {'.'.join(above)}")
    if wire["type"] != "struct":
        key = _BELOW[parts[0]]
        return {**wire, key: _edited(wire[key], parts[1:], edit, (*above, parts[0]))}
    fields = wire["fields"]
    if len(parts) == 1:
        return {**wire, "fields": edit(fields, above)}
    field = _named(fields, parts[0])
    below = (*above, (field.get("metadata") or {}).get(PHYSICAL_NAME, parts[0]))
    changed = {**field, "type": _edited(field["type"], parts[1:], edit, below)}
    return {**wire, "fields": [changed if other is field else other for other in fields]}


def _named(fields: list[Json], name: str) -> Json:
    for field in fields:
        if field["name"] == name:
            return field
    raise LookupError(f"there is no field {name!r}")


def _new_field(mapper: Mapper | None, field: StructField, above: PhysicalPath) -> Json:
    metadata = mapper.metadata(field.name, above) if mapper else {}
    path = (*above, metadata.get(PHYSICAL_NAME, field.name))
    data_type = type_to_json(field.data_type, partial(_new_field, mapper), path)
    return {"name": field.name, "type": data_type, "nullable": True, "metadata": metadata}
