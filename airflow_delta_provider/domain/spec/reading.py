"""Reading the spec of a table from plain values, as in YAML, JSON or Python.

All problems are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any
from zoneinfo import available_timezones

from airflow_delta_provider.domain.delta.data_type import UnknownColumnError, lowered, parse_path, path_text
from airflow_delta_provider.domain.delta.expression import wrong_syntax
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named, is_feature_name, meant_by
from airflow_delta_provider.domain.delta.table_properties import FORMS, parse_duration
from airflow_delta_provider.domain.spec.columns import (
    described,
    known_keys,
    read_columns,
    read_flag,
    read_nullable_text,
    read_on_loss,
    read_text,
    read_texts,
    read_value,
)
from airflow_delta_provider.domain.spec.problem import (
    OWN_KEYS,
    ROWS_KEYS,
    TABLE_KEYS,
    VIEW_KEYS,
    Problems,
    SpecValue,
    is_list,
    is_mapping,
)
from airflow_delta_provider.domain.spec.table_spec import (
    ColumnSpec,
    Path,
    Rows,
    TableSpec,
    View,
    all_specs,
    why_not_settable,
)
from airflow_delta_provider.domain.table_name import TableName, TableNameError
from airflow_delta_provider.domain.text import did_you_mean

#: UTC offsets that Spark also accepts.
_OFFSET = re.compile(r"[+-](0\d|1[0-7]):[0-5]\d|[+-]18:00")


def read_spec(values: Any, name: str = "") -> TableSpec:
    """Return the spec of a table.

    :param values: mapping; if it was read from YAML, it also holds the places of its values
    :param name: name of the file, for messages
    :raises SpecError: if it cannot be used
    """
    problems = Problems(name)
    spec = spec_of(SpecValue(values), problems)
    problems.check()
    return spec


def spec_of(node: SpecValue, problems: Problems, *, shared: bool = False) -> TableSpec:
    """Return the spec in a mapping, without the values that have problems.

    :param shared: True for the defaults of several tables, which cannot have a table's own keys
    """
    if node.value is None:
        problems.add(node, "says nothing. Write at least columns" if node.path else "The file is empty")
        return TableSpec()
    known = {key: about for key, about in TABLE_KEYS.items() if not (shared and key in OWN_KEYS)}
    given = known_keys(node, known, problems)
    values: dict[str, Any] = {key: read(given[key], problems) for key, read in _READ.items() if key in given}
    if "on_loss" in values:
        values["null_on_loss"] = values.pop("on_loss")
    spec = TableSpec(**values, places=_places(node, given, problems))
    if not shared:
        _check_drops(given, spec, problems)
        _check_together(given, spec, problems)
    return spec


def _places(node: SpecValue, given: Mapping[str, SpecValue], problems: Problems) -> dict[str, str]:
    constraints = given.get("constraints")
    written = {"": node, **{key: given[key] for key in ("like",) if key in given}}
    if constraints is not None and is_mapping(constraints.value):
        written |= {f"constraints.{name}": value for name, value in constraints.entries()}
    places = {key: problems.place(value) for key, value in written.items()}
    return {key: place for key, place in places.items() if place}


def _table(node: SpecValue, problems: Problems) -> str | None:
    text = read_text(node, problems)
    try:
        if text is not None and TableName.parse(text).may_be_pattern:
            problems.add(node, f"{text!r} is a pattern. A spec is of one table")
    except TableNameError as error:
        problems.add(node, str(error))
    return text


def _tables(node: SpecValue, problems: Problems) -> tuple[str, ...]:
    found = []
    for item, _ in read_texts(node, problems):
        found.append(_table(item, problems))
    return tuple(filter(None, found))


def _columns(node: SpecValue, problems: Problems) -> tuple[ColumnSpec, ...]:
    return tuple(column for _, column in read_columns(node, problems))


def _paths(node: SpecValue, problems: Problems) -> tuple[Path, ...]:
    found: dict[Path, Path] = {}
    for item, text in read_texts(node, problems):
        try:
            path = parse_path(text)
        except UnknownColumnError as error:
            problems.add(item, str(error))
            continue
        if lowered(path) in found:
            problems.add(item, f"{text!r} is there twice, before as {path_text(found[lowered(path)])!r}")
        found.setdefault(lowered(path), path)
    return tuple(found.values())


def _views(node: SpecValue, problems: Problems) -> tuple[View, ...]:
    if not is_list(node.value):
        problems.add(node, f"has to be a list, not {described(node)}")
        return ()
    found: dict[str, View] = {}
    for item in node.items():
        given = known_keys(item, VIEW_KEYS, problems)
        if is_mapping(item.value) and "name" not in given:
            problems.add(item, "has no name")
        name = read_text(given["name"], problems) if "name" in given else None
        columns = _paths(given["columns"], problems) if "columns" in given else None
        if name in found:
            problems.add(item, f"the view {name!r} is there twice")
        elif name is not None:
            found[name] = View(name, columns)
    return tuple(found.values())


def _names(node: SpecValue, problems: Problems) -> tuple[str, ...]:
    found: dict[Path, str] = {}
    for item, text in read_texts(node, problems):
        first = found.setdefault(lowered([text]), text)
        if first is not text:
            problems.add(item, f"{text!r} is there twice, before as {first!r}")
    return tuple(found.values())


def _features(node: SpecValue, problems: Problems) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for item, text in read_texts(node, problems):
        if not is_feature_name(text):
            hint = did_you_mean(text.rpartition(".")[2], FEATURES)
            problems.add(item, f"{text!r} is not the name of a table feature, such as 'typeWidening'.{hint}")
        elif meant := meant_by(text):
            problems.add(item, f"there is no table feature {text!r}. Did you mean {meant!r}?")
        else:
            found[feature_named(text).name] = None
    return tuple(found)


def _settings(
    check: Callable[[str, str | None, SpecValue, Problems], None], node: SpecValue, problems: Problems
) -> Mapping[str, str | None]:
    if not is_mapping(node.value):
        problems.add(node, f"has to be a mapping, not {described(node)}")
        return {}
    found: dict[str, str | None] = {}
    for key, value in node.entries():
        name = read_text(SpecValue(key, value.path, value.key_mark), problems)
        text = None if value.value is None else read_value(value, problems)
        if name is not None and (text is not None or value.value is None):
            check(name, text, value, problems)
            found[name] = text
    return found


def _time_zone(node: SpecValue, problems: Problems) -> str | None:
    text = read_text(node, problems)
    if text is None or _OFFSET.fullmatch(text):
        return text
    known = available_timezones()
    if known and text not in known:  # without a list of zones, Spark refuses unknown ones later
        example = "such as UTC, Europe/Berlin or +02:00"
        problems.add(node, f"{text!r} is not a time zone, {example}.{did_you_mean(text, known)}")
    return text


def _freshness(node: SpecValue, problems: Problems) -> timedelta | None:
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        problems.add(node, f"{node.value} has no unit. Write for instance {node.value}h")
        return None
    text = read_text(node, problems)
    found = None if text is None else parse_duration(text)
    if text is not None and not found:
        problems.add(node, f"{text!r:.60} is not a time above 0, such as 90m, 26h or 7d")
    return found


def _rows(node: SpecValue, problems: Problems) -> Rows | None:
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        problems.add(node, f"has to be a mapping. Write {{min: {node.value}}}, or {{max: {node.value}}}")
        return None
    given = known_keys(node, ROWS_KEYS, problems)
    bounds = {name: _count(value, problems) for name, value in given.items()}
    if is_mapping(node.value) and not given:
        problems.add(node, "has neither min nor max")
    least, most = bounds.get("min"), bounds.get("max")
    if least is not None and most is not None and least > most:
        problems.add(given["min"], f"{least} is more than max, which is {most}")
    return Rows(least, most)


def _count(node: SpecValue, problems: Problems) -> int | None:
    if isinstance(node.value, bool) or not isinstance(node.value, int) or node.value < 0:
        problems.add(node, f"has to be a whole number of rows, not {described(node)}")
        return None
    return node.value


def _check_property(name: str, text: str | None, node: SpecValue, problems: Problems) -> None:
    if why := why_not_settable(name):
        problems.add(node, why, key=True)
    elif text is not None and name in FORMS and not FORMS[name].fits(text):
        problems.add(node, f"{text!r:.60} is not {FORMS[name].name}")


def _check_constraint(name: str, text: str | None, node: SpecValue, problems: Problems) -> None:
    del name
    if text == "":
        problems.add(node, "is empty. To drop the constraint write null")
    elif text is not None and (wrong := wrong_syntax(text)):
        problems.add(node, wrong)


_READ: Mapping[str, Callable[[SpecValue, Problems], Any]] = {
    "table": _table,
    "table_id": read_text,
    "columns": _columns,
    "drop": _paths,
    "properties": partial(_settings, _check_property),
    "features": _features,
    "drop_features": _features,
    "constraints": partial(_settings, _check_constraint),
    "partition_by": _names,
    "cluster_by": _paths,
    "comment": read_nullable_text,
    "like": _table,
    "after": _tables,
    "views": _views,
    "freshness": _freshness,
    "rows": _rows,
    "only_additive": read_flag,
    "exact": read_flag,
    "rewrite": read_flag,
    "on_loss": read_on_loss,
    "time_zone": _time_zone,
}


def _check_drops(given: Mapping[str, SpecValue], spec: TableSpec, problems: Problems) -> None:
    """Check that dropped columns are not declared, renamed, or used for partitions or clustering."""
    if not spec.drop:
        return
    declared, sources = {}, {}
    for path, column in all_specs(spec.columns):
        if isinstance(column.renamed_from, str):
            sources[lowered((*path[:-1], column.renamed_from))] = column
        else:
            declared[lowered(path)] = column
    for item in given["drop"].items():
        try:
            path = parse_path(item.value)
        except (UnknownColumnError, AttributeError, TypeError):
            continue
        folded = lowered(path)
        if folded in declared:
            problems.add(item, f"{item.value!r} is to be dropped, and is declared under columns. Keep one of them")
        elif folded in sources:
            problems.add(item, f"{item.value!r} is to be dropped, and {sources[folded].name!r} is renamed from it")
    dropped = {lowered(path) for path in spec.drop}
    for key, columns in (
        ("partition_by", [(name,) for name in spec.partition_by or ()]),
        ("cluster_by", spec.cluster_by),
    ):
        for path in columns or ():
            if lowered(path) in dropped:
                problems.add(given[key], f"names {path_text(path)!r}, which is to be dropped")


def _check_together(given: Mapping[str, SpecValue], spec: TableSpec, problems: Problems) -> None:
    """Check for keys that contradict each other."""
    for feature in spec.drop_features:
        if feature in spec.features:
            problems.add(given["drop_features"], f"{feature!r} is also under features. Keep one of them")
    if spec.partition_by and spec.cluster_by:
        problems.add(given["cluster_by"], "a table is partitioned or clustered, not both", key=True)
    if spec.exact and spec.like is None and not ("columns" in given and given["columns"].value):
        problems.add(given["exact"], "without columns, all columns would be dropped. Declare those that stay", key=True)
