"""How tables begin, anew or in place of another."""

from __future__ import annotations

from tests.tables.audit_stories.statements import (
    CHANGES,
    OPTIMIZE,
    ROW_TRACKING,
    ROWS,
    create,
    insert,
    of_source,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import refused, story

STORIES = {
    "create": story(create(), ROWS),
    "create as select": story(
        "CREATE TABLE {t} USING delta AS SELECT id, 'a' AS name, 1 AS v FROM range(4)", ROWS, CHANGES
    ),
    "replace": story(
        create(),
        ROWS,
        "CREATE OR REPLACE TABLE {t} USING delta AS SELECT id, 'a' AS other FROM range(0)",
        "INSERT INTO {t} VALUES (1, 'a')",
        "REPLACE TABLE {t} USING delta PARTITIONED BY (v) AS SELECT id, 'b' AS name, 2 AS v FROM range(4)",
        "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 AS a",
        "REPLACE TABLE {t} USING delta TBLPROPERTIES ('delta.appendOnly' = 'true') AS SELECT 1 AS a, 'b' AS b",
        "INSERT INTO {t} VALUES (1, 'a')",
        refused("CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1L AS a"),
    ),
    "created like": story(
        of_source(
            create("id bigint, name string, v int", "PARTITIONED BY (name)", columnMapping__mode="name", **ROW_TRACKING)
        ),
        [of_source(insert(0, 3)), of_source("ALTER TABLE {t} RENAME COLUMN v TO w")],
        "CREATE TABLE liked LIKE delta.`{d}/source` LOCATION '{d}/t'",
        "INSERT INTO {t} VALUES (1, 'a', 2)",
        "UPDATE {t} SET w = 3",
        "DROP TABLE liked",
    ),
    "converted": story(
        lambda spark, path: (
            spark.sql("SELECT id, id % 3 AS p, struct(id AS a) AS s FROM range(0, 12, 1, 2)")
            .write.partitionBy("p")
            .parquet(str(path))
        ),
        "CONVERT TO DELTA parquet.`{d}/t` PARTITIONED BY (p bigint)",
        "UPDATE {t} SET s = named_struct('a', 4L) WHERE id = 4",
        set_properties(enableRowTracking="true", columnMapping__mode="name"),
        "DELETE FROM {t} WHERE id = 5",
        restore(0),
        "CONVERT TO DELTA parquet.`{d}/t` PARTITIONED BY (p bigint)",
    ),
    "converted without statistics": story(
        lambda spark, path: spark.sql("SELECT id FROM range(0, 12, 1, 2)").write.parquet(str(path)),
        "CONVERT TO DELTA parquet.`{d}/t` NO STATISTICS",
        refused(set_properties(enableRowTracking="true")),
        OPTIMIZE,
        set_properties(enableRowTracking="true"),
        "DELETE FROM {t} WHERE id = 5",
        OPTIMIZE,
    ),
}
