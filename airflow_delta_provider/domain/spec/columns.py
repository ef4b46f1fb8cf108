"""Reading the columns of a spec, with their types and nested fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any

from airflow_delta_provider.domain.delta.data_type import (
    MOST_LEVELS,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UnknownTypeError,
    all_columns,
    lowered,
)
from airflow_delta_provider.domain.delta.expression import wrong_default, wrong_syntax
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.spec.problem import (
    COLUMN_KEYS,
    FIELD_KEYS,
    TYPE_KEYS,
    Key,
    Problems,
    SpecValue,
    is_list,
    is_mapping,
)
from airflow_delta_provider.domain.spec.table_spec import UNDECLARED, ColumnSpec, Text, outermost_structs, struct_of
from airflow_delta_provider.domain.text import did_you_mean


def read_text(node: SpecValue, problems: Problems) -> str | None:
    """Return a string that is not empty; None, with a problem, for anything else."""
    value = node.value
    if not isinstance(value, str):
        problems.add(node, f"has to be a string, not {described(node)}")
    elif not value:
        problems.add(node, "is empty")
    elif not _is_unicode(value):
        problems.add(node, f"{value!a} has half of a character (a lone surrogate), which is not text")
    else:
        return value
    return None


def read_value(node: SpecValue, problems: Problems) -> str | None:
    """Return the text of a string, boolean or number; None, with a problem, for anything else."""
    value = node.value
    if isinstance(value, str):
        return value if value == "" else read_text(node, problems)
    if isinstance(value, (bool, int, float)) and not (isinstance(value, float) and not math.isfinite(value)):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if not node.text or node.text.lower() == text:
            return text
        problems.add(node, f"YAML reads {node.text} as {text}. Write that, or put it in quotes")
        return None
    problems.add(node, f"has to be a string, a number or a boolean, not {described(node)}")
    return None


def read_flag(node: SpecValue, problems: Problems) -> bool:
    """Return a boolean; False, with a problem, for anything else."""
    if not isinstance(node.value, bool):
        problems.add(node, f"has to be true or false, not {described(node)}")
        return False
    return node.value


def read_texts(node: SpecValue, problems: Problems) -> tuple[tuple[SpecValue, str], ...]:
    """Return the unique strings of a list, each with its place; items with problems are left out."""
    if not is_list(node.value):
        if isinstance(node.value, str):
            problems.add(node, f"has to be a list: write [{node.value}]")
        else:
            problems.add(node, f"has to be a list, not {described(node)}")
        return ()
    found: dict[str, SpecValue] = {}
    for item in node.items():
        text = read_text(item, problems)
        if text in found:
            problems.add(item, f"{text!r} is there twice")
        elif text is not None:
            found[text] = item
    return tuple((item, text) for text, item in found.items())


def described(node: SpecValue) -> str:
    """Return a description of a value for people."""
    value = node.value
    if value is None:
        return "null"
    if is_mapping(value):
        return "a mapping"
    if is_list(value):
        return "a list"
    if isinstance(value, str):
        return f"{value!r:.60}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{node.text or value}, which is not a number"
    kind = _kind(value)
    if node.text:
        return f"{kind}: YAML reads {node.text:.60} as one. Put it in quotes"
    return f"{kind} ({value!r:.60})" if kind == "a number" else kind


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return f"a boolean ({str(value).lower()})"
    if isinstance(value, (int, float)):
        return "a number"
    return "a date" if isinstance(value, date) else f"{value!r:.60}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_declared(text: str) -> DataType:
    """Read a type, which may have ``NOT NULL`` and ``COMMENT`` in its structs, or bare ``struct``.

    Nullable fields and fields without a comment leave both undeclared.

    :raises UnknownTypeError: if it is not a type
    """
    return _with_structs(parse_sql_type(text, declared=True), _declared_struct)


def _declared_struct(struct: StructType) -> StructType:
    return struct_of(
        ColumnSpec(
            name=field.name,
            data_type=_with_structs(field.data_type, _declared_struct),
            nullable=None if field.nullable else False,
            comment=field.metadata.get("comment", UNDECLARED),
        )
        for field in struct.fields
    )


def _with_structs(data_type: DataType, change: Callable[[StructType], StructType]) -> DataType:
    """Return a type with its outermost structs changed."""
    if isinstance(data_type, StructType):
        return change(data_type)
    if isinstance(data_type, ArrayType):
        return ArrayType(_with_structs(data_type.element, change))
    if isinstance(data_type, MapType):
        return MapType(_with_structs(data_type.key, change), _with_structs(data_type.value, change))
    return data_type


def _levels_of(data_type: DataType) -> int:
    """Return the depth of nested types; 0 for a type without inner types."""
    nested = (StructType, ArrayType, MapType)
    if not isinstance(data_type, nested):
        return 0
    places = all_columns(StructType((StructField("", data_type),)))
    return max((len(place.parts) for place in places if isinstance(place.data_type, nested)), default=0)


#: Bare type words whose inner types have keys of their own.
_PARTS: Mapping[str, tuple[str, ...]] = {"array": ("element",), "map": ("key", "value")}


def known_keys(node: SpecValue, keys: Mapping[str, Key], problems: Problems) -> dict[str, SpecValue]:
    """Return the values of a mapping by their keys; an unknown key is a problem."""
    if not is_mapping(node.value):
        problems.add(node, f"has to be a mapping, not {described(node)}")
        return {}
    found: dict[str, SpecValue] = {}
    for key, value in node.entries():
        if key in keys:
            found[key] = value
        elif isinstance(key, str):
            hint = did_you_mean(key, keys) or f" The known keys are {', '.join(keys)}."
            problems.add(value, f"unknown key {key!r}.{hint}", key=True)
        else:
            text = value.key_mark.text if value.key_mark else repr(key)
            problems.add(value, f"unknown key {text}. The known keys are {', '.join(keys)}.", key=True)
    return found


def read_columns(
    node: SpecValue, problems: Problems, *, nested: bool = False, level: int = 1
) -> tuple[tuple[SpecValue, ColumnSpec], ...]:
    """Return the columns of a table, or the fields of a struct, each with its place.

    Columns without a name are left out.

    :param nested: True for the fields of a struct
    :param level: number of types around them, the schema included
    """
    if not is_list(node.value):
        hint = ". Write one column per line, each after '- '" if is_mapping(node.value) else ""
        problems.add(node, f"has to be a list, not {described(node)}{hint}")
        return ()
    read = ((item, _column(item, problems, nested=nested, level=level)) for item in node.items())
    found = tuple((item, column) for item, column in read if column is not None)
    _check_names(found, problems)
    return found


def read_nullable_text(node: SpecValue, problems: Problems) -> Text:
    """Return a string; None for null or an empty string."""
    if node.value is None or node.value == "":
        return None
    return read_text(node, problems)


def read_on_loss(node: SpecValue, problems: Problems) -> bool:
    """Return True if values that a cast loses become NULL."""
    if node.value not in ("refuse", "null", None) or isinstance(node.value, bool):
        problems.add(node, f"has to be refuse or null, not {described(node)}")
    return node.value in ("null", None)


def _column(node: SpecValue, problems: Problems, *, nested: bool, level: int) -> ColumnSpec | None:
    if isinstance(node.value, str):
        problems.add(node, f"has to be a mapping: write {{name: {node.value:.60}, type: …}}")
        return None
    given = known_keys(node, COLUMN_KEYS, problems)
    if not is_mapping(node.value):
        return None
    if "name" not in given:
        problems.add(node, "has no name")
    values: dict[str, Any] = {}
    for key, read in _READ.items():
        if key in given:
            values[key] = read(given[key], problems)
    if "on_loss" in values:
        values["null_on_loss"] = values.pop("on_loss")
    for key in COLUMN_KEYS.keys() - FIELD_KEYS.keys() if nested else ():
        if key in given:
            problems.add(given[key], f"a field of a struct can have no {key}", key=True)
    if values.get("generated") is not None and values.get("default", UNDECLARED) not in (UNDECLARED, None):
        problems.add(given["default"], "a generated column can have no default", key=True)
    data_type = _type(given, problems, level) if given.keys() & TYPE_KEYS.keys() else None
    name = values.pop("name", None)
    return None if name is None else ColumnSpec(name=name, data_type=data_type, **values)


def _type(given: Mapping[str, SpecValue], problems: Problems, level: int) -> DataType | None:
    """Return the type that keys declare; None, with a problem, if they declare none."""
    parts = [key for key in ("element", "key", "value") if key in given]
    if "type" not in given:
        key = next(key for key in ("fields", *parts) if key in given)
        word = "struct" if key == "fields" else "array" if key == "element" else "map"
        problems.add(given[key], f"{key} goes with a type: add type: {word}", key=True)
        return None
    node = given["type"]
    if level > MOST_LEVELS:
        problems.add(node, f"is nested more than {MOST_LEVELS - 1} deep")
        return None
    if is_mapping(node.value) or is_list(node.value):
        problems.add(node, f"is {described(node)}. Write the type in SQL, or type: struct with fields next to it")
        return None
    text = read_text(node, problems)
    if text is None:
        return None
    if parts:
        return _from_parts(text.strip().lower(), given, problems, level)
    try:
        declared = parse_declared(text)
    except UnknownTypeError as error:
        problems.add(node, _with_parts(str(error), text))
        return None
    inside = _levels_of(declared)
    if level + inside > MOST_LEVELS:
        problems.add(node, f"is nested more than {MOST_LEVELS - 1} deep")
        return None
    return _with_fields(declared, given, problems, level + inside) if "fields" in given else declared


def _with_parts(message: str, text: str) -> str:
    word = text.strip().lower()
    if word not in _PARTS:
        return message
    return f"{word} of what? Write for instance {'array<string>' if word == 'array' else 'map<string,int>'}"


def _with_fields(declared: DataType, given: Mapping[str, SpecValue], problems: Problems, level: int) -> DataType:
    empty = [struct for _, struct in outermost_structs(declared) if not struct.fields]
    fields = tuple(column for _, column in read_columns(given["fields"], problems, nested=True, level=level))
    if len(empty) == 1:
        return _with_structs(declared, lambda struct: struct if struct.fields else struct_of(fields))
    if not empty:
        problems.add(given["fields"], "goes with a type that has the word struct alone in it", key=True)
    else:
        what = "type has the word struct more than once. Give what is in an array as element, in a map as key and value"
        problems.add(given["fields"], what, key=True)
    return declared


def _from_parts(word: str, given: Mapping[str, SpecValue], problems: Problems, level: int) -> DataType | None:
    """Return an array or a map whose inner types have keys of their own."""
    wanted = _PARTS.get(word, ())
    for key in ("element", "key", "value", "fields"):
        if key in given and key not in wanted:
            goes = {"element": "type: array", "fields": "type: struct"}.get(key, "type: map")
            problems.add(given[key], f"goes with {goes}", key=True)
            return None
    missing = [key for key in wanted if key not in given]
    for key in missing:
        problems.add(given["type"], f"a map with key or value has both; {key} is missing")
    inside = [_inner_type(given[key], problems, level + 1) for key in wanted if key in given]
    known = [data_type for data_type in inside if data_type is not None]
    if missing or len(known) < len(inside):
        return None
    return ArrayType(known[0]) if word == "array" else MapType(known[0], known[1])


def _inner_type(node: SpecValue, problems: Problems, level: int) -> DataType | None:
    if is_mapping(node.value):
        given = known_keys(node, TYPE_KEYS, problems)
        if not given:
            problems.add(node, "has no type")
            return None
        return _type(given, problems, level)
    return _type({"type": node}, problems, level)


def _check_names(columns: Iterable[tuple[SpecValue, ColumnSpec]], problems: Problems) -> None:
    """Check that names are unique, and that renames start from different, undeclared columns."""
    named: dict[tuple[str, ...], ColumnSpec] = {}
    sources: dict[tuple[str, ...], ColumnSpec] = {}
    renamed: list[tuple[SpecValue, ColumnSpec, str]] = []
    in_circles: set[tuple[str, ...]] = set()
    for node, column in columns:
        first = named.setdefault(lowered([column.name]), column)
        if first is not column:
            other = "" if first.name == column.name else f", as {first.name!r}: names have to differ by more than case"
            problems.add(node, f"the column {column.name!r} is there twice{other}")
        if isinstance(column.renamed_from, str):
            renamed.append((node, column, column.renamed_from))
    for node, column, source in renamed:
        first = sources.setdefault(lowered([source]), column)
        stays = named.get(lowered([source]))
        if first is not column:
            problems.add(node, f"{first.name!r} and {column.name!r} are both renamed from {source!r}")
        elif source == column.name:
            problems.add(node, f"{column.name!r} is renamed from its own name")
        elif stays is not None and stays is not column and not isinstance(stays.renamed_from, str):
            problems.add(
                node,
                f"{column.name!r} is renamed from {source!r}, which is also a column of its own. If {source!r} is to "
                "be added after the rename, migrate without it first",
            )
        elif lowered([column.name]) not in in_circles and (circle := _circle(column, named)):
            in_circles |= {lowered([name]) for name in circle}
            problems.add(
                node,
                f"the renames go in a circle, {' from '.join(map(repr, circle))}. A table does not show whether names "
                "were exchanged already: rename one of them to a third name first, in a migration of its own",
            )


def _circle(column: ColumnSpec, named: Mapping[tuple[str, ...], ColumnSpec]) -> list[str]:
    """Return the names in a circle of renames from a column back to it; empty if there is no circle."""
    names, current = [column.name], column
    while isinstance(current.renamed_from, str) and len(names) <= len(named):
        names.append(current.renamed_from)
        found = named.get(lowered([current.renamed_from]))
        if found is column:
            return names
        if found is None:
            return []
        current = found
    return []


def _source(node: SpecValue, problems: Problems) -> Text:
    """Return the old name of a column; None for null, which declares a new column."""
    return None if node.value is None else read_text(node, problems) or UNDECLARED


def _default(node: SpecValue, problems: Problems) -> Text:
    """Return the SQL expression of a default; None for null. Numbers and booleans are accepted."""
    if node.value is None:
        return None
    if node.value == "":
        problems.add(node, "is empty. For the empty string write \"''\", for no default null")
        return None
    return _checked(node, read_value(node, problems), wrong_default, problems)


def _generated(node: SpecValue, problems: Problems) -> str | None:
    return _checked(node, read_text(node, problems), wrong_syntax, problems)


def _checked(
    node: SpecValue, expression: str | None, wrong_of: Callable[[str], str | None], problems: Problems
) -> str | None:
    """Return an expression that is not certainly wrong; None, with a problem, for any other."""
    wrong = None if expression is None else wrong_of(expression)
    if wrong is None:
        return expression
    problems.add(node, wrong)
    return None


_READ = {
    "name": read_text,
    "nullable": read_flag,
    "comment": read_nullable_text,
    "default": _default,
    "generated": _generated,
    "renamed_from": _source,
    "rewrite": read_flag,
    "on_loss": read_on_loss,
}
