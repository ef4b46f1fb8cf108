"""Shallow clones."""

from __future__ import annotations

from tests.tables.audit_stories.statements import (
    OPTIMIZE,
    ROW_TRACKING,
    UPDATE,
    VECTORS,
    create,
    drop_feature,
    insert,
    of_source,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import refused, story

_CLONE = "CREATE OR REPLACE TABLE {t} SHALLOW CLONE delta.`{d}/source`"


STORIES = {
    "cloned": story(
        of_source(create(**ROW_TRACKING, **VECTORS, columnMapping__mode="name")),
        [of_source(insert(0, 12, 3)), of_source(UPDATE), of_source("ALTER TABLE {t} RENAME COLUMN v TO w")],
        _CLONE,
        "UPDATE {t} SET w = 2 WHERE id IN (1, 2)",
        OPTIMIZE,
        of_source("ALTER TABLE {t} DROP COLUMN name"),
        of_source("ALTER TABLE {t} ADD COLUMN name int"),
        of_source("UPDATE {t} SET name = 4 WHERE id = 3"),
        refused(_CLONE),
        "DELETE FROM {t}",
        _CLONE,
        "UPDATE {t} SET w = 2 WHERE id IN (1, 2)",
        "DELETE FROM {t}",
        f"{_CLONE} VERSION AS OF 2",
        "UPDATE {t} SET v = 2 WHERE id IN (1, 2)",
        restore(2),
        restore(7),
    ),
    "cloned onto another": story(
        of_source(create("id bigint, name string, v int", "PARTITIONED BY (name)", enableTypeWidening="true")),
        [
            of_source(insert(0, 12, 3)),
            of_source("ALTER TABLE {t} ALTER COLUMN v TYPE bigint"),
            of_source(insert(12, 14)),
        ],
        create("id string, x int"),
        _CLONE,
        UPDATE,
        drop_feature("typeWidening"),
        set_properties(**ROW_TRACKING),
        "DELETE FROM {t}",
        f"{_CLONE} VERSION AS OF 1",
        set_properties(**ROW_TRACKING),
        UPDATE,
        restore(1),
    ),
    "clone of a clone, appendonly source": story(
        of_source(create(appendOnly="true", enableInCommitTimestamps="true")),
        of_source(insert(0, 3)),
        "CREATE TABLE delta.`{d}/between` SHALLOW CLONE delta.`{d}/source`",
        "CREATE TABLE {t} SHALLOW CLONE delta.`{d}/between`",
        insert(3, 5),
    ),
    "cloned from parquet": story(
        lambda spark, path: spark.sql("SELECT id FROM range(4)").write.parquet(str(path.parent / "p")),
        "CREATE TABLE {t} SHALLOW CLONE parquet.`{d}/p`",
        "DELETE FROM {t} WHERE id = 2",
    ),
}
