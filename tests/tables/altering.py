"""Tables whose columns are to be changed: odd names, nested columns, one row in each of two files."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession


def oddly_named(spark: SparkSession, path: Path, *, mode: str = "name") -> None:
    """Column mapping in ``mode``; values tell the columns apart."""
    spark.sql(
        f'CREATE TABLE delta.`{path}` (id int, `a.b` int, `it\'s "so"` int, s struct<x: int, `y z`: int>, '
        "l array<struct<x: int, y: int>>, m map<string, struct<v: int, w: int>>) USING delta "
        f"TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}')"
    )
    for number in (1, 2):
        spark.sql(
            f"INSERT INTO delta.`{path}` SELECT {number}, {number}1, {number}2, named_struct('x', {number}3, 'y z', "
            f"{number}4), array(named_struct('x', {number}5, 'y', {number}6)), "
            f"map('k', named_struct('v', {number}7, 'w', {number}8))"
        )
