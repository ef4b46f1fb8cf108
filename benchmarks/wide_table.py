"""A small Delta table to widen: one file, ten integer columns and a few thousand rows."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

COLUMNS = tuple(f"c{n}" for n in range(10))


def make_table(spark: SparkSession, path: Path) -> None:
    """Write the table at ``path``, with type widening enabled."""
    columns = ", ".join(f"CAST(id AS int) AS {name}" for name in COLUMNS)
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true') "
        f"AS SELECT {columns} FROM range(5000)"
    )
