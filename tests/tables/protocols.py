"""Tables on the protocols that are met in the wild, each with two files of two rows."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.tables.beginning import beginning_as


def with_protocol(spark: SparkSession, path: Path, *, reader: int = 1, writer: int = 2, properties: str = "") -> None:
    """Columns ``id int, name string, day date``."""
    more = f", {properties}" if properties else ""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, name string, day date) USING delta "
        f"TBLPROPERTIES ('delta.minReaderVersion' = '{reader}', 'delta.minWriterVersion' = '{writer}'{more})"
    )
    for first in (1, 3):
        rows = f"SELECT /*+ COALESCE(1) */ id, 'x', DATE'2020-01-01' FROM range({first}, {first + 2})"
        spark.sql(f"INSERT INTO delta.`{path}` {rows}")


def legacy(spark: SparkSession, path: Path) -> None:
    """Reader 1, writer 2: what Delta wrote before table features."""
    with_protocol(spark, path)


def mappable(spark: SparkSession, path: Path) -> None:
    """Reader 2, writer 5: the last common legacy pair, which implies column mapping."""
    with_protocol(spark, path, reader=2, writer=5)


def modern(spark: SparkSession, path: Path) -> None:
    """Reader 3, writer 7, with deletion vectors."""
    with_protocol(spark, path, reader=3, writer=7, properties="'delta.enableDeletionVectors' = 'true'")


def mapped_by_id(spark: SparkSession, path: Path) -> None:
    """Column mapping in mode id, which can be chosen at creation only."""
    with_protocol(spark, path, reader=2, writer=5, properties="'delta.columnMapping.mode' = 'id'")


def suspended_row_tracking(spark: SparkSession, path: Path) -> None:
    """Row tracking supported, but suspended, as a drop of the feature that was given up leaves it."""
    with_protocol(spark, path, properties="'delta.feature.rowTracking' = 'supported'")
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.rowTrackingSuspended' = 'true')")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (9, 'no ids', NULL)")


@beginning_as(legacy)
def supported_row_tracking(spark: SparkSession, path: Path) -> None:
    """Row tracking supported and not enabled: new files get ids, older ones have none."""
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.feature.rowTracking' = 'supported')")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (9, 'has ids', NULL)")
