"""Makes a table as a library does with its default settings: some appends of a few rows, all common types.

    python default_tables.py LIBRARY FOLDER COLUMNS APPENDS VALUES

It runs with the Python of an environment that has the library and needs nothing of this package. LIBRARY is
``deltalake``, ``polars``, ``daft``, or ``spark:`` and the Maven coordinates of Delta. VALUES are ``plain``, or
``awkward``: then strings have quotes, and timestamps microseconds, so that an audit takes no shortcut for their
statistics.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator
from typing import Any

ROWS = 3
AWKWARD = "awkward"
_DAY, _MOMENT = datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, 12, 30, 15, 123000, datetime.timezone.utc)
#: By name, what makes a value of a type of a number.
_VALUES: dict[str, Callable[[int], Any]] = {
    "long": lambda number: number,
    "double": lambda number: number + 0.125,
    "string": lambda number: f"text {number} ü",
    "boolean": lambda number: number % 2 == 0,
    "date": lambda number: _DAY + datetime.timedelta(days=number),
    "timestamp": lambda number: _MOMENT + datetime.timedelta(seconds=number),
}
_AWKWARD: dict[str, Callable[[int], Any]] = {
    "string": lambda number: f'text "{number}" ü',
    "timestamp": lambda number: _MOMENT + datetime.timedelta(seconds=number, microseconds=456),
}


def columns_of(number: int, columns: int, values: str) -> dict[str, list[Any]]:
    """Return the values of an append, by columns; some are missing."""
    kinds = list(({**_VALUES, **_AWKWARD} if values == AWKWARD else _VALUES).items())
    found = {}
    for place in range(columns):
        kind, value = kinds[place % len(kinds)]
        rows = [None if (row + place) % 7 == 6 else value(number + row + place) for row in range(ROWS)]
        found[f"{kind}_{place}"] = rows
    return found


def frames(columns: int, appends: int, values: str) -> Iterator[Any]:
    """Yield the rows of each append as a table of PyArrow."""
    import pyarrow as pa

    types = {
        "long": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
    }
    for number in range(appends):
        found = columns_of(number, columns, values)
        yield pa.table({name: pa.array(rows, types[name.partition("_")[0]]) for name, rows in found.items()})


def by_deltalake(folder: str, columns: int, appends: int, values: str) -> None:
    """Write with delta-rs."""
    from deltalake import write_deltalake

    for table in frames(columns, appends, values):
        write_deltalake(folder, table, mode="append")


def by_polars(folder: str, columns: int, appends: int, values: str) -> None:
    """Write with Polars."""
    import polars

    for table in frames(columns, appends, values):
        polars.from_arrow(table).write_delta(folder, mode="append")


def by_daft(folder: str, columns: int, appends: int, values: str) -> None:
    """Write with Daft."""
    import daft

    for table in frames(columns, appends, values):
        daft.from_arrow(table).write_deltalake(folder, mode="append")


def by_spark(jars: str, folder: str, columns: int, appends: int, values: str) -> None:
    """Write with Delta Spark, in a session of its own."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    spark = builder.config("spark.jars.packages", jars).getOrCreate()
    append_by_spark(spark, folder, columns, appends, values)
    spark.stop()


def append_by_spark(spark: Any, folder: str, columns: int, appends: int, values: str) -> None:
    """Write with Delta Spark."""
    first = columns_of(0, columns, values)
    schema = ", ".join(f"{name} {name.partition('_')[0].replace('long', 'bigint')}" for name in first)
    for number in range(appends):
        rows = list(zip(*columns_of(number, columns, values).values()))
        spark.createDataFrame(rows, schema).write.format("delta").mode("append").save(folder)


def main(library: str, folder: str, columns: int, appends: int, values: str) -> None:
    """Make one table."""
    if library.startswith("spark:"):
        by_spark(library.partition(":")[2], folder, columns, appends, values)
        return
    {"deltalake": by_deltalake, "polars": by_polars, "daft": by_daft}[library](folder, columns, appends, values)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
