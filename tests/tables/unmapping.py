"""Tables with column mapping that was added later: every column lies under its own name."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

#: A column of every kind of place, under names that are awkward and legal without mapping.
COLUMNS = (
    'id BIGINT, `a.b` STRING, `it\'s"q"` INT, `tick``s` DATE, `größe_名` DECIMAL(9,2), '
    "s STRUCT<x: BIGINT, `y.z`: STRING>, lines ARRAY<STRUCT<price: BIGINT, note: STRING>>, "
    "m MAP<STRING, STRUCT<v: INT>>"
)
ROWS = (
    "SELECT /*+ COALESCE(1) */ id, IF(id % 3 = 0, NULL, concat('a', id)), CAST(id AS INT), DATE'2026-01-01' + CAST(id "
    "AS INT), CAST(id / 4 AS DECIMAL(9,2)), IF(id % 4 = 0, NULL, named_struct('x', id, 'y.z', concat('y', id))), "
    "array(named_struct('price', id, 'note', concat('n', id)), NULL), map(concat('k', id), named_struct('v', "
    "CAST(id AS INT)))"
)


def mapped_late(spark: SparkSession, path: Path) -> None:
    """Written, mapped by name, a column and a nested one renamed there and back, and written again."""
    table = f"delta.`{path}`"
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING delta")
    spark.sql(f"INSERT INTO {table} {ROWS} FROM range(0, 8)")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    for old, new in (("`a.b`", "other"), ("s.x", "other")):
        name = old.rpartition(".")[2] if old == "s.x" else old
        back = f"s.{new}" if old == "s.x" else new
        spark.sql(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
        spark.sql(f"ALTER TABLE {table} RENAME COLUMN {back} TO {name}")
    spark.sql(f"INSERT INTO {table} {ROWS} FROM range(8, 16)")


def dropped(spark: SparkSession, path: Path) -> None:
    """Small, with a change data feed, mapped late, a column and a nested one dropped; older files still hold both."""
    table = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {table} (a BIGINT, b STRING, s STRUCT<x: BIGINT, y: STRING>) USING delta "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    )
    spark.sql(
        f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 'old', named_struct('x', id, 'y', 'old') FROM range(3)"
    )
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE {table} DROP COLUMNS (b, s.y)")
    spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, named_struct('x', id) FROM range(3, 6)")


def small(spark: SparkSession, path: Path) -> None:
    """Two columns, mapped late."""
    table = f"delta.`{path}`"
    spark.sql(f"CREATE TABLE {table} (a BIGINT, b STRING) USING delta")
    spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 'old' FROM range(3)")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")


def created_mapped(spark: SparkSession, path: Path) -> None:
    """Empty, created with mapping: the engine made its physical names up."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (a BIGINT, b STRING) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
