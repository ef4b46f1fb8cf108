"""Tables of Hive's metastore, within Spark and on disk, by a real submit."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.soak


def statements(folder: Path) -> list[str]:
    """Return what makes a schema with tables of all sorts."""
    return [
        "CREATE SCHEMA shop",
        "CREATE TABLE shop.managed (id int) USING delta",
        "INSERT INTO shop.managed VALUES (1)",
        f"CREATE TABLE shop.Orders (id int) USING delta LOCATION '{folder}/orders of 2026'",
        "CREATE TABLE shop.raw (id int) USING parquet",
        "CREATE TABLE shop.hive (id int) STORED AS ORC",
        "CREATE VIEW shop.recent AS SELECT * FROM shop.orders",
    ]


def settings(folder: Path) -> dict[str, str]:
    """Return the settings of a session whose metastore is below a folder."""
    return {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
    }


def test_schema_is_audited_by_the_names_of_its_delta_tables(tmp_path, run_statements, runner_with) -> None:
    run_statements(settings(tmp_path), statements(tmp_path))
    with runner_with(settings(tmp_path)) as runner:
        audit = runner.start("schema").tasks()["audit"]
    rows = {row["table"]: row["verdict"] for row in audit.xcoms["return_value"]["tables"]}
    assert rows == {"shop.managed": "PASS", "shop.orders": "PASS"}
