"""Tries one engine, in the environment that has it, on tables: needs nothing of this package.

    python try_engine.py ENGINE NAME PATH COLUMNS TYPES [MORE]

Prints, as JSON, what reading and appending gave: the rows, or why it was refused. Each table is tried in a process of
its own, since some releases abort; Spark takes a file of all tables.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

Try = Callable[[str, list[str], list[str]], Any]
#: A row to append, by the types of columns.
_VALUES: dict[str, Any] = {
    "integer": 9,
    "long": 9,
    "string": "9",
    "timestamp_ntz": datetime(2026, 1, 3),
}


def _rows(columns: dict[str, list[Any]], names: list[str]) -> list[list[Any]]:
    first, second = (columns[name] for name in names[:2])
    return sorted([one, str(two)] for one, two in zip(first, second))


def _arrow(columns: list[str], types: list[str]) -> Any:
    import pyarrow as pa

    known = {"integer": pa.int32(), "long": pa.int64(), "string": pa.string(), "timestamp_ntz": pa.timestamp("us")}
    return pa.table({name: pa.array([_VALUES[kind]], known[kind]) for name, kind in zip(columns, types)})


def _deltalake_query(path: str, columns: list[str], types: list[str]) -> Any:
    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    del types
    result = QueryBuilder().register("t", DeltaTable(path)).execute("select * from t")
    if hasattr(result, "fetchall"):
        result = result.fetchall()
    table = pa.Table.from_batches(result) if isinstance(result, list) else pa.table(result)
    return _rows(table.select(columns[:2]).to_pydict(), columns)


def _deltalake_arrow(path: str, columns: list[str], types: list[str]) -> Any:
    from deltalake import DeltaTable

    del types
    return _rows(DeltaTable(path).to_pyarrow_table(columns=columns[:2]).to_pydict(), columns)


def _deltalake_append(path: str, columns: list[str], types: list[str]) -> Any:
    from deltalake import DeltaTable, write_deltalake

    before = DeltaTable(path).version()
    write_deltalake(path, _arrow(columns, types), mode="append")
    return DeltaTable(path).version() - before


def _polars_read(path: str, columns: list[str], types: list[str]) -> Any:
    import polars

    del types
    return _rows(polars.scan_delta(path).collect().select(columns[:2]).to_dict(as_series=False), columns)


def _polars_append(path: str, columns: list[str], types: list[str]) -> Any:
    import polars
    from deltalake import DeltaTable

    before = DeltaTable(path).version()
    polars.from_arrow(_arrow(columns, types)).write_delta(path, mode="append")  # type: ignore[union-attr]  # a frame
    return DeltaTable(path).version() - before


def _duckdb() -> Any:
    import duckdb
    import duckdb_extension_delta

    folder = os.path.join(os.path.dirname(duckdb_extension_delta.__file__), "extensions")
    (release,) = os.listdir(folder)
    connection = duckdb.connect()
    connection.execute(f"LOAD '{folder}/{release}/delta.duckdb_extension'")
    return connection


def _duckdb_read(path: str, columns: list[str], types: list[str]) -> Any:
    del types
    named = ", ".join(f'"{name}"' for name in columns[:2])
    rows = _duckdb().execute(f"SELECT {named} FROM delta_scan('file://{path}')").fetchall()
    return sorted([one, str(two)] for one, two in rows)


def _duckdb_append(path: str, columns: list[str], types: list[str]) -> Any:
    connection, before = _duckdb(), len(os.listdir(os.path.join(path, "_delta_log")))
    connection.execute(f"ATTACH 'file://{path}' AS t (TYPE delta)")
    connection.execute(f"INSERT INTO t VALUES ({', '.join('?' for _ in columns)})", [_VALUES[kind] for kind in types])
    return len(os.listdir(os.path.join(path, "_delta_log"))) - before


WAYS: dict[str, dict[str, Try]] = {
    "deltalake": {"query": _deltalake_query, "pyarrow": _deltalake_arrow, "append": _deltalake_append},
    "polars": {"read": _polars_read, "append": _polars_append},
    "duckdb": {"read": _duckdb_read, "append": _duckdb_append},
}


def attempt(way: Try, path: str, columns: list[str], types: list[str]) -> dict[str, Any]:
    """Return what one way gives."""
    try:
        return {"gave": way(path, columns, types)}
    except (ImportError, KeyError) as error:
        return {"not tried": f"{type(error).__name__}: {error}"}
    except BaseException as error:  # a panic of Rust is no Exception
        return {"refused": f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"}


def _spark(file: str, jars: str) -> None:
    """Try all tables in one session, and print a line for each."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    builder = builder.config(
        "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    ).config("spark.jars.packages", jars)
    spark = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()

    def read(path: str, columns: list[str], types: list[str]) -> Any:
        del types
        rows = spark.read.format("delta").load(path).select(*columns[:2]).collect()
        return sorted([row[0], str(row[1])] for row in rows)

    def append(path: str, columns: list[str], types: list[str]) -> Any:
        before = len(os.listdir(os.path.join(path, "_delta_log")))
        values = [f"TIMESTAMP_NTZ'{_VALUES[t]}'" if t == "timestamp_ntz" else repr(_VALUES[t]) for t in types]
        spark.sql(f"INSERT INTO delta.`{path}` ({', '.join(columns)}) VALUES ({', '.join(values)})")
        return int(len(os.listdir(os.path.join(path, "_delta_log"))) > before)

    with open(file) as opened:
        tables = json.load(opened)
    for name, table in tables.items():
        found = {
            way: attempt(function, table["path"], table["columns"], table["types"])
            for way, function in (("read", read), ("append", append))
        }
        print(json.dumps({"table": name, "found": found}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "spark":
        _spark(sys.argv[2], sys.argv[3])
    else:
        engine, where, names, kinds = sys.argv[1:5]
        for each, function in WAYS[engine].items():
            result = attempt(function, where, json.loads(names), json.loads(kinds))
            print(json.dumps({"way": each, "found": result}), flush=True)
        os._exit(0)
