"""Rows changed, moved and overwritten, and the feed of changes."""

from __future__ import annotations

from tests.tables.audit_stories.statements import (
    CHANGES,
    DELETE,
    MERGE,
    OPTIMIZE,
    ROW_TRACKING,
    ROWS,
    UPDATE,
    VECTORS,
    create,
    drop_feature,
    insert,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import story, with_settings, wrote

STORIES = {
    "changed": story(
        create(),
        ROWS,
        CHANGES,
        OPTIMIZE,
        UPDATE,
        "OPTIMIZE {t} ZORDER BY (v)",
        "DELETE FROM {t}",
        insert(0, 3),
    ),
    "changed, vectors": story(
        create(**VECTORS),
        ROWS,
        CHANGES,
        OPTIMIZE,
        UPDATE,
        "DELETE FROM {t} WHERE id = 3",
        "REORG TABLE {t} APPLY (PURGE)",
        "OPTIMIZE {t} ZORDER BY (v)",
        DELETE,
        restore(4),
        UPDATE,
        "INSERT OVERWRITE {t} SELECT 1L, 'a', 1",
        set_properties(enableDeletionVectors="false"),
        UPDATE,
        drop_feature("deletionVectors"),
        insert(0, 3),
    ),
    "change data feed": story(
        create(enableChangeDataFeed="true", **ROW_TRACKING),
        ROWS,
        CHANGES,
        "INSERT OVERWRITE {t} SELECT 1L, 'a', 2",
        restore(4),
        set_properties(enableChangeDataFeed="false"),
        UPDATE,
        set_properties(enableDeletionVectors="true", enableChangeDataFeed="true"),
        DELETE,
        MERGE,
        with_settings(
            "DELETE FROM {t} WHERE id = 13",
            spark__databricks__delta__changeDataFeed__timestampOutOfRange__enabled="true",
        ),
    ),
    "overwritten": story(
        create(),
        ROWS,
        "INSERT OVERWRITE {t} SELECT 1L, 'a', 2",
        wrote("SELECT id, 'x' AS other FROM range(4)", "overwrite", overwriteSchema="true"),
        wrote("SELECT id, 'x' AS other, 1 AS more FROM range(4)", "append", mergeSchema="true"),
        wrote("SELECT id, 'x' AS other, struct(1 AS a) AS s FROM range(4)", "overwrite", mergeSchema="true"),
        restore(2),
        lambda spark, path: (
            spark.sql("SELECT id, id % 2 AS p FROM range(4)")
            .write.format("delta")
            .mode("overwrite")
            .option("overwriteSchema", "true")
            .partitionBy("p")
            .save(str(path))
        ),
        wrote("SELECT id, 1L AS p FROM range(4)", "overwrite", replaceWhere="p = 1"),
        wrote("SELECT id, 0L AS p FROM range(4)", "overwrite", partitionOverwriteMode="dynamic"),
        "INSERT INTO {t} REPLACE WHERE id = 2 SELECT 2L, 5L",
        "INSERT INTO {t} REPLACE WHERE p = 5 SELECT 2L, 5L",
        with_settings(
            "INSERT OVERWRITE {t} PARTITION (p = 5) SELECT 2L", spark__sql__sources__partitionOverwriteMode="dynamic"
        ),
        with_settings("INSERT OVERWRITE {t} SELECT 2L, 1L", spark__sql__sources__partitionOverwriteMode="dynamic"),
        "DELETE FROM {t} WHERE p = 1",
        restore(2),
    ),
    "reorganized": story(
        create(**VECTORS, columnMapping__mode="name"),
        ROWS,
        UPDATE,
        "REORG TABLE {t} APPLY (PURGE)",
        "ALTER TABLE {t} DROP COLUMN name",
        "ALTER TABLE {t} ADD COLUMN name string",
        "REORG TABLE {t} APPLY (PURGE)",
        "UPDATE {t} SET name = 'q' WHERE id = 4",
    ),
}
