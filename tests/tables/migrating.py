"""Tables to migrate: something of each thing that a spec may declare."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.tables.beginning import beginning_as


def plain(spark: SparkSession, path: Path) -> None:
    """Three rows, the last one without values, in two partitions."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int NOT NULL, a int, b string, s struct<x: int, y: string>, "
        "l array<struct<u: int, v: int>>, m map<string, smallint>, day date) USING delta PARTITIONED BY (day) "
        "COMMENT 'old' TBLPROPERTIES ('team' = 'me', 'delta.enableTypeWidening' = 'true')"
    )
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT positive CHECK (id > 0)")
    spark.sql(
        f"INSERT INTO delta.`{path}` VALUES "
        "(1, 10, '1', struct(11, 'y1'), array(struct(12, 13)), map('k', 1S), DATE'2024-01-01'), "
        "(2, 20, '2', struct(21, 'y2'), array(struct(22, 23), null), map('k', 2S, 'l', null), DATE'2024-01-02'), "
        "(3, null, null, null, null, null, DATE'2024-01-02')"
    )


@beginning_as(plain)
def mapped(spark: SparkSession, path: Path) -> None:
    """The same with column mapping, and defaults allowed."""
    spark.sql(
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
        "'delta.feature.allowColumnDefaults' = 'supported')"
    )


#: What `plain` is to become, as a file declares it: something of everything, in many commits.
DECLARED = {
    "columns": [
        {"name": "id", "type": "bigint", "comment": "number"},
        {"name": "amount", "type": "bigint", "renamed_from": "a", "default": "0"},
        {"name": "b", "type": "int", "rewrite": True},
        {
            "name": "s",
            "type": "struct",
            "fields": [
                {"name": "x", "type": "bigint"},
                {"name": "z", "type": "decimal(5,2)", "comment": "new"},
            ],
        },
        {"name": "noted", "type": "string", "default": "'no'"},
        {"name": "day", "type": "date", "nullable": False},
    ],
    "drop": ["m"],
    "features": ["columnMapping"],
    "properties": {"team": None, "owner_team": "data", "delta.appendOnly": "false"},
    "constraints": {"positive": None, "amount_known": "amount IS NOT NULL OR id > 2"},
    "comment": "All of them",
}
