"""A schema, as JSON, with changed columns. Everything else stays as it is in the log."""

from __future__ import annotations

import dataclasses
import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from itertools import count
from typing import Any, TypeVar
from uuid import uuid4

from airflow_delta_provider.domain.changes.step import ColumnName, Json, NewColumn, Parts
from airflow_delta_provider.domain.delta.data_type import StructField, folded, lowered, path_text, type_to_json
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import (
    ID,
    NESTED_IDS,
    PHYSICAL_NAME,
    MappedSchema,
    Metadata,
    PhysicalPath,
    is_plain_name,
)
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, STATISTICS_COLUMNS
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.text import SqlNameError, split_name

Change = TypeVar("Change")
#: Edits the nearest struct field of a path, given the rest of the path below it.
FieldEdit = Callable[[Json, Parts], Json]

#: JSON keys of the types within arrays and maps, by path step.
BELOW: Mapping[str, str] = {"element": "elementType", "key": "keyType", "value": "valueType"}
#: Columns of change data files in addition to the table's columns. PROTOCOL.md, Add CDC File.
CHANGE_DATA_NAMES = ("_change_type", "_commit_version", "_commit_timestamp")


def random_name() -> str:
    """Return a physical name that no column ever had."""
    return f"col-{uuid4()}"


@dataclass(frozen=True, kw_only=True)
class NewPhysicalNames:
    """The physical names that one commit assigns to the columns that it adds.

    RFC Column Mapping Usage Tracking, Writer Requirements for Column Mapping. If no column was ever dropped or renamed,
    a new column's physical name is its own name, unless files may have other values under that name.

    :param unique: True if every name gets a UUID, because this commit or an earlier one drops or renames a column
    :param taken: folded paths of all columns that exist or ever existed; new columns must avoid them
    :param new_name: function that makes a name with a UUID
    """

    unique: bool
    taken: frozenset[PhysicalPath]
    new_name: Callable[[], str] = random_name

    def physical_name(self, name: str, above: PhysicalPath) -> str:
        """Return the physical name of a new column.

        :param above: physical path of its parent
        """
        if self.unique or not is_plain_name(name) or folded((*above, name)) in self.taken:
            return self.new_name()
        return name


def taken_paths(paths: Iterable[PhysicalPath], reserved: Iterable[str]) -> frozenset[PhysicalPath]:
    """Return the folded paths that no new column may have.

    :param paths: physical paths of all columns that exist or ever existed
    :param reserved: names of other top-level columns that writers use: partition columns, materialized row ids
    """
    return frozenset(map(folded, paths)) | {folded((name,)) for name in (*reserved, *CHANGE_DATA_NAMES)}


def with_struct(wire: Any, path: Parts, edit: Callable[[Json, PhysicalPath], Json], above: PhysicalPath = ()) -> Json:
    """Return a type after ``edit`` of the struct at a path.

    ``edit`` also gets the struct's physical path.

    :param path: path from the type to the struct; empty for the type itself
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

    :raises LookupError: if there is no such field
    """
    wanted = field_of(struct, name)
    return {**struct, "fields": [edit(field) if field is wanted else field for field in struct["fields"]]}


def field_of(struct: Json, name: str) -> Json:
    """Return the field with a name, in the same case or else in any case.

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


class Mapper:
    """Assigns ids and physical names to new columns, parents before children.

    :param max_column_id: highest id ever assigned; it grows with each column
    """

    def __init__(self, naming: NewPhysicalNames, max_column_id: int) -> None:
        self._naming = naming
        self.max_column_id = max_column_id

    def metadata(self, name: str, above: PhysicalPath) -> Json:
        """Return the metadata of a new column.

        :param above: physical path of its parent
        """
        self.max_column_id += 1
        return {ID: self.max_column_id, PHYSICAL_NAME: self._naming.physical_name(name, above)}


def dropped(schema: Json, parts: Parts) -> Json:
    def drop(struct: Json, _: PhysicalPath) -> Json:
        gone = field_of(struct, parts[-1])
        return {**struct, "fields": [field for field in struct["fields"] if field is not gone]}

    return with_struct(schema, parts[:-1], drop)


def renamed(schema: Json, rename: ColumnName) -> Json:
    """Return the schema with a column renamed; it keeps its id, physical name and position."""

    def put(struct: Json, _: PhysicalPath) -> Json:
        return with_field(struct, rename.parts[-1], lambda field: {**field, "name": rename.new})

    return with_struct(schema, rename.parts[:-1], put)


def added(schema: Json, add: NewColumn, mapper: Mapper | None = None) -> Json:
    """Return the schema with a column added at the end of its struct."""

    def append(struct: Json, above: PhysicalPath) -> Json:
        new = _new_field(mapper, StructField(add.parts[-1], add.data_type), above)
        return {**struct, "fields": [*struct["fields"], new]}

    return with_struct(schema, add.parts[:-1], append)


def statistics_columns_after(listed: str, drops: Iterable[Parts], renames: Iterable[ColumnName]) -> str:
    """Return ``delta.dataSkippingStatsColumns`` after drops or renames, as Delta Spark writes it.

    :param listed: value before the change
    :param drops: paths before the change
    :param renames: renames, with paths before any of them
    """
    gone = [lowered(parts) for parts in drops]
    names = {lowered(rename.parts): rename.new for rename in renames}
    after = []
    for entry in _ENTRY.findall(listed):
        try:
            parts = split_name(entry.strip())
        except SqlNameError:
            after.append(entry)
            continue
        above = [lowered(parts[: length + 1]) for length in range(len(parts))]
        if any(path in gone for path in above):
            continue
        new = tuple(names.get(path, part) for path, part in zip(above, parts))
        after.append(entry if new == parts else path_text(new))
    return ",".join(after)


#: An entry of a list of columns. A comma in backticks does not separate entries.
_ENTRY = re.compile(r"(?:`(?:[^`]|``)*`|[^,`])+")


def with_schema(metadata: Json, edit: Callable[[Json, Change], Json], changes: Iterable[Change]) -> Json:
    schema = reduce(edit, changes, json.loads(metadata["schemaString"]))
    return {**metadata, "schemaString": json.dumps(schema, ensure_ascii=False, separators=(",", ":"))}


def with_fields(metadata: Json, edits: Iterable[tuple[Parts, FieldEdit]]) -> Json:
    return with_schema(metadata, lambda schema, edit: _at_field(schema, *edit), edits)


def with_statistics(metadata: Json, drops: Iterable[Parts] = (), renames: Iterable[ColumnName] = ()) -> Json:
    """Return the metadata with an updated list of columns with statistics.

    The update is the same as by the engine's ALTER TABLE.
    """
    configuration = metadata.get("configuration") or {}
    listed = configuration.get(STATISTICS_COLUMNS)
    if not isinstance(listed, str):
        return metadata
    after = statistics_columns_after(listed, drops, renames)
    return {**metadata, "configuration": {**configuration, STATISTICS_COLUMNS: after}}


def _at_field(schema: Json, parts: Parts, edit: FieldEdit) -> Json:
    """Return a schema after ``edit`` of the nearest struct field of a path.

    ``edit`` also gets the rest of the path below that field.
    """
    depth = _depth_of_field(schema, parts)

    def change(struct: Json, _: PhysicalPath) -> Json:
        return with_field(struct, parts[depth], lambda field: edit(field, parts[depth + 1 :]))

    return with_struct(schema, parts[:depth], change)


def _depth_of_field(schema: Any, parts: Parts) -> int:
    """Return the index of the last of ``parts`` that names a field of a struct."""
    found = 0
    for index, part in enumerate(parts):
        if not isinstance(schema, dict):
            raise LookupError(f"there is no column {'.'.join(parts)!r}")
        if schema["type"] == "struct":
            found = index
            schema = field_of(schema, part)["type"]
        else:
            schema = schema[BELOW[part]]
    return found


def cast_field(new: str, field: Json, below: Parts) -> Json:
    return {**field, "type": _with_type(field["type"], below, str(parse_sql_type(new)))}


def _with_type(wire: Any, below: Parts, name: str) -> Any:
    if not below:
        return name
    key = BELOW[below[0]]
    return {**wire, key: _with_type(wire[key], below[1:], name)}


def _new_field(mapper: Mapper | None, field: StructField, above: PhysicalPath) -> Json:
    metadata = mapper.metadata(field.name, above) if mapper else {}
    path = (*above, metadata.get(PHYSICAL_NAME, field.name))
    data_type = type_to_json(field.data_type, partial(_new_field, mapper), path)
    return {"name": field.name, "type": data_type, "nullable": True, "metadata": metadata}


@dataclass(frozen=True)
class PastColumns:
    """The columns of the mapped versions of a table, including dropped ones.

    :param paths: physical paths of the columns
    :param ids: ids of the columns that a path has referred to since the table was mapped, oldest first, by lower-case
        path
    :param ever_mapped: True if a version had column mapping
    :param ever_used: True if a version recorded that a column had been dropped or renamed
    :param why_incomplete: reason why some versions or files may be unknown; empty if all are known
    """

    paths: frozenset[PhysicalPath] = frozenset()
    ids: Mapping[Parts, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    ever_mapped: bool = False
    ever_used: bool = False
    why_incomplete: str = "its log was not read"

    @classmethod
    def of(cls, versions: Iterable[Metadata], why_incomplete: str = "") -> PastColumns:
        """Return the columns of some versions.

        :param versions: metadata of the versions, oldest first
        :param why_incomplete: reason why these may not be all versions of the table
        """
        paths: set[PhysicalPath] = set()
        ids: dict[Parts, tuple[int, ...]] = {}
        mapped = used = False
        for metadata in versions:
            mapped |= metadata.properties.is_mapped
            used |= metadata.properties.has_dropped_or_renamed
            try:
                schema = MappedSchema.of(metadata)
            except BrokenLogError as error:
                why_incomplete = str(error)
                continue
            if not schema.is_mapped:
                ids.clear()  # the next mapping starts over
                continue
            for column in schema.fields:
                if column.path is not None:
                    paths.add(column.path)
                parts = lowered(column.column.parts)
                known = ids.get(parts, ())
                if column.id is not None and known[-1:] != (column.id,):
                    ids[parts] = (*known, column.id)
        return cls(frozenset(paths), ids, mapped, used, why_incomplete)

    @property
    def is_complete(self) -> bool:
        """True if every version of the table is known."""
        return not self.why_incomplete

    @property
    def never_mapped(self) -> bool:
        """True if all versions are known and none had column mapping."""
        return self.is_complete and not self.ever_mapped

    def ids_at(self, parts: Parts) -> tuple[int, ...]:
        """Return the ids of the columns that ``parts`` has referred to, oldest first."""
        return self.ids.get(lowered(parts), ())


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
