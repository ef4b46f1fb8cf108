"""Renamed columns: a violation of a column stays the same one under the column's new name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from airflow_delta_provider.domain.audit.violation import Key
from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata


def called(key: Key, before: Metadata, after: Metadata) -> Key:
    """Return the key of a violation with the later name of its column.

    :param before: metadata at the time of the violation
    """
    code, path, column, subject = key
    if column is None or before.schema_string == after.schema_string:
        return key
    renamed = _renamed(before.schema_string, after.schema_string)
    above = next((name for name in _upwards(column) if name in renamed), None)
    return key if above is None else (code, path, renamed[above] + column[len(above) :], subject)


def _upwards(column: str) -> Iterator[str]:
    """Yield a column and the columns that may contain it; their names may contain dots."""
    yield column
    while "." in column:
        column = column.rpartition(".")[0]
        yield column


@lru_cache(maxsize=16)
def _renamed(before: str, after: str) -> Mapping[str, str]:
    """Return the new names of the columns that another schema has under another name, by old name."""
    old, new = (MappedSchema.readable(Metadata("", text)) for text in (before, after))
    if old is None or new is None:
        return {}
    pairs = ((field, _same(field, old, new)) for field in old.fields)
    return {
        str(was.column): str(now.column) for was, now in pairs if now is not None and str(now.column) != str(was.column)
    }


def _same(field: MappedField, old: MappedSchema, new: MappedSchema) -> MappedField | None:
    """Return the field of another schema with the same id or, if ids do not tell, with the same path in files."""
    if field.id in old.by_id and field.id in new.by_id:
        return new.by_id[field.id]
    return new.by_path.get(field.path) if field.path in old.by_path else None
