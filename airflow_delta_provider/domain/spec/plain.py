"""Specs as plain values, in the order of keys that suits people: canonical, and read back to an equal spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.spec.declared_type import outline, structs_in
from airflow_delta_provider.domain.spec.table_spec import UNSAID, Array, ColumnSpec, Map, Path, Shape, TableSpec, View


def plain_of(spec: TableSpec) -> dict[str, Any]:
    """Return the keys of a table; those that say nothing are left out."""
    said: dict[str, Any] = {
        "table": spec.table,
        "table_id": spec.table_id,
        "like": spec.like,
        "after": list(spec.after),
    }
    plain = {key: value for key, value in said.items() if value}
    if spec.comment is not UNSAID:
        plain["comment"] = spec.comment
    plain |= {key: True for key in ("only_additive", "exact", "rewrite") if getattr(spec, key)}
    if spec.null_on_loss:
        plain["on_loss"] = "null"
    if spec.time_zone is not None:
        plain["time_zone"] = spec.time_zone
    if spec.columns:
        plain["columns"] = [_column(column) for column in spec.columns]
    plain |= _listed({"drop": spec.drop}, _paths)
    if spec.partition_by is not None:
        plain["partition_by"] = list(spec.partition_by)
    if spec.cluster_by is not None:
        plain["cluster_by"] = _paths(spec.cluster_by)
    if spec.views:
        plain["views"] = [_view(view) for view in spec.views]
    plain |= _listed({"features": spec.features, "drop_features": spec.drop_features}, list)
    plain |= _listed({"properties": spec.properties, "constraints": spec.constraints}, _sorted)
    return plain


def _view(view: View) -> dict[str, Any]:
    return {"name": view.name, **({} if view.columns is None else {"columns": _paths(view.columns)})}


def _column(column: ColumnSpec) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": column.name}
    if column.renamed_from is not UNSAID:
        plain["renamed_from"] = column.renamed_from
    if column.shape is not None:
        plain |= _type(column.shape)
    if column.nullable is not None:
        plain["nullable"] = column.nullable
    if column.default is not UNSAID:
        plain["default"] = column.default
    if column.generated is not None:
        plain["generated"] = column.generated
    if column.comment is not UNSAID:
        plain["comment"] = column.comment
    if column.rewrite:
        plain["rewrite"] = True
    if column.null_on_loss:
        plain["on_loss"] = "null"
    if "fields" in plain:  # last: they are long
        plain["fields"] = plain.pop("fields")
    return plain


def _type(shape: Shape) -> dict[str, Any]:
    """Return the keys of a type: of one with several structs, each part has keys of its own."""
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


def _paths(paths: tuple[Path, ...]) -> list[str]:
    return [path_text(path) for path in paths]


def _sorted(settings: Mapping[str, str | None]) -> dict[str, str | None]:
    return dict(sorted(settings.items()))


def _listed(said: Mapping[str, Any], plain: Callable[[Any], Any]) -> dict[str, Any]:
    return {key: plain(value) for key, value in said.items() if value}
