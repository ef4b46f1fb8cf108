"""Tables whose columns are to be widened, each with two files or more."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.tables.beginning import beginning_as

_ON = "'delta.enableTypeWidening' = 'true'"
AWKWARD_NAMES = ("a.b", "it`s", "quo'te", "sp ace", "列", 'dou"ble', "a`; DROP TABLE x; --")


def nested(spark: SparkSession, path: Path, *, enabled: bool = True, mapping: str = "none") -> None:
    """A widenable column in every kind of place: field, element, key, value, and below one another.

    :param mapping: mode of column mapping
    """
    on = [_ON] if enabled else []
    properties = f"TBLPROPERTIES ({', '.join([*on, repr('delta.columnMapping.mode') + ' = ' + repr(mapping)])})"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, q smallint, f float, d decimal(6,2), day date, "
        "s struct<a: int, b: struct<c: tinyint>>, arr array<int>, m map<smallint, int>, "
        "lines array<struct<price: decimal(6,2), tags: map<int, array<int>>>>, "
        f"mm map<struct<k: int>, struct<v: int>>, aa array<array<int>>) USING delta {properties}"
    )
    row = (
        "{id} AS id, CAST({id} AS smallint) AS q, CAST({id} / 4 AS float) AS f, CAST({id}.25 AS decimal(6,2)) AS d, "
        "DATE'2020-01-0{id}' AS day, struct({id} AS a, struct(CAST({id} AS tinyint) AS c) AS b) AS s, "
        "array({id}, NULL, -5) AS arr, map(CAST({id} AS smallint), {id} * 10) AS m, "
        "array(struct(CAST({id}.5 AS decimal(6,2)) AS price, map({id}, array({id}, NULL)) AS tags), NULL) AS lines, "
        "map(struct({id} AS k), struct({id} AS v)) AS mm, array(array({id}, 2), NULL) AS aa"
    )
    for number in (1, 2):
        spark.sql(f"INSERT INTO delta.`{path}` SELECT {row.format(id=number)}")
    spark.sql(f"INSERT INTO delta.`{path}` (id) VALUES (NULL)")


def flat(spark: SparkSession, path: Path, *, properties: str = "", enabled: bool = True) -> None:
    """Columns ``id int, q int, day date, part smallint``, partitioned by ``part``."""
    listed = ", ".join(filter(None, [_ON if enabled else "", properties]))
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, q int, day date, part smallint) USING delta PARTITIONED BY (part) "
        + (f"TBLPROPERTIES ({listed})" if listed else "")
    )
    for number in (1, 2):
        rows = f"({number}, {number}, DATE'2020-01-01', {number}), ({number}, NULL, NULL, 7)"
        spark.sql(f"INSERT INTO delta.`{path}` VALUES {rows}")


def mapped(spark: SparkSession, path: Path) -> None:
    """Column mapping in mode name, a column renamed since: logical and physical names differ."""
    flat(spark, path, properties="'delta.columnMapping.mode' = 'name'")
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN q TO quantity")


def two_columns(spark: SparkSession, path: Path, *, values: str) -> None:
    """Columns ``q int, r int``, mapped by name, so that they can be told to read each other's values."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (q int, r int) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def with_deletion_vectors(spark: SparkSession, path: Path) -> None:
    """One row of each file deleted by a deletion vector; a deleted value is the largest."""
    flat(spark, path, properties="'delta.enableDeletionVectors' = 'true'")
    spark.sql(f"INSERT INTO delta.`{path}` SELECT id, id, NULL, 1 FROM range(100)")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE q >= 90")


@beginning_as(flat)
def constrained(spark: SparkSession, path: Path) -> None:
    """A CHECK constraint on ``q``, none on ``id``."""
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT positive CHECK (q IS NULL OR q > 0)")


def generated(spark: SparkSession, path: Path) -> None:
    """Column ``twice`` generated from ``q``."""
    from delta.tables import DeltaTable

    (
        DeltaTable.create(spark)
        .location(str(path))
        .addColumn("id", "int")
        .addColumn("q", "int")
        .addColumn("twice", "bigint", generatedAlwaysAs="CAST(q AS bigint) * 2")
        .property("delta.enableTypeWidening", "true")
        .execute()
    )
    spark.sql(f"INSERT INTO delta.`{path}` (id, q) VALUES (1, 1)")


def iceberg_compatible(spark: SparkSession, path: Path) -> None:
    """IcebergCompatV2 with column mapping."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, q int, d decimal(6,2)) USING delta TBLPROPERTIES "
        f"({_ON}, 'delta.columnMapping.mode' = 'name', 'delta.enableIcebergCompatV2' = 'true')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 1, 1.5)")


def awkwardly_named(spark: SparkSession, path: Path) -> None:
    """Integer columns with dots, backticks, quotes, spaces and SQL in their names, and a struct ``a`` with ``b``."""
    columns = ", ".join(f"`{name.replace('`', '``')}` int" for name in AWKWARD_NAMES)
    spark.sql(
        f"CREATE TABLE delta.`{path}` ({columns}, a struct<b: int>, x int) USING delta "
        f"TBLPROPERTIES ({_ON}, 'delta.columnMapping.mode' = 'name')"
    )
    values = ", ".join(str(number) for number in range(len(AWKWARD_NAMES)))
    spark.sql(f"INSERT INTO delta.`{path}` VALUES ({values}, named_struct('b', 1), 5)")
