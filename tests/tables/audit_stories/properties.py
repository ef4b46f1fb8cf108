"""Properties, comments and the order of columns."""

from __future__ import annotations

from tests.tables.audit_stories.statements import (
    OPTIMIZE,
    ROW_TRACKING,
    VECTORS,
    create,
    restore,
    set_properties,
    unset_properties,
)
from tests.tables.audit_stories.telling import refused, story, with_settings

STORIES = {
    "properties, comments, order": story(
        create("id bigint COMMENT 'k', name string, v int, s struct<a: int, b: int>", "COMMENT 'x'"),
        "INSERT INTO {t} SELECT id, 'a', 1, named_struct('a', 1, 'b', 2) FROM range(4)",
        "ALTER TABLE {t} ALTER COLUMN id COMMENT 'key'",
        "ALTER TABLE {t} ALTER COLUMN v AFTER id",
        "ALTER TABLE {t} ALTER COLUMN v FIRST",
        "ALTER TABLE {t} ALTER COLUMN s.b FIRST",
        "ALTER TABLE {t} ADD COLUMNS (w int AFTER id, z string FIRST)",
        "ALTER TABLE {t} ADD COLUMN s.c int AFTER b",
        "COMMENT ON TABLE {t} IS 'a comment'",
        "COMMENT ON TABLE {t} IS 'a comment'",
        "ALTER TABLE {t} SET TBLPROPERTIES ('a.b' = 'c', 'delta.dataSkippingNumIndexedCols' = '1')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('a.b' = 'c', 'delta.dataSkippingNumIndexedCols' = '1')",
        "INSERT INTO {t} (id) VALUES (7)",
        set_properties(dataSkippingStatsColumns="v,s.a"),
        "INSERT INTO {t} (id) VALUES (8)",
        unset_properties("dataSkippingStatsColumns", "dataSkippingNumIndexedCols"),
        "ALTER TABLE {t} UNSET TBLPROPERTIES IF EXISTS ('none.such')",
        set_properties(dataSkippingNumIndexedCols="0", **ROW_TRACKING),
        "INSERT INTO {t} (id) VALUES (9)",
        refused(with_settings("INSERT INTO {t} (id) VALUES (9)", spark__databricks__delta__stats__collect="false")),
        "DELETE FROM {t} WHERE id = 100",
        "UPDATE {t} SET v = 1 WHERE id = 100",
        "INSERT INTO {t} SELECT * FROM {t} WHERE false",
        OPTIMIZE,
        OPTIMIZE,
        restore(20),
        set_properties(minReaderVersion="1", minWriterVersion="3"),
        set_properties(
            randomizeFilePrefixes="true",
            setTransactionRetentionDuration="interval 1 day",
            isolationLevel="Serializable",
        ),
        "INSERT INTO {t} (id) VALUES (9)",
    ),
    "properties with mapped statistics": story(
        create(
            "id bigint, name string, v int, s struct<a: int, b: int>",
            columnMapping__mode="name",
            dataSkippingStatsColumns="v,s.a",
            **VECTORS,
        ),
        "INSERT INTO {t} SELECT id, 'a', 1, named_struct('a', 1, 'b', 2) FROM range(0, 8, 1, 2)",
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        "ALTER TABLE {t} RENAME COLUMN s.a TO v",
        "INSERT INTO {t} SELECT id, 'a', 1, named_struct('v', 1, 'b', 2) FROM range(0, 8, 1, 2)",
        "DELETE FROM {t} WHERE id = 3",
        "ALTER TABLE {t} RENAME COLUMN name TO a",
        "UPDATE {t} SET w = 4 WHERE id = 2",
        unset_properties("dataSkippingStatsColumns"),
        "UPDATE {t} SET w = 4 WHERE id = 5",
    ),
}
