"""Specs as plain values, with keys in a readable order, and as the text of a file to edit further."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.formats.yaml_output import comment, to_yaml
from airflow_delta_provider.domain.spec.declared_type import outline, structs_in
from airflow_delta_provider.domain.spec.table_spec import Array, ColumnSpec, Map, Path, Shape, TableSpec, View

_TABLE = """
    table table_id like after comment only_additive exact rewrite on_loss time_zone
    columns drop partition_by cluster_by views features drop_features properties constraints
""".split()
_COLUMN_AFTER_TYPE = "nullable default generated comment rewrite on_loss".split()
#: Default values, which declare nothing about a table or column.
_NOTHING = {TableSpec: TableSpec(), ColumnSpec: ColumnSpec(name="")}


def plain_of(spec: TableSpec) -> dict[str, Any]:
    """Return the keys of a table that differ from their defaults."""
    return dict(_said(spec, _TABLE))


def _said(spec: TableSpec | ColumnSpec, keys: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield the keys whose values differ from their defaults, with plain values."""
    for key in keys:
        attribute = "null_on_loss" if key == "on_loss" else key
        said = getattr(spec, attribute)
        if said != getattr(_NOTHING[type(spec)], attribute):
            yield key, _PLAIN[key](said) if key in _PLAIN else said


def _column(column: ColumnSpec) -> dict[str, Any]:
    plain = {"name": column.name, **dict(_said(column, ["renamed_from"]))}
    if column.shape is not None:
        plain |= _type(column.shape)
    plain |= _said(column, _COLUMN_AFTER_TYPE)
    if "fields" in plain:  # last: they are long
        plain["fields"] = plain.pop("fields")
    return plain


def _type(shape: Shape) -> dict[str, Any]:
    """Return the keys of a type. If it has several structs, each part has keys of its own."""
    structs = structs_in(shape)
    if len(structs) < 2:
        fields = [_column(field) for struct in structs for field in struct.fields]
        return {"type": outline(shape), **({"fields": fields} if fields else {})}
    if isinstance(shape, Array):
        return {"type": "array", "element": _part(shape.element)}
    assert isinstance(shape, Map)
    return {"type": "map", "key": _part(shape.key), "value": _part(shape.value)}


def _part(shape: Shape) -> Any:
    plain = _type(shape)
    return plain["type"] if len(plain) == 1 else plain


def _paths(paths: Iterable[Path]) -> list[str]:
    return [path_text(path) for path in paths]


def _view(view: View) -> dict[str, Any]:
    return {"name": view.name, **({} if view.columns is None else {"columns": _paths(view.columns)})}


def _sorted(settings: Mapping[str, str | None]) -> dict[str, str | None]:
    return dict(sorted(settings.items()))


#: Functions that turn values into plain ones.
_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "after": list,
    "on_loss": lambda _: "null",
    "columns": lambda columns: list(map(_column, columns)),
    "drop": _paths,
    "partition_by": list,
    "cluster_by": _paths,
    "views": lambda views: list(map(_view, views)),
    "features": list,
    "drop_features": list,
    "properties": _sorted,
    "constraints": _sorted,
}


@dataclass(frozen=True)
class Written:
    """A spec to be written.

    :param spec: plain values
    :param version: version of the table
    :param table_id: id of the table; empty if it has none
    :param left_out: sentences on properties of the table that the spec does not declare
    """

    spec: Mapping[str, Any]
    version: int | None = None
    table_id: str = ""
    left_out: Sequence[str] = ()


def file_text(tables: Sequence[Written], *, as_json: bool = False, head: bool = True) -> str:
    """Return the text of a file for one or several tables.

    :param as_json: True for JSON, which has no comments
    :param head: True to start YAML with comments
    """
    whole: dict[str, Any] = {"tables": [dict(each.spec) for each in tables]}
    if len(tables) == 1:
        whole = dict(tables[0].spec)
    if as_json:
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    return (comment("\n".join(_head(tables))) if head else "") + to_yaml(whole)


def _head(tables: Sequence[Written]) -> Iterable[str]:
    yield ("Anything that this file does not name stays as it is. Drop columns by listing them under drop, rename")
    yield "them by renamed_from: a column that is only removed from this file stays in the table."
    for each in tables:
        yield ""
        yield f"{each.spec.get('table', 'The table')}: as of version {each.version}"
        if each.table_id:
            yield f"  table_id: {each.table_id} would refuse another table in its place."
        yield from (f"  {sentence}" for sentence in each.left_out)
