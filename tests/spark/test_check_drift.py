"""Drift of tables that Delta Spark wrote: what schema evolution widened or added is named with its commit."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.migration_options import CheckDriftOptions

pytestmark = pytest.mark.nightly

SPEC = {
    "columns": [
        {"name": "id", "type": "bigint", "nullable": False, "comment": "Order number"},
        {"name": "quantity", "type": "int", "default": "1"},
        {"name": "customer", "type": "struct<name:string,fax:string>"},
    ],
    "exact": True,
    "properties": {"delta.enableChangeDataFeed": True, "owner_team": "sales"},
    "features": ["typeWidening", "allowColumnDefaults"],
    "constraints": {"positive": "id > 0"},
    "cluster_by": ["id", "customer.name"],
    "comment": "Orders of all shops",
}


@pytest.fixture
def orders(spark, tmp_path):
    path = tmp_path / "orders"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT NOT NULL COMMENT 'Order number', quantity INT DEFAULT 1, "
        "customer STRUCT<name: STRING, fax: STRING>) USING delta CLUSTER BY (id, customer.name) "
        "COMMENT 'Orders of all shops' TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'owner_team' = 'sales', "
        "'delta.enableTypeWidening' = 'true', 'delta.feature.allowColumnDefaults' = 'supported', "
        "'delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT positive CHECK (id > 0)")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 2, struct('ana', NULL))")
    return path


@pytest.fixture
def drift(run_job):
    def check(path, spec=SPEC):
        return run_job([path], CheckDriftOptions(spec=(spec,))).tables[0]

    return check


def test_a_table_that_was_made_as_it_is_declared_has_no_drift(orders, drift):
    report = drift(orders)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())


def test_what_schema_evolution_widened_and_added_is_named_with_its_commit(spark, orders, drift):
    spark.sql(f"INSERT INTO delta.`{orders}` VALUES (2, 3, struct('bob', NULL))")
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        spark.sql(
            f"MERGE INTO delta.`{orders}` t USING (SELECT 1L AS id, 5000000000 AS quantity, "
            "struct('ana' AS name, 'f' AS fax, 'm' AS mail) AS customer, 'x' AS note) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    evolved = spark.sql(f"DESCRIBE HISTORY delta.`{orders}`").collect()[0]
    spark.sql(f"INSERT INTO delta.`{orders}` VALUES (3, 4, struct('eve', NULL, NULL), 'y')")
    report = drift(orders)
    assert report.verdict is Verdict.VIOLATED
    found = {(f.code, f.column): f for f in report.findings}
    assert set(found) == {("DR04", "note"), ("DR04", "customer.mail"), ("DR05", "quantity")}
    assert {(f.version, f.operation) for f in found.values()} == {(evolved["version"], "MERGE")}
    widened = found["DR05", "quantity"]
    assert (widened.facts, widened.writer) == ({"wanted": "int", "actual": "bigint"}, "Delta Spark 4.4.0")
    assert widened.evidence.startswith(f"quantity is bigint since version {evolved['version']} (MERGE by Apache-Spark/")


def test_each_change_has_its_own_commit(spark, orders, drift):
    before = spark.sql(f"DESCRIBE HISTORY delta.`{orders}`").collect()[0]["version"]
    for change in (
        "DROP CONSTRAINT positive",
        "SET TBLPROPERTIES ('owner_team' = 'other')",
        "ALTER COLUMN id COMMENT 'Number'",
        "RENAME COLUMN customer.fax TO phone",
        "CLUSTER BY (id)",
        "ALTER COLUMN id DROP NOT NULL",
        "ALTER COLUMN quantity AFTER customer",
    ):
        spark.sql(f"ALTER TABLE delta.`{orders}` {change}")
    spark.sql(f"COMMENT ON TABLE delta.`{orders}` IS 'Orders'")
    found = {(f.code, f.column or f.subject): f.version for f in drift(orders).findings}
    assert {key: version - before for key, version in found.items()} == {
        ("DR14", "positive"): 1,
        ("DR11", "owner_team"): 2,
        ("DR08", "id"): 3,
        ("DR02", "customer.fax"): 4,
        ("DR04", "customer.phone"): 4,
        ("DR16", None): 5,
        ("DR06", "id"): 6,
        ("DR07", None): 7,
        ("DR17", None): 8,
    }


def test_freshness_and_rows_of_a_table_that_spark_wrote(spark, tmp_path, drift):
    path = tmp_path / "orders"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', "
        "'delta.enableInCommitTimestamps' = 'true')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` SELECT id FROM range(0, 100, 1, 2)")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 10 = 3")
    spark.sql(f"OPTIMIZE delta.`{path}`")
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('owner_team' = 'sales')")
    report = drift(path, {"freshness": "1h", "rows": {"min": 90, "max": 90}})
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    evidence = report.evidence
    assert (evidence["rows"], evidence["data_version"]) == (90, 2)
    assert evidence["data_time_source"] == "inCommitTimestamp"
    assert [f.code for f in drift(path, {"freshness": "1s", "rows": {"min": 91}}).findings] == ["DR18", "DR19"]
