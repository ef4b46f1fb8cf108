"""Small Delta tables for this tier, sound and broken."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from tests.tables import log

ROW_TRACKING = "'delta.enableRowTracking' = 'true'"


def orders(spark: SparkSession, path: Path, *, properties: str = "") -> Path:
    """Ten orders in one file: ``id``, ``quantity`` int, ``lines`` array of structs with a small price."""
    with_properties = f"TBLPROPERTIES ({properties})" if properties else ""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, quantity int, lines array<struct<sku string, price decimal(8,2)>>) "
        f"USING delta {with_properties}"
    )
    spark.sql(
        f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ id, id * 10, "
        "array(named_struct('sku', 'a', 'price', CAST(id AS decimal(8,2)))) FROM range(10)"
    )
    return path


def with_row_tracking(spark: SparkSession, path: Path) -> Path:
    """Row tracking from the beginning."""
    return orders(spark, path, properties=ROW_TRACKING)


def with_stored_row_ids(spark: SparkSession, path: Path, *, properties: str = ROW_TRACKING) -> Path:
    """Row tracking, and a file that stores row ids of rows that were updated: to compare them takes reading rows."""
    orders(spark, path, properties=properties)
    spark.sql(f"UPDATE delta.`{path}` SET quantity = quantity + 1 WHERE id % 2 = 0")
    return path


def without_row_ids(spark: SparkSession, path: Path) -> Path:
    """Row tracking, but the live file has lost its ids: a commit added it again without (RT05)."""
    with_row_tracking(spark, path)
    add = {**log.last(path, "add"), "dataChange": False}
    del add["baseRowId"], add["defaultRowCommitVersion"]
    log.commit(path, {"commitInfo": {"operation": "RESTATS", "timestamp": 1}}, {"add": add})
    return path


def with_shared_row_ids(spark: SparkSession, path: Path) -> Path:
    """Row tracking, but a second file was given the ids of the first: the log was edited (RT08)."""
    with_row_tracking(spark, path)
    spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ * FROM delta.`{path}`")
    add = {**log.last(path, "add"), "baseRowId": 0, "dataChange": False}
    log.commit(path, {"commitInfo": {"operation": "RESTATS", "timestamp": 1}}, {"add": add})
    return path


def copies_of(table: Path, number: int) -> list[Path]:
    """Copy a table as often as asked: a job over so many takes minutes."""
    return [Path(shutil.copytree(table, table.with_name(f"copy-{n:03}"))) for n in range(number)]


def changed(tables: list[Path]) -> list[Path]:
    """Return the tables that have more than the two commits they were made of."""
    return [table for table in tables if log.newest(table) > 1]


def is_enabled(table: Path) -> bool:
    """Whether type widening is in the protocol and switched on."""
    features = log.protocol(table).get("writerFeatures", [])
    return "typeWidening" in features and log.configuration(table).get("delta.enableTypeWidening") == "true"
