"""Problems of a spec, with the places where they were written; the keys of a spec."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.formats.yaml_documents import Mark, key_mark_of, mark_of

#: Maximum number of problems of a spec that are reported at once.
MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Problem:
    """A problem of a spec.

    :param what: description, a sentence without its full stop
    :param path: path such as ``columns[2].type``, counted from 0; empty for the whole spec
    :param line: line, counted from 1; None if unknown
    :param column: column, counted from 1; None if unknown
    """

    what: str
    path: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        sentence = self.what if self.what.endswith((".", "?")) else f"{self.what}."
        return f"{self.path}: {sentence}" if self.path else sentence


class SpecError(ValueError):
    """An error for a spec that cannot be used.

    :param problems: at most :data:`MOST_PROBLEMS`, in the order of the file
    :param name: name of the file; empty if there is none
    """

    def __init__(self, problems: tuple[Problem, ...], name: str = "") -> None:
        lines = [_placed(problem, name) for problem in problems]
        super().__init__("\n".join([*lines, "There may be more."] if len(lines) == MOST_PROBLEMS else lines))
        self.problems = problems
        self.name = name


@dataclass(frozen=True)
class SpecValue:
    """A value of a spec, with the place where it was written.

    :param path: path as in :class:`Problem`
    :param mark: place of the value; None if it is not from YAML
    :param key_mark: place of its key
    """

    value: Any
    path: str = ""
    mark: Mark | None = None
    key_mark: Mark | None = None

    @property
    def text(self) -> str:
        """The value as it was written; empty if unknown."""
        return self.mark.text if self.mark is not None else ""

    def entries(self) -> Iterator[tuple[Any, SpecValue]]:
        for key, value in self.value.items():
            at = key_mark_of(self.value, key)
            written = key if isinstance(key, str) or at is None else at.text
            yield key, SpecValue(value, f"{self.path}.{written}".lstrip("."), mark_of(self.value, key), at)

    def items(self) -> Iterator[SpecValue]:
        for index, value in enumerate(self.value):
            yield SpecValue(value, f"{self.path}[{index}]", mark_of(self.value, index))


@dataclass
class Problems:
    """Collects problems, up to the maximum that is reported at once.

    :param name: name of the file
    """

    name: str = ""
    found: list[Problem] = field(default_factory=list)

    def add(self, at: SpecValue, what: str, *, key: bool = False) -> None:
        """Add a problem.

        :param key: True if the key is wrong, not its value
        :raises SpecError: if the maximum number of problems is reached
        """
        mark = at.key_mark if key else at.mark
        self.found.append(Problem(what, at.path, *((None, None) if mark is None else (mark.line, mark.column))))
        if len(self.found) == MOST_PROBLEMS:
            self.check()

    def place(self, at: SpecValue) -> str:
        """Return the place where a value was written, for people; empty if unknown."""
        return place_in(self.name, *((None, None) if at.mark is None else (at.mark.line, at.mark.column)))

    def check(self) -> None:
        """Raise an error if there are problems.

        :raises SpecError: if there are
        """
        if self.found:
            ordered = sorted(self.found, key=lambda problem: (problem.line or 0, problem.column or 0))
            raise SpecError(tuple(ordered), self.name)


def is_list(value: Any) -> bool:
    """Return True if a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


def is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def place_in(name: str, line: int | None, column: int | None) -> str:
    """Return a place for people, such as ``orders.yaml, line 2, column 7``; empty if unknown."""
    place = f"line {line}, column {column}" if line is not None else ""
    return ", ".join(filter(None, (name, place)))


def _placed(problem: Problem, name: str) -> str:
    where = place_in(name, problem.line, problem.column)
    return f"{where}: {problem}" if where else str(problem)


@dataclass(frozen=True)
class Key:
    """A key of a spec.

    :param about: purpose, a sentence without its full stop
    :param schema: JSON Schema of its value
    :param example: example value, in YAML
    """

    about: str
    schema: Mapping[str, Any]
    example: str = ""


_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_TEXT_OR_NULL: Mapping[str, Any] = {"type": ["string", "null"]}
_TEXTS: Mapping[str, Any] = {"type": "array", "items": _TEXT, "uniqueItems": True}
_FLAG: Mapping[str, Any] = {"type": "boolean"}
_COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}
_EXPRESSION: Mapping[str, Any] = {"type": ["string", "number", "boolean", "null"], "minLength": 1}
_TYPE: Mapping[str, Any] = {"$ref": "#/definitions/type"}
_FIELDS: Mapping[str, Any] = {"type": "array", "items": {"$ref": "#/definitions/field"}}
_ON_LOSS: Mapping[str, Any] = {"enum": ["refuse", "null", None]}
_NESTED: Mapping[str, Any] = {"oneOf": [_TEXT, {"$ref": "#/definitions/nested"}]}

#: Keys that declare a type, for types that SQL alone does not fully declare.
TYPE_KEYS: Mapping[str, Key] = {
    "type": Key(
        "Type in Spark SQL; `struct` alone takes its fields from `fields`. Left out: the type stays as it is",
        _TYPE,
        "decimal(12,2)",
    ),
    "fields": Key(
        "Columns of the struct in `type`: of `struct`, `array<struct>`, `map<string,struct>` and so on", _FIELDS
    ),
    "element": Key("With `type: array`: the type of the elements, or its keys", _NESTED, "{type: struct, fields: […]}"),
    "key": Key("With `type: map`: the type of the keys, or its keys", _NESTED, "string"),
    "value": Key("With `type: map`: the type of the values, or its keys", _NESTED, "{type: struct, fields: […]}"),
}
#: Keys of a column or a field of a struct.
FIELD_KEYS: Mapping[str, Key] = {
    "name": Key("Name; dots and backticks in it are its own", _TEXT, "order_id"),
    **TYPE_KEYS,
    "nullable": Key("Whether it may hold NULL; left out: stays as it is, and true for a new column", _FLAG, "false"),
    "comment": Key("Comment; null for none", _TEXT_OR_NULL, "Order number"),
    "renamed_from": Key("Earlier name, in the same struct; null for a new column", _TEXT_OR_NULL, "id"),
    "rewrite": Key(
        "Whether data files may be rewritten for a type that widening does not reach, or for NOT NULL", _FLAG, "true"
    ),
    "on_loss": Key(
        "Effect of values that the cast of a rewrite loses: `refuse` the migration, or make them `null`",
        _ON_LOSS,
        "refuse",
    ),
}
#: Keys of a column of the table.
COLUMN_KEYS: Mapping[str, Key] = {
    **FIELD_KEYS,
    "default": Key("SQL expression of the default of new rows; null for none", _EXPRESSION, "current_timestamp()"),
    "generated": Key("SQL expression that generates it", _TEXT, "CAST(ordered_at AS DATE)"),
}
#: Keys of a view that reads the table.
VIEW_KEYS: Mapping[str, Key] = {
    "name": Key("Name, for people", _TEXT, "sales.daily"),
    "columns": Key("Columns that it reads, as under `drop`; left out: all", _TEXTS, "[id, customer.name]"),
}
#: Keys of the bounds of the number of rows.
ROWS_KEYS: Mapping[str, Key] = {
    "min": Key("Fewest rows", _COUNT, "1000"),
    "max": Key("Most rows", _COUNT, "5000000"),
}
#: Keys of a table; in ``defaults`` also, except for :data:`OWN_KEYS`.
TABLE_KEYS: Mapping[str, Key] = {
    "table": Key("Path, URI or catalog name", _TEXT, "s3://lake/orders"),
    "table_id": Key("Id that the table must have", _TEXT, "5c1cf7ae-…"),
    "columns": Key(
        "Columns, in their order; others stay, after the column that they follow now",
        {"type": "array", "items": {"$ref": "#/definitions/column"}},
    ),
    "drop": Key("Columns to drop: paths such as `customer.fax`, a name with a dot in backticks", _TEXTS, "[legacy]"),
    "properties": Key(
        "Table properties by name; null removes one",
        {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
        "{delta.enableChangeDataFeed: true}",
    ),
    "features": Key("Table features that are enabled", _TEXTS, "[rowTracking]"),
    "drop_features": Key("Table features that are dropped", _TEXTS, "[deletionVectors]"),
    "constraints": Key(
        "Expressions of CHECK constraints by name; null drops one",
        {"type": "object", "additionalProperties": {"type": ["string", "boolean", "null"], "minLength": 1}},
        '{positive: "amount > 0"}',
    ),
    "partition_by": Key("Partition columns, in their order", _TEXTS, "[day]"),
    "cluster_by": Key("Clustering columns, at most a few; `[]` for none", _TEXTS, "[id]"),
    "comment": Key("Comment of the table; null for none", _TEXT_OR_NULL, "Orders of all shops"),
    "like": Key("Table whose columns this one has in addition to its own", _TEXT, "s3://lake/orders_template"),
    "after": Key("Tables that are migrated before this one", _TEXTS, "[s3://lake/customers]"),
    "views": Key(
        "Views that read the table: a plan says which of them a change breaks",
        {"type": "array", "items": {"$ref": "#/definitions/view"}},
        "[{name: sales.daily, columns: [id]}]",
    ),
    "freshness": Key(
        "Greatest age of the last commit that changed data: a number with `s`, `m`, `h`, `d` or `w`; `check-drift` "
        "compares it",
        _TEXT,
        "26h",
    ),
    "rows": Key(
        "Bounds of the number of rows; `check-drift` compares them",
        {"$ref": "#/definitions/rows"},
        "{min: 1000, max: 5000000}",
    ),
    "only_additive": Key("Whether every change that is not an addition is refused", _FLAG, "true"),
    "exact": Key("Whether columns, properties and constraints that are not named are dropped", _FLAG, "true"),
    "rewrite": Key("Same as for a column, but for the whole table; also allows other partition columns", _FLAG, "true"),
    "on_loss": Key("Same as for a column, but for the whole table", _ON_LOSS, "refuse"),
    "time_zone": Key(
        "Time zone in which a rewrite reads dates and times as timestamps, or writes timestamps", _TEXT, "Europe/Berlin"
    ),
}
#: Keys that a table cannot share.
OWN_KEYS = ("table", "table_id")
#: Keys of a file of several tables.
FILE_KEYS: Mapping[str, Key] = {
    "defaults": Key("Keys of every table that does not set them itself", {"$ref": "#/definitions/defaults"}),
    "tables": Key("The tables", {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/table"}}),
}


#: Types that editors offer.
_EXAMPLES = (
    *("bigint", "int", "smallint", "tinyint", "double", "float", "decimal(12,2)", "boolean", "string", "binary"),
    *("date", "timestamp", "timestamp_ntz", "variant", "array<string>", "map<string,int>", "struct", "array<struct>"),
    "map<string,struct>",
)


def json_schema() -> dict[str, Any]:
    shared = {name: key for name, key in TABLE_KEYS.items() if name not in OWN_KEYS}
    several = {"anyOf": [{"required": [name]} for name in FILE_KEYS]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Declared state of Delta tables",
        "description": "Of one table, or of several with defaults.",
        "type": "object",
        "if": several,
        "then": _object(FILE_KEYS, required=("tables",)),
        "else": _object(TABLE_KEYS),
        "definitions": {
            "type": {"type": "string", "minLength": 1, "examples": list(_EXAMPLES)},
            "nested": _object(TYPE_KEYS, required=("type",)),
            "field": {**_object(FIELD_KEYS, required=("name",)), **_TYPED},
            "column": {**_object(COLUMN_KEYS, required=("name",)), **_TYPED},
            "rows": {**_object(ROWS_KEYS), "minProperties": 1},
            "view": _object(VIEW_KEYS, required=("name",)),
            "defaults": _object(shared),
            "table": _object(TABLE_KEYS, required=("table",)),
        },
    }


#: Keys that are only valid next to ``type``.
_TYPED: Mapping[str, Any] = {"dependencies": {name: ["type"] for name in TYPE_KEYS if name != "type"}}


def _object(keys: Mapping[str, Key], required: Collection[str] = ()) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _property(key) for name, key in keys.items()},
    }
    return {**schema, "required": list(required)} if required else schema


def _property(key: Key) -> dict[str, Any]:
    """Return the schema of a value.

    Keys next to a reference are ignored, so the reference is put in a list.
    """
    about = {"description": f"{key.about}."}
    return {**about, "allOf": [dict(key.schema)]} if "$ref" in key.schema else {**about, **key.schema}
