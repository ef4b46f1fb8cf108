"""Columns with rules, values and types of their own."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.tables.audit_stories.statements import (
    MAP,
    ROWS,
    UPDATE,
    VECTORS,
    create,
    drop_feature,
    insert,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import refused, story, wrote


def _generated(spark: SparkSession, path: Path) -> None:
    from delta.tables import DeltaTable, IdentityGenerator

    builder = DeltaTable.create(spark).location(str(path)).addColumn("id", "BIGINT").addColumn("v", "INT")
    builder = builder.addColumn("w", "BIGINT", generatedAlwaysAs="id * 2").addColumn(
        "i", "BIGINT", generatedAlwaysAs=IdentityGenerator(start=5, step=2)
    )
    builder.addColumn("d", "DATE", generatedAlwaysAs="date_add(DATE'2020-01-01', v)").partitionedBy("d").execute()


STORIES = {
    "constraints": story(
        create("id bigint NOT NULL, name string, v int"),
        ROWS,
        "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id >= 0)",
        insert(16, 18),
        "ALTER TABLE {t} ALTER COLUMN id DROP NOT NULL",
        "ALTER TABLE {t} DROP CONSTRAINT c",
        restore(3),
        "ALTER TABLE {t} ADD CONSTRAINT d CHECK (id < 1000)",
        "ALTER TABLE {t} DROP CONSTRAINT c",
        "ALTER TABLE {t} DROP CONSTRAINT d",
        drop_feature("checkConstraints"),
        "ALTER TABLE {t} ADD CONSTRAINT d CHECK (id < 1000)",
        refused("ALTER TABLE {t} ADD CONSTRAINT e CHECK (id < 2)"),
        set_properties(**VECTORS),
        UPDATE,
        "ALTER TABLE {t} DROP CONSTRAINT d",
        drop_feature("checkConstraints"),
        insert(18, 19),
    ),
    "generated and identity columns": story(
        _generated,
        "INSERT INTO {t} (id, v) SELECT id, 1 FROM range(0, 4, 1, 2)",
        "INSERT INTO {t} (id, v) SELECT id, 2 FROM range(4, 6)",
        "UPDATE {t} SET v = 3 WHERE id = 1",
        "ALTER TABLE {t} ALTER COLUMN i SYNC IDENTITY",
        "MERGE INTO {t} t USING (SELECT id FROM range(3, 8)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 4 "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 5)",
        set_properties(enableRowTracking="true", columnMapping__mode="name"),
        "ALTER TABLE {t} ADD COLUMN z int",
        "DELETE FROM {t} WHERE id = 2",
        restore(1),
        "INSERT INTO {t} (id, v) SELECT id, 2 FROM range(4, 6)",
        restore(9),
        "ALTER TABLE {t} DROP COLUMN z",
    ),
    "defaults": story(
        create("id bigint, v int"),
        "INSERT INTO {t} VALUES (1, 2)",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
        "ALTER TABLE {t} ALTER COLUMN v SET DEFAULT 7",
        "INSERT INTO {t} (id) VALUES (3)",
        "ALTER TABLE {t} ALTER COLUMN v DROP DEFAULT",
        MAP,
        "ALTER TABLE {t} ALTER COLUMN v SET DEFAULT 8",
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        "ALTER TABLE {t} ADD COLUMN v int",
        restore(1),
        "INSERT INTO {t} VALUES (1, 2)",
        refused(drop_feature("allowColumnDefaults")),
    ),
    "defaults from the start": story(
        "CREATE TABLE {t} (id bigint, v int DEFAULT 3) USING delta "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
        "INSERT INTO {t} (id) VALUES (1)",
        refused("CREATE OR REPLACE TABLE {t} (id bigint, v int) USING delta"),
        "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1L AS id, 2 AS v",
        "INSERT INTO {t} VALUES (1, 2)",
    ),
    "timestamp_ntz, variant, char": story(
        create("id bigint, t timestamp_ntz, x variant, c char(3), w varchar(4)"),
        "INSERT INTO {t} SELECT 1L, TIMESTAMP_NTZ'2020-01-01 00:00:00', parse_json('{\"a\": 1}'), 'abc', 'd'",
        "ALTER TABLE {t} ADD COLUMN s struct<t: timestamp_ntz, y: variant>",
        "UPDATE {t} SET s = named_struct('t', t, 'y', x)",
        MAP,
        "ALTER TABLE {t} DROP COLUMN x",
        "ALTER TABLE {t} ALTER COLUMN w TYPE varchar(10)",
        "ALTER TABLE {t} DROP COLUMN s",
        "ALTER TABLE {t} DROP COLUMN t",
        refused(drop_feature("timestampNtz")),
        restore(1),
    ),
    "timestamp_ntz, late": story(
        create("id bigint"),
        "INSERT INTO {t} VALUES (1)",
        set_properties(**VECTORS),
        "ALTER TABLE {t} SET TBLPROPERTIES "
        "('delta.feature.timestampNtz' = 'supported', 'delta.feature.variantType' = 'supported')",
        "ALTER TABLE {t} ADD COLUMN t timestamp_ntz",
        "ALTER TABLE {t} ADD COLUMN x variant",
        "INSERT INTO {t} SELECT 1L, TIMESTAMP_NTZ'2020-01-01 00:00:00', parse_json('1')",
        set_properties(enableVariantShredding="true"),
        "INSERT INTO {t} SELECT 1L, TIMESTAMP_NTZ'2020-01-01 00:00:00', parse_json('1')",
        restore(1),
        "INSERT INTO {t} VALUES (1)",
        wrote("SELECT 1L AS id, parse_json('1') AS x", "overwrite", overwriteSchema="true"),
    ),
}
