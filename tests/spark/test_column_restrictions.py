"""Each reason against dropping or renaming a column, held against what Delta Spark itself does."""

from __future__ import annotations

import os

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from tests.tables import log

pytestmark = pytest.mark.nightly

ROW = "named_struct('x', 1, 'y', 2)"


def partitioned(spark, path) -> None:
    """Partitioned; with a generated column, a CHECK constraint, and a list of columns with statistics."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, p string, a int, g int GENERATED ALWAYS AS (a + 1), c int, "
        "s struct<x: int, y: int>, st int) USING delta PARTITIONED BY (p) TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name', 'delta.dataSkippingStatsColumns' = 'st,s.x')"
    )
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT positive CHECK (c > 0)")
    spark.sql(f"INSERT INTO delta.`{path}` (id, p, a, c, s, st) SELECT 1, 'x', 1, 1, {ROW}, 1")


def clustered(spark, path) -> None:
    """Clustered by a column and by a field of a struct."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, k int, s struct<x: int, y: int>) USING delta CLUSTER BY (k, s.x) "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` SELECT 1, 1, {ROW}")


def iceberg(spark, path) -> None:
    """Partitioned, with Iceberg compatibility."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, p string) USING delta PARTITIONED BY (p) TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name', 'delta.enableIcebergCompatV2' = 'true')"
    )


def beside_partition(spark, path) -> None:
    """One column beside the partition column."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, p string) USING delta PARTITIONED BY (p) TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name')"
    )


def statement(path, asked: dict) -> str:
    ((column, new),) = asked.get("rename", {None: None}).items()
    change = f"DROP COLUMN {asked['drop'][0]}" if "drop" in asked else f"RENAME COLUMN {column} TO {new}"
    return f"ALTER TABLE delta.`{path}` {change}"


@pytest.mark.parametrize(
    ("builder", "asked"),
    [
        (partitioned, {"drop": ["p"]}),
        (partitioned, {"rename": {"a": "b"}}),
        (partitioned, {"drop": ["a"]}),
        (partitioned, {"rename": {"c": "b"}}),
        (partitioned, {"drop": ["c"]}),
        (clustered, {"drop": ["k"]}),
        (clustered, {"drop": ["s.x"]}),
        (iceberg, {"rename": {"p": "q"}}),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_change_that_is_refused_is_refused_by_the_engine_too(spark, built, alter, builder, asked):
    path = built(builder)
    before = log.contents(path)
    refused = alter(path, **asked, dry_run=True)
    assert [finding.code for finding in refused.findings] == ["RQ51"]
    with pytest.raises(Exception, match=r"DELTA_|ICEBERG"):
        spark.sql(statement(path, asked))
    assert log.contents(path) == before


def test_changes_that_the_engine_makes_are_made_and_rows_are_read_and_written_afterwards(spark, table, alter, audit):
    path = table(partitioned)
    renames = {"p": "q", "g": "next", "st": "stat", "s.x": "z"}
    report = alter(path, rename=renames, drop=["s.y"])
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert log.configuration(path)["delta.dataSkippingStatsColumns"] == "stat,s.z"
    spark.sql(f"INSERT INTO delta.`{path}` (id, q, a, c, s, stat) SELECT 2, 'y', 5, 1, named_struct('z', 9), 3")
    rows = spark.sql(f"SELECT id, q, next, s.z, stat FROM delta.`{path}` WHERE q = 'y' OR stat = 1 ORDER BY id")
    assert [tuple(row) for row in rows.collect()] == [(1, "x", 2, 1, 1), (2, "y", 6, 9, 3)]
    assert alter(path, drop=["next", "stat"]).verdict is Verdict.PASS
    assert log.configuration(path)["delta.dataSkippingStatsColumns"] == "s.z"
    assert alter(path, rename={"a": "b"}).verdict is Verdict.PASS, "no generated column uses it any more"
    assert audit(path).findings == ()


def test_clustering_columns_are_renamed_and_the_table_stays_clustered_by_them(spark, table, alter, audit):
    path = table(clustered)
    assert alter(path, rename={"k": "key", "s": "t"}).verdict is Verdict.PASS
    spark.sql(f"INSERT INTO delta.`{path}` SELECT 2, 2, {ROW}")
    spark.sql(f"OPTIMIZE delta.`{path}`")
    assert spark.sql(f"DESCRIBE DETAIL delta.`{path}`").first()["clusteringColumns"] == ["key", "t.x"]
    assert audit(path).findings == ()


def test_struct_above_a_clustering_column_is_kept_since_the_engine_drops_it_and_goes_on_looking_for_it(
    spark, table, alter, audit
):
    path = table(clustered)
    assert [finding.code for finding in alter(path, drop=["s"]).findings] == ["RQ51"]
    spark.sql(statement(path, {"drop": ["s"]}))
    assert [finding.code for finding in audit(path).findings] == ["CM17"]


def test_last_column_beside_partitions_is_kept_since_the_engine_drops_it_and_cannot_write_then(spark, table, alter):
    path = table(beside_partition)
    assert [finding.code for finding in alter(path, drop=["id"]).findings] == ["RQ51"]
    spark.sql(statement(path, {"drop": ["id"]}))
    with pytest.raises(Exception, match="DELTA_"):
        spark.sql(f"INSERT INTO delta.`{path}` VALUES ('x')")


def test_migration_renames_what_a_statement_would_and_rewrites_nothing(spark, table, run_job, audit):
    path = table(partitioned)
    spec = {
        "columns": [
            {"name": "q", "renamed_from": "p"},
            {"name": "stat", "renamed_from": "st", "type": "bigint"},
            {"name": "s", "type": "struct", "fields": [{"name": "z", "renamed_from": "x"}]},
        ],
        "partition_by": ["q"],
    }
    files = sorted(os.listdir(path))
    options = ApplyMigrationOptions(spec=(spec,), allow_protocol_upgrade=True)
    report = run_job([path], options).tables[0]
    assert (report.verdict, report.changed) == (Verdict.PASS, True), report.findings
    assert sorted(os.listdir(path)) == files
    assert log.configuration(path)["delta.dataSkippingStatsColumns"] == "stat,s.z"
    spark.sql(f"INSERT INTO delta.`{path}` (id, q, a, c, s, stat) SELECT 2, 'y', 5, 1, {ROW}, 3")
    rows = spark.sql(f"SELECT id, q, s.z, stat FROM delta.`{path}` ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "x", 1, 1), (2, "y", 1, 3)]
    assert audit(path).findings == ()
