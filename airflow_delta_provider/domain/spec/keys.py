"""The keys of a spec, with their purpose and values.

The JSON Schema and the reference are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
