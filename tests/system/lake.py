"""The tables that ``dags_examples/migrations/`` declares: before, and as they should be afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.tables import log

_EXAMPLES = Path(__file__).resolve().parents[2] / "dags_examples"
#: Columns, properties and rows of each table.
_BEFORE = {
    "customers": (
        "id INT, name STRING, email STRING, address STRUCT<street: STRING, zip: STRING>, fax STRING",
        "'owner_team' = 'crm'",
        "(1, 'Ann', 'ann@example.org', struct('High St', 'AB1'), '12'), (2, 'Bob', NULL, NULL, NULL)",
    ),
    "products": ("sku STRING, weight DOUBLE", "'owner_team' = 'stock'", "('a', 1.5), ('b', 2.5)"),
    "orders": (
        "id INT, customer_id INT, amount DECIMAL(8,2), currency STRING, lines ARRAY<STRUCT<sku: STRING, pieces: INT>>",
        "'delta.enableRowTracking' = 'true'",
        "(1, 1, 10.50, 'EUR', array(struct('a', 1))), (2, 2, 7.25, 'CHF', array(struct('b', 2), struct('a', 1)))",
    ),
    "stock": ("sku STRING, qty STRING, shelf STRING", "'owner_team' = 'stock'", "('a', '5', 'A1'), ('b', '0', NULL)"),
    "returns": ("id INT, order_id INT, reason STRING", "'owner_team' = 'shop'", "(1, 2, 'Too small')"),
}
#: What the log says of each table afterwards: see :func:`logged`.
MIGRATED: dict[str, dict[str, Any]] = {
    "customers": {
        "columns": [
            "id long 'Customer number'",
            "full_name string",
            "email string 'May be missing'",
            "address struct<street string, postcode string, country string 'Two letters'>",
        ],
        "comment": "Everybody who ever ordered",
        "properties": {
            "delta.columnMapping.mode": "name",
            "delta.enableTypeWidening": "true",
            "owner_team": "sales",
        },
        "features": ["appendOnly", "columnMapping", "invariants", "typeWidening"],
        "clustered by": None,
    },
    "products": {
        "columns": ["sku string 'Stock keeping unit'", "weight double 'In kilograms'", "colour string"],
        "comment": "What can be ordered",
        "properties": {"owner_team": "stock"},
        "features": None,
        "clustered by": None,
    },
    "orders": {
        "columns": [
            "id long NOT NULL 'Order number'",
            "customer long",
            "amount decimal(12,2)",
            "currency string DEFAULT 'EUR'",
            "lines array<struct<sku string 'of the product', pieces integer>>",
        ],
        "comment": "Orders of all shops",
        "properties": {
            "delta.columnMapping.mode": "name",
            "delta.constraints.amount_is_positive": "amount > 0",
            "delta.enableRowTracking": "true",
            "delta.enableTypeWidening": "true",
            "owner_team": "sales",
        },
        "features": [
            "allowColumnDefaults",
            "appendOnly",
            "checkConstraints",
            "clustering",
            "columnMapping",
            "domainMetadata",
            "invariants",
            "rowTracking",
            "typeWidening",
        ],
        "clustered by": ["customer"],
    },
    "stock": {
        "columns": [
            "sku string NOT NULL",
            "pieces integer",
            "shelf string 'Aisle and number'",
            "counted_at timestamp",
        ],
        "comment": "What lies where",
        "properties": {
            "delta.columnMapping.mode": "name",
            "delta.constraints.pieces_not_negative": "pieces >= 0",
            "owner_team": "stock",
        },
        "features": ["appendOnly", "checkConstraints", "columnMapping", "invariants"],
        "clustered by": None,
    },
    "returns": {
        "columns": [
            "id integer 'Number of the return'",
            "order_id integer",
            "reason string 'In the words of the customer'",
            "received_at timestamp",
        ],
        "comment": "What was sent back",
        "properties": {"owner_team": "sales"},
        "features": None,
        "clustered by": None,
    },
}
#: Their rows afterwards, as Spark shows them.
ROWS = {
    "customers": [(1, "Ann", "ann@example.org", ("High St", "AB1", None)), (2, "Bob", None, None)],
    "products": [("a", 1.5, None), ("b", 2.5, None)],
    "orders": [(1, 1, "10.50", "EUR", [("a", 1)]), (2, 2, "7.25", "CHF", [("b", 2), ("a", 1)])],
    "stock": [("a", 5, "A1", None), ("b", 0, None, None)],
    "returns": [(1, 2, "Too small", None)],
}


def copy_example(dags: Path, lake: Path, specs: Iterable[str]) -> None:
    """Copy files that ``migrate_lake`` reads to a folder of DAGs, for tables in another place.

    :param specs: names of files in ``dags_examples/migrations/``
    """
    (dags / "migrations").mkdir()
    for name in specs:
        declared = (_EXAMPLES / "migrations" / name).read_text(encoding="utf-8")
        (dags / "migrations" / name).write_text(declared.replace("/data/lake", str(lake)), encoding="utf-8")
    shutil.copy(_EXAMPLES / "migrations_policy.yaml", dags)


def make_tables(spark: SparkSession, lake: Path, names: Iterable[str] = tuple(_BEFORE)) -> dict[str, Path]:
    """Make tables as they are before; return their paths by name."""
    for name in names:
        columns, properties, rows = _BEFORE[name]
        spark.sql(f"CREATE TABLE delta.`{lake / name}` ({columns}) USING delta TBLPROPERTIES ({properties})")
        spark.sql(f"INSERT INTO delta.`{lake / name}` VALUES {rows}")
    return {name: lake / name for name in names}


def rows(spark: SparkSession, path: Path) -> list[tuple[Any, ...]]:
    """Return the rows of a table, structs as tuples and decimals as texts, ordered by the first column."""
    found = spark.read.format("delta").load(str(path)).collect()
    return sorted(tuple(map(_plain, row)) for row in found)


def logged(path: Path) -> dict[str, Any]:
    """Return what the log says of a table: columns as texts, and what else a spec declares."""
    metadata, protocol = log.last(path, "metaData"), log.protocol(path)
    domains = [
        action["domainMetadata"]["configuration"]
        for _, actions in sorted(log.commits(path).items())
        for action in actions
        if action.get("domainMetadata", {}).get("domain") == "delta.clustering"
    ]
    columns = json.loads(metadata["schemaString"])["fields"]
    physical = {_physical(column): column["name"] for column in columns}
    clustered = json.loads(domains[-1])["clusteringColumns"] if domains else None
    return {
        "columns": list(map(_column, columns)),
        "comment": metadata.get("description"),
        "properties": {
            key: value
            for key, value in metadata["configuration"].items()
            if not key.startswith(("delta.rowTracking.materialized", "delta.columnMapping.maxColumnId"))
        },
        "features": protocol.get("writerFeatures"),
        "clustered by": clustered and [physical[".".join(path)] for path in clustered],
    }


def _column(field: dict[str, Any]) -> str:
    metadata = field["metadata"]
    parts = [field["name"], _type(field["type"])]
    parts += [] if field["nullable"] else ["NOT NULL"]
    parts += [f"DEFAULT {metadata['CURRENT_DEFAULT']}"] if "CURRENT_DEFAULT" in metadata else []
    parts += [f"'{metadata['comment']}'"] if "comment" in metadata else []
    return " ".join(parts)


def _type(wire: Any) -> str:
    if isinstance(wire, str):
        return wire
    if wire["type"] == "array":
        return f"array<{_type(wire['elementType'])}>"
    return f"struct<{', '.join(map(_column, wire['fields']))}>"


def _physical(field: dict[str, Any]) -> str:
    return str(field["metadata"].get("delta.columnMapping.physicalName", field["name"]))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, list):
        return list(map(_plain, value))
    return str(value) if type(value).__name__ == "Decimal" else value
