"""Changes from one head of a table to a later one, as JSON for events: limited in size for any schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.delta.column_changes import ChangeKind, column_changes
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructType, sql_name
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.table_head import TableHead

#: Maximum number of listed columns and properties.
MOST_LISTED = 100
#: Maximum number of characters in a property's value, and in a type.
_MOST_CHARACTERS = 200


def head_changes(before: TableHead | None, after: TableHead, *, known: bool = True) -> dict[str, Any]:
    """Return the changes in ``protocol``, ``schema`` and ``properties``.

    :param before: earlier head; None if there was no table, or if it is unknown
    :param known: True if the earlier head is known; otherwise nothing is compared
    """
    if not known:
        before = after
    return {
        "protocol": {**_protocol(before, after), **({} if known else {"before": None})},
        "schema": {"compared": known, **_schema(before, after)},
        "properties": _properties({} if before is None else before.metadata.configuration, after),
    }


def _protocol(before: TableHead | None, after: TableHead) -> dict[str, Any]:
    had, has = frozenset[str]() if before is None else before.protocol.features, after.protocol.features
    return {
        "before": None if before is None else before.protocol.to_json(),
        "after": after.protocol.to_json(),
        "features_added": sorted(has - had),
        "features_removed": sorted(had - has),
    }


def _properties(was: Mapping[str, str], after: TableHead) -> dict[str, Any]:
    now = after.metadata.configuration
    put = {key: value[:_MOST_CHARACTERS] for key, value in now.items() if was.get(key) != value}
    return {
        "set": dict(list(put.items())[:MOST_LISTED]),
        "unset": sorted(was.keys() - now.keys())[:MOST_LISTED],
        "more": max(0, len(put) - MOST_LISTED),
    }


def _schema(before: TableHead | None, after: TableHead) -> dict[str, Any]:
    changes: list[dict[str, Any]] = []
    unreadable: dict[str, Any] = {}
    try:
        if before is not None:
            changes = list(_columns(MappedSchema.of(before.metadata), MappedSchema.of(after.metadata)))
        else:
            changes = [
                _added(field) for field in MappedSchema.of(after.metadata).fields if len(field.column.parts) == 1
            ]
    except (BrokenLogError, RecursionError):
        unreadable = {"compared": False}
    partitions = [None if head is None else list(head.metadata.partition_columns) for head in (before, after)]
    return {
        **unreadable,
        "columns": changes[:MOST_LISTED],
        "more": max(0, len(changes) - MOST_LISTED),
        "partitioned_by": {"before": partitions[0], "after": partitions[1]},
    }


def _columns(before: MappedSchema, after: MappedSchema) -> Iterator[dict[str, Any]]:
    """Yield changes of columns, matched by id if both schemas have ids, else by name."""
    for change in column_changes(before, after):
        if change.kind is ChangeKind.DROPPED:
            yield {"change": "dropped", "column": str(change.was.column), "type": _type(change.was)}
        elif change.now is not None:
            yield {"change": "renamed", "column": str(change.was.column), "to": str(change.now.column)}
    matched = _matching(before, after)
    new: list[tuple[str, ...]] = []
    for field in after.fields:
        parts = field.column.parts
        if any(parts[: len(above)] == above for above in new):
            continue
        was = matched(field)
        if was is None:
            new.append(parts)
            yield _added(field)
            continue
        if _shape(was.column.data_type) != _shape(field.column.data_type):
            yield {"change": "retyped", "column": str(field.column), "from": _type(was), "to": _type(field)}
        if was.column.field.nullable != field.column.field.nullable:
            yield {"change": "nullable" if field.column.field.nullable else "not null", "column": str(field.column)}
        if dict(was.column.field.metadata) != dict(field.column.field.metadata):
            keys = was.column.field.metadata.keys() | field.column.field.metadata.keys()
            changed = [k for k in keys if was.column.field.metadata.get(k) != field.column.field.metadata.get(k)]
            yield {"change": "metadata", "column": str(field.column), "keys": sorted(changed)}


def _matching(before: MappedSchema, after: MappedSchema) -> Callable[[MappedField], MappedField | None]:
    if before.is_mapped and after.is_mapped:
        return lambda field: None if field.id is None else before.by_id.get(field.id)
    by_name = {field.column.parts: field for field in before.fields}
    return lambda field: by_name.get(field.column.parts)


def _added(field: MappedField) -> dict[str, Any]:
    return {"change": "added", "column": str(field.column), "type": _type(field)}


def _type(field: MappedField) -> str:
    return sql_name(field.column.data_type)[:_MOST_CHARACTERS]


def _shape(data_type: DataType) -> str:
    """Return the type without the content of its structs, whose fields are compared separately."""
    if isinstance(data_type, StructType):
        return "struct"
    if isinstance(data_type, ArrayType):
        return f"array<{_shape(data_type.element)},{data_type.contains_null}>"
    if isinstance(data_type, MapType):
        return f"map<{_shape(data_type.key)},{_shape(data_type.value)},{data_type.value_contains_null}>"
    return str(data_type)
