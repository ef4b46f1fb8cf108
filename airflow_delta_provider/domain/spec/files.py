"""Spec files of one table, or of several tables with defaults, and all spec files of a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.data_type import UnknownColumnError, lowered, parse_path
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.formats.yaml_documents import (
    Mark,
    MarkedDict,
    MarkedList,
    YamlError,
    key_mark_of,
    mark_of,
    parse_yaml,
)
from airflow_delta_provider.domain.spec.columns import described, known_keys
from airflow_delta_provider.domain.spec.problem import (
    FILE_KEYS,
    Problem,
    Problems,
    SpecError,
    SpecValue,
    is_list,
    is_mapping,
)
from airflow_delta_provider.domain.spec.reading import spec_of
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.table_name import named_place


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


_JSON = ".json"
#: Suffixes of spec files.
SUFFIXES = (".yaml", ".yml", _JSON)


def is_spec_file(name: str) -> bool:
    """Return True if a file of a folder is a spec file; hidden files are not."""
    base = name.replace("\\", "/").rpartition("/")[2]
    return base.endswith(SUFFIXES) and not base.startswith(".")


def parse_files(files: Iterable[tuple[str, str]]) -> tuple[TableSpec, ...]:
    """Return the specs of several files, in their order.

    :param files: (name, text) pairs; a name that ends with ``.json`` means JSON, any other YAML
    :raises SpecError: if one cannot be used, two are for the same table, or the order of tables is impossible
    """
    found: list[_Declared] = []
    for name, text in files:
        found += _declared(_values(text, name), name)
    return _checked(found)


def read_specs(values: Any) -> tuple[TableSpec, ...]:
    """Return the specs in plain values: one table, ``defaults`` and ``tables``, or a list of tables.

    :raises SpecError: if they cannot be used
    """
    return _checked(_declared({"tables": values} if is_list(values) else values, ""))


class CircleError(SpecError):
    """An error for tables that wait for each other in a circle.

    :param circle: specs from one table back to the same
    """

    def __init__(self, circle: tuple[TableSpec, ...]) -> None:
        super().__init__((Problem(f"{' after '.join(str(each.table) for each in circle)}, in a circle", "after"),))
        self.circle = circle


def in_order(specs: Sequence[TableSpec]) -> tuple[TableSpec, ...]:
    """Return specs so that each follows the tables in its ``after``; otherwise the order stays.

    Tables without a spec here count as done.

    :raises CircleError: if tables wait for each other in a circle
    """
    places = {named_place(spec.table): spec for spec in specs if spec.table is not None}
    ordered: dict[int, TableSpec] = {}
    for spec in specs:
        pending = [(spec, False)]
        above: dict[int, TableSpec] = {}
        while pending:
            current, done = pending.pop()
            if done:
                above.pop(id(current), None)
                ordered[id(current)] = current
            elif id(current) in above:
                circle = [*list(above.values())[list(above).index(id(current)) :], current]
                raise CircleError(tuple(circle))
            elif id(current) not in ordered:
                above[id(current)] = current
                pending.append((current, True))
                others = (places.get(named_place(table)) for table in reversed(current.after))
                pending += [(other, False) for other in others if other is not None]
    return tuple(ordered.values())


@dataclass(frozen=True)
class _Declared:
    """A spec with the value it was read from and the name of its file."""

    spec: TableSpec
    node: SpecValue
    name: str
    alone: bool


def _values(text: str, name: str) -> Any:
    try:
        return parse_json(text, unique=True) if name.endswith(_JSON) else parse_yaml(text)
    except YamlError as error:
        problem = Problem(error.what, line=error.line, column=error.column)
    except json.JSONDecodeError as error:
        problem = Problem(f"it is not JSON: {error.msg}", line=error.lineno, column=error.colno)
    except ValueError as error:
        problem = Problem(str(error))
    raise SpecError((problem,), name)


def _declared(values: Any, name: str) -> list[_Declared]:
    problems = Problems(name)
    whole = SpecValue(values)
    if not (is_mapping(values) and values.keys() & FILE_KEYS.keys()):
        spec = spec_of(whole, problems)
        problems.check()
        return [_Declared(spec, whole, name, alone=True)]
    given = known_keys(whole, FILE_KEYS, problems)
    defaults = given.get("defaults", SpecValue({}))
    spec_of(defaults, problems, shared=True)
    problems.check()
    tables = given.get("tables")
    if tables is None or not is_list(tables.value) or not tables.value:
        if tables is None:
            problems.add(whole, "a file with defaults has tables, a list")
        else:
            problems.add(tables, f"is {described(tables)}: list them")
        problems.check()
        return []
    found = [_table(item, defaults.value, name, problems) for item in tables.items()]
    problems.check()
    return found


def _table(item: SpecValue, defaults: Mapping[Any, Any], name: str, problems: Problems) -> _Declared:
    if is_mapping(item.value):
        whole = SpecValue(with_defaults(item.value, defaults), item.path, item.mark)
        if "table" not in item.value:
            problems.add(item, "has no table: add it")
    else:
        whole = item
    return _Declared(spec_of(whole, problems), item, name, alone=False)


def _checked(declared: Sequence[_Declared]) -> tuple[TableSpec, ...]:
    """Return the specs, after checking that tables are unique and that their order is possible.

    Tables in ``after`` need a spec here. A file of one table by itself may name tables that are elsewhere.
    """
    first: dict[Hashable, _Declared] = {}
    known = {named_place(each.spec.table) for each in declared}
    for each in declared:
        problems = Problems(each.name)
        if each.spec.table is not None:
            before = first.setdefault(named_place(each.spec.table), each)
            if before is not each:
                where = ", ".join(filter(None, (before.name, before.node.path, _line(before.node))))
                problems.add(each.node, f"{each.spec.table!r} has a spec already{f': {where}' if where else ''}")
        missing = [table for table in each.spec.after if named_place(table) not in known]
        if missing and not (each.alone and len(declared) == 1):
            problems.add(_after(each.node), f"there is no spec of {missing[0]!r}")
        problems.check()
    try:
        in_order([each.spec for each in declared])
    except CircleError as error:
        first_of = next(each for each in declared if each.spec is error.circle[0])
        problems = Problems(first_of.name)
        problems.add(_after(first_of.node), error.problems[0].what)
        problems.check()
    return tuple(each.spec for each in declared)


def _after(node: SpecValue) -> SpecValue:
    return dict(node.entries()).get("after", node) if is_mapping(node.value) else node


def _line(node: SpecValue) -> str:
    return f"line {node.mark.line}" if node.mark is not None else ""


def waves(specs: Sequence[TableSpec], at_once: int) -> tuple[tuple[TableSpec, ...], ...]:
    """Return specs in waves of at most ``at_once``.

    Each spec is in a later wave than the tables in its ``after``.

    :param specs: specs whose tables have names
    :raises SpecError: if tables wait for each other in a circle
    :raises ValueError: if ``at_once`` is less than 1
    """
    if at_once < 1:
        raise ValueError(f"at_once is {at_once}; at least one table has to be done at a time.")
    pending, done, found = list(in_order(specs)), set[Hashable](), list[tuple[TableSpec, ...]]()
    known = {named_place(spec.table) for spec in specs}
    while pending:
        ready = [
            spec for spec in pending if all(named_place(t) in done or named_place(t) not in known for t in spec.after)
        ]
        wave = tuple(ready[:at_once])
        found.append(wave)
        done |= {named_place(spec.table) for spec in wave}
        pending = [spec for spec in pending if named_place(spec.table) not in done]
    return tuple(found)


def before(spec: TableSpec, specs: Sequence[TableSpec]) -> tuple[TableSpec, ...]:
    """Return the specs of the tables that must be migrated before a table."""
    wanted = {named_place(table) for table in spec.after}
    return tuple(other for other in specs if named_place(other.table) in wanted)
