"""Merging the defaults of a file with the keys of each table.

The table wins. Properties and constraints are joined with the shared ones, name by name. Lists of columns, features and
tables are also joined: shared entries follow the table's own, without entries that it contradicts. Any other value is
the table's, or else the shared one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from airflow_delta_provider.domain.delta.column import UnknownColumnError, lowered, parse_path
from airflow_delta_provider.domain.formats.yaml_text import Mark, MarkedDict, MarkedList, key_mark_of, mark_of
from airflow_delta_provider.domain.spec.problem import is_list, is_mapping


def with_defaults(own: Mapping[Any, Any], shared: Mapping[Any, Any]) -> MarkedDict:
    """Return a table's keys merged with the defaults, with the marks of both as far as they are known."""
    named = {*_names(own, "columns"), *_sources(own)}
    left_out: Mapping[str, set[Hashable]] = {
        "columns": {*named, *_names(own, "drop")},
        "drop": {*_names(own, "drop"), *named},
        "features": {*_names(own, "features"), *_names(own, "drop_features")},
        "drop_features": {*_names(own, "drop_features"), *_names(own, "features")},
        "after": _names(own, "after"),
    }
    joined = MarkedDict()
    _copy(joined, own, own)
    for key, value in shared.items():
        if key in left_out and is_list(value) and is_list(own.get(key, [])):
            name = _NAME_OF[key]
            kept = [index for index, item in enumerate(value) if name(item) not in left_out[key]]
            _put(joined, key, _appended(own.get(key, []), value, kept), own if key in own else shared)
        elif key in ("properties", "constraints") and is_mapping(value) and is_mapping(own.get(key, {})):
            held = MarkedDict()
            _copy(held, value, value)
            _copy(held, own.get(key, {}), own.get(key, {}))
            _put(joined, key, held, own if key in own else shared)
        elif key not in own:
            _put(joined, key, value, shared)
    return joined


def _copy(into: MarkedDict, values: Mapping[Any, Any], marked: Any) -> None:
    for key, value in values.items():
        _put(into, key, value, marked)


def _put(into: MarkedDict, key: Any, value: Any, marked: Any) -> None:
    """Put a value in, with the marks that another mapping has for the key."""
    into[key] = value
    for marks, mark in ((into.values_at, mark_of(marked, key)), (into.keys_at, key_mark_of(marked, key))):
        marks.pop(key, None)
        if mark is not None:
            marks[key] = mark


def _appended(own: Any, shared: Any, indexes: Iterable[int]) -> list[Any]:
    places = [(own, index) for index in range(len(own))] + [(shared, index) for index in indexes]
    marks: list[Mark | None] = [mark_of(container, index) for container, index in places]
    values = MarkedList([container[index] for container, index in places])
    values.items_at = [mark for mark in marks if mark is not None]
    return values if len(values.items_at) == len(values) else list(values)


def _names(given: Mapping[Any, Any], key: str) -> set[Hashable]:
    """Return the names that identify the items of a list."""
    return {_NAME_OF[key](item) for item in _listed(given, key)} - {None}


def _sources(given: Mapping[Any, Any]) -> set[Hashable]:
    """Return the names that columns are renamed from."""
    sources = [item.get("renamed_from") for item in _listed(given, "columns") if is_mapping(item)]
    return {lowered([name]) for name in sources if isinstance(name, str)}


def _listed(given: Mapping[Any, Any], key: str) -> Iterable[Any]:
    value = given.get(key)
    return value if is_list(value) and value is not None else ()


def _column(item: Any) -> Hashable:
    name = item.get("name") if is_mapping(item) else None
    return lowered([name]) if isinstance(name, str) else None


def _path(item: Any) -> Hashable:
    try:
        return lowered(parse_path(item)) if isinstance(item, str) else None
    except UnknownColumnError:
        return None


def _text(item: Any) -> Hashable:
    return item.casefold() if isinstance(item, str) else None


_NAME_OF: Mapping[str, Callable[[Any], Hashable]] = {
    "columns": _column,
    "drop": _path,
    "features": _text,
    "drop_features": _text,
    "after": _text,
}
