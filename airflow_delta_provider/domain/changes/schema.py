"""Changes of a schema's JSON: columns are added, dropped, renamed, cast and mapped; unknown keys stay as in the log.

Also the columns that a table once had, whose physical names and ids new columns must not get.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    Metadata,
    PhysicalPath,
    is_plain_name,
)
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, STATISTICS_COLUMNS
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.text import SqlNameError, split_name

Change = TypeVar("Change")
#: Edits a struct; also gets its physical path.
StructEdit = Callable[[Json, PhysicalPath], Json]
#: Edits the last struct field on the way to a column, or returns None to drop it; also gets the steps from there:
#: elements, keys or values.
FieldEdit = Callable[[Json, Parts], Json | None]

#: An edit with the whole path of its column, and the rest of that path from some place in the schema.
_PlacedEdit = tuple[Parts, Parts, FieldEdit]

#: JSON keys of the types within arrays and maps, by the step of a path that leads there.
TYPE_KEYS: Mapping[str, str] = {"element": "elementType", "key": "keyType", "value": "valueType"}
#: An entry of a list of columns. A comma in backticks does not separate entries.
_ENTRY = re.compile(r"(?:`(?:[^`]|``)*`|[^,`])+")
#: Columns of change data files in addition to the table's columns. PROTOCOL.md, Add CDC File.
CHANGE_DATA_NAMES = ("_change_type", "_commit_version", "_commit_timestamp")


def random_name() -> str:
    """Return a physical name that no column ever had."""
    return f"col-{uuid4()}"


@dataclass(frozen=True, kw_only=True)
class NewPhysicalNames:
    """The physical names that one commit assigns to the columns that it adds.

    RFC Column Mapping Usage Tracking, Writer Requirements for Column Mapping. If no column was ever dropped or renamed,
    a new column's physical name is its own name, unless data files may hold an old column's values under that name.

    :param with_uuid: True if every name gets a UUID, because this commit or an earlier one drops or renames a column
    :param taken: folded paths of all columns that exist or ever existed; new columns must avoid them
    :param new_name: function that makes a name with a UUID
    """

    with_uuid: bool
    taken: frozenset[PhysicalPath]
    new_name: Callable[[], str] = random_name

    def physical_name(self, name: str, parent: PhysicalPath) -> str:
        """Return the physical name of a new column.

        :param parent: physical path of its parent
        """
        if self.with_uuid or not is_plain_name(name) or folded((*parent, name)) in self.taken:
            return self.new_name()
        return name


def taken_paths(paths: Iterable[PhysicalPath], reserved: Iterable[str]) -> frozenset[PhysicalPath]:
    """Return the folded paths that no new column may have.

    :param paths: physical paths of all columns that exist or ever existed
    :param reserved: names of other top-level columns that writers use: partition columns, materialized row ids
    """
    return frozenset(map(folded, paths)) | {folded((name,)) for name in (*reserved, *CHANGE_DATA_NAMES)}


def edit_struct(schema: Any, path: Parts, edit: StructEdit) -> Json:
    """Apply an edit to the struct at a path, and return the changed schema.

    :param path: logical path of the struct; empty for the schema itself
    :raises LookupError: if no struct is there
    """

    def inside(type_json: Any, rest: Parts, physical: PhysicalPath) -> Json:
        if not isinstance(type_json, dict) or (not rest and type_json.get("type") != "struct"):
            raise LookupError(f"there is no struct at {'.'.join(path)!r}")
        if not rest:
            return edit(type_json, physical)
        step = rest[0]
        if type_json["type"] != "struct":
            key = _type_key(type_json, step, path)
            return {**type_json, key: inside(type_json[key], rest[1:], (*physical, step))}

        def inside_field(field: Json) -> Json:
            name: str = (field.get("metadata") or {}).get(PHYSICAL_NAME) or field["name"]
            return {**field, "type": inside(field["type"], rest[1:], (*physical, name))}

        return edit_field(type_json, step, inside_field)

    return inside(schema, path, ())


def _type_key(type_json: Json, step: str, path: Parts) -> str:
    """Return the JSON key of the type that a step of a path leads to, in an array or map.

    :raises LookupError: if it leads nowhere; the message has the whole path
    """
    key = TYPE_KEYS.get(step)
    if key is None or key not in type_json:
        raise LookupError(f"there is no column {'.'.join(path)!r}: {type_json['type']} has no {step!r}")
    return key


def edit_field(struct: Json, name: str, edit: Callable[[Json], Json]) -> Json:
    """Apply an edit to a field of a struct, and return the changed struct.

    :raises LookupError: if there is no such field
    """
    wanted = field_of(struct, name)
    return {**struct, "fields": [edit(field) if field is wanted else field for field in struct["fields"]]}


def field_of(struct: Json, name: str) -> Json:
    """Return the field with a name: in the same case if there is one, otherwise in any case.

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

    def assign(self, name: str, parent: PhysicalPath) -> Json:
        """Assign the next id and a physical name to a column, and return them as its metadata.

        :param parent: physical path of its parent
        """
        self.max_column_id += 1
        return {ID: self.max_column_id, PHYSICAL_NAME: self._naming.physical_name(name, parent)}


def drop_columns(schema: Json, columns: Iterable[Parts]) -> Json:
    """Return the schema without some columns.

    :raises LookupError: if one does not exist
    """
    return _edit_fields(schema, [(parts, parts, lambda *_: None) for parts in columns])


def rename_columns(schema: Json, renames: Iterable[ColumnName]) -> Json:
    """Return the schema with columns renamed; they keep their ids, physical names and positions.

    :param renames: renames, with paths before any of them
    :raises LookupError: if a column does not exist
    """
    return _edit_fields(schema, [(each.parts, each.parts, partial(_with_name, each.new)) for each in renames])


def _with_name(name: str, field: Json, _: Parts) -> Json:
    return {**field, "name": name}


def add_column(schema: Json, add: NewColumn, mapper: Mapper | None = None) -> Json:
    """Return the schema with a column added at the end of its struct."""

    def append(struct: Json, physical: PhysicalPath) -> Json:
        new = _new_field(mapper, StructField(add.parts[-1], add.data_type), physical)
        return {**struct, "fields": [*struct["fields"], new]}

    return edit_struct(schema, add.parts[:-1], append)


def statistics_columns_after(listed: str, drops: Iterable[Parts], renames: Iterable[ColumnName]) -> str:
    """Return ``delta.dataSkippingStatsColumns`` after drops or renames, as Delta Spark writes it.

    :param listed: value before the change
    :param drops: paths before the change
    :param renames: renames, with paths before any of them
    """
    dropped = [lowered(parts) for parts in drops]
    names = {lowered(rename.parts): rename.new for rename in renames}
    after = []
    for entry in _ENTRY.findall(listed):
        try:
            parts = split_name(entry.strip())
        except SqlNameError:
            after.append(entry)
            continue
        prefixes = [lowered(parts[: length + 1]) for length in range(len(parts))]
        if any(prefix in dropped for prefix in prefixes):
            continue
        new = tuple(names.get(prefix, part) for prefix, part in zip(prefixes, parts))
        after.append(entry if new == parts else path_text(new))
    return ",".join(after)


def edit_schema(metadata: Json, edit: Callable[[Json, Change], Json], changes: Iterable[Change]) -> Json:
    """Return a metaData action whose schema has all changes.

    :param edit: returns a schema with one more change
    """
    text = SchemaText.parse(metadata["schemaString"])
    schema = reduce(edit, changes, text.schema)
    return {**metadata, "schemaString": dataclasses.replace(text, schema=schema).write()}


def edit_columns(metadata: Json, edits: Iterable[tuple[Parts, FieldEdit]]) -> Json:
    """Return a metaData action after edits of columns, each with the column's path."""
    whole = [(parts, parts, edit) for parts, edit in edits]
    return edit_schema(metadata, _edit_fields, [whole])


def update_statistics_columns(metadata: Json, drops: Iterable[Parts] = (), renames: Iterable[ColumnName] = ()) -> Json:
    """Return a metaData action with an updated list of columns with statistics, as Delta Spark's ALTER TABLE does."""
    configuration = metadata.get("configuration") or {}
    listed = configuration.get(STATISTICS_COLUMNS)
    if not isinstance(listed, str):
        return metadata
    after = statistics_columns_after(listed, drops, renames)
    return {**metadata, "configuration": {**configuration, STATISTICS_COLUMNS: after}}


def _edit_fields(type_json: Any, edits: Sequence[_PlacedEdit]) -> Json:
    """Apply edits to the struct fields of a type in one pass, and return the changed type.

    :param edits: edits with the whole paths of their columns, and the paths from the type to them
    :raises LookupError: if a path leads nowhere
    """
    if not isinstance(type_json, dict):
        raise LookupError(f"there is no column {'.'.join(edits[0][0])!r}")
    below: dict[Any, list[_PlacedEdit]] = {}
    if type_json["type"] != "struct":
        for path, rest, edit in edits:
            below.setdefault(_type_key(type_json, rest[0], path), []).append((path, rest[1:], edit))
        return {**type_json, **{key: _edit_fields(type_json[key], inner) for key, inner in below.items()}}
    named = {field["name"]: field for field in reversed(type_json["fields"])}
    for path, rest, edit in edits:
        field = named.get(rest[0]) or field_of(type_json, rest[0])
        below.setdefault(id(field), []).append((path, rest[1:], edit))
    fields = (_edited(field, below.get(id(field), ())) for field in type_json["fields"])
    return {**type_json, "fields": [field for field in fields if field is not None]}


def _edited(field: Json, edits: Sequence[_PlacedEdit]) -> Json | None:
    """Apply edits of a field, after the edits of fields within it."""
    inner = [edit for edit in edits if _leads_to_field(field["type"], edit[1])]
    changed: Json | None = {**field, "type": _edit_fields(field["type"], inner)} if inner else field
    for path, rest, edit in edits:
        if changed is None:
            raise LookupError(f"there is no column {'.'.join(path)!r}")
        if not inner or not _leads_to_field(field["type"], rest):
            changed = edit(changed, rest)
    return changed


def _leads_to_field(type_json: Any, rest: Parts) -> bool:
    """Return True if a path names a field of a struct within a type, or nothing."""
    for part in rest:
        key = TYPE_KEYS.get(part)
        if not isinstance(type_json, dict) or type_json["type"] == "struct" or key not in type_json:
            return True
        type_json = type_json[key]
    return False


def cast_field(new_type: str, field: Json, rest: Parts) -> Json:
    """Return a field with a new type for itself, or for an element, key or value within it.

    :param new_type: type in SQL
    :param rest: steps from the field to that element, key or value; empty for the field itself
    """
    return {**field, "type": _replace_type(field["type"], rest, str(parse_sql_type(new_type)))}


def _replace_type(type_json: Any, rest: Parts, name: str) -> Any:
    if not rest:
        return name
    key = TYPE_KEYS[rest[0]]
    return {**type_json, key: _replace_type(type_json[key], rest[1:], name)}


def _new_field(mapper: Mapper | None, field: StructField, parent: PhysicalPath) -> Json:
    metadata = mapper.assign(field.name, parent) if mapper else {}
    path = (*parent, metadata.get(PHYSICAL_NAME, field.name))
    data_type = type_to_json(field.data_type, partial(_new_field, mapper), path)
    return {"name": field.name, "type": data_type, "nullable": True, "metadata": metadata}


@dataclass(frozen=True)
class PastColumns:
    """Every column that a table had while it had column mapping, including dropped ones.

    Other modules collect other columns: ``KeptLog.stored_paths`` those that data files may hold, also without column
    mapping, and ``dropped_columns`` the logical names that were dropped lately.

    :param paths: physical paths of the columns
    :param ids: for each lower-case logical path, the ids of the columns that it referred to since column mapping was
        last enabled, oldest first
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
                schema = metadata.mapped_schema
            except BrokenLogError as error:
                why_incomplete = why_incomplete or str(error)
                continue
            if not schema.is_mapped:
                ids.clear()  # ids start again if column mapping is enabled again, but files keep the physical names
                continue
            for column in schema.fields:
                if column.path is not None:
                    paths.add(column.path)
                parts = lowered(column.column.parts)
                earlier = ids.get(parts, ())
                if column.id is not None and earlier[-1:] != (column.id,):
                    ids[parts] = (*earlier, column.id)
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
    """A schema string as JSON that can be edited and written again, with all numbers spelled as before.

    Python would write some floats differently, so they are strings with a random mark until the schema is written.

    :param schema: JSON of the struct
    """

    schema: dict[str, Any]
    _mark: str

    @classmethod
    def read(cls, text: str) -> SchemaText:
        """Read and check a schema string.

        :raises BrokenLogError: if it is not a struct, or an object in it has a duplicate key
        """
        try:
            parse_json(text, unique=True)
            read = cls.parse(text)
        except ValueError as error:
            raise BrokenLogError(f"the schema in the metaData action is damaged: {error}") from error
        if not isinstance(read.schema, dict) or read.schema.get("type") != "struct":
            raise BrokenLogError("the schema in the metaData action is not a struct")
        return read

    @classmethod
    def parse(cls, text: str) -> SchemaText:
        """Read a schema string that was checked before.

        :raises ValueError: if it is not JSON
        """
        mark = uuid4().hex
        return cls(json.loads(text, parse_float=lambda number: f"{mark}{number}"), mark)

    def write(self) -> str:
        """Return the schema string."""
        text = json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))
        return re.sub(f'"{self._mark}([^"]*)"', r"\1", text)


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


def remove_mapping(schema_string: str) -> tuple[str, tuple[str, ...]]:
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
    for key in TYPE_KEYS.values():
        yield from _fields(data_type.get(key))
