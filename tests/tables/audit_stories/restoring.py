"""RESTORE to versions of another protocol or metadata."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.tables.audit_stories.statements import (
    MAP,
    OPTIMIZE,
    ROW_TRACKING,
    ROWS,
    UNMAP,
    UPDATE,
    VECTORS,
    WIDEN,
    create,
    drop_feature,
    insert,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import story


def _identity(spark: SparkSession, path: Path) -> None:
    from delta.tables import DeltaTable, IdentityGenerator

    identity = IdentityGenerator(start=5, step=2)
    builder = DeltaTable.create(spark).location(str(path)).addColumn("id", "BIGINT", generatedAlwaysAs=identity)
    for name in ("v", "w"):
        builder = builder.addColumn(name, "INT")
    builder = builder.property("delta.enableTypeWidening", "true")
    builder.property("delta.columnMapping.mode", "name").execute()


STORIES = {
    "restored, identity columns": story(
        _identity,
        "INSERT INTO {t} (v, w) SELECT CAST(id AS int), 1 FROM range(4)",
        WIDEN,
        "ALTER TABLE {t} DROP COLUMN w",
        "ALTER TABLE {t} ADD COLUMN w string",
        "INSERT INTO {t} (v, w) SELECT 5000000000L, 'a'",
        restore(1),
        "INSERT INTO {t} (v, w) SELECT CAST(id AS int), 1 FROM range(4)",
        restore(5),
        restore(2),
    ),
    "restored, in-commit timestamps on again": story(
        create(enableInCommitTimestamps="true", enableTypeWidening="true"),
        insert(0, 3),
        WIDEN,
        set_properties(enableInCommitTimestamps="false"),
        insert(3, 5),
        restore(1),
        insert(6, 7),
        set_properties(enableInCommitTimestamps="false"),
        restore(2),
        insert(7, 8),
    ),
    "restored, in-commit timestamps late": story(
        create(enableTypeWidening="true"),
        insert(0, 3),
        set_properties(enableInCommitTimestamps="true"),
        WIDEN,
        insert(3, 5),
        restore(1),
        insert(6, 7),
        restore(3),
        insert(7, 8),
    ),
    "restored, row tracking late": story(
        create(enableTypeWidening="true", columnMapping__mode="name"),
        insert(0, 3),
        set_properties(**ROW_TRACKING),
        WIDEN,
        "ALTER TABLE {t} DROP COLUMN name",
        "ALTER TABLE {t} ADD COLUMN name int",
        restore(1),
        insert(3, 5),
    ),
    "restored, deletion vectors dropped": story(
        create(enableTypeWidening="true", **VECTORS),
        insert(0, 3),
        WIDEN,
        insert(3, 5),
        set_properties(enableDeletionVectors="false"),
        drop_feature("deletionVectors"),
        restore(1),
        insert(6, 7),
        restore(3),
        insert(7, 8),
        set_properties(enableDeletionVectors="true"),
        restore(0),
    ),
    "restored, unmapped": story(
        create("id bigint, a int, b int", columnMapping__mode="name"),
        "INSERT INTO {t} SELECT id, 1, 2 FROM range(4)",
        "ALTER TABLE {t} DROP COLUMN a",
        "ALTER TABLE {t} ADD COLUMN a int",
        UNMAP,
        restore(3),
        "INSERT INTO {t} SELECT id, 1, 2 FROM range(4)",
        "DELETE FROM {t}",
        restore(3),
        "DELETE FROM {t}",
        restore(6),
    ),
    "restored, row tracking dropped": story(
        create(**ROW_TRACKING),
        ROWS,
        UPDATE,
        drop_feature("rowTracking"),
        OPTIMIZE,
        insert(30, 33),
        restore(3),
        insert(33, 34),
        UPDATE,
    ),
    "restored, type widening dropped": story(
        create(enableTypeWidening="true"),
        insert(0, 3),
        WIDEN,
        insert(3, 5),
        drop_feature("typeWidening"),
        restore(1),
        insert(5, 6),
        restore(3),
        insert(5, 6),
        set_properties(enableTypeWidening="true"),
        OPTIMIZE,
        restore(1),
    ),
    "restored, column mapping dropped": story(
        create(columnMapping__mode="name"),
        insert(0, 3),
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        drop_feature("columnMapping"),
        restore(2),
        "INSERT INTO {t} (id, w) VALUES (5, 6)",
        restore(0),
        restore(1),
    ),
    "restored, empty": story(
        create(enableTypeWidening="true"),
        WIDEN,
        "CREATE OR REPLACE TABLE {t} USING delta AS SELECT id FROM range(0)",
        restore(1),
        restore(0),
        MAP,
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        UNMAP,
        MAP,
        "ALTER TABLE {t} ADD COLUMN v int",
        restore(5),
        restore(0),
        insert(0, 2),
    ),
}
