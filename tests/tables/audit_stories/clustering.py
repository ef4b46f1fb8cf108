"""Liquid clustering."""

from __future__ import annotations

from tests.tables.audit_stories.statements import MAP, OPTIMIZE, ROWS, UNMAP, UPDATE, create, restore
from tests.tables.audit_stories.telling import refused, story, wrote

STORIES = {
    "clustered": story(
        create("id bigint, name string, v int", "CLUSTER BY (id, v)"),
        ROWS,
        OPTIMIZE,
        "ALTER TABLE {t} CLUSTER BY (name)",
        UPDATE,
        "OPTIMIZE {t} FULL",
        "ALTER TABLE {t} CLUSTER BY NONE",
        OPTIMIZE,
        "ALTER TABLE {t} CLUSTER BY (v)",
        restore(2),
        MAP,
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        "ALTER TABLE {t} CLUSTER BY (w)",
        "ALTER TABLE {t} RENAME COLUMN w TO v",
        OPTIMIZE,
        restore(1),
        "ALTER TABLE {t} CLUSTER BY (v)",
        "CREATE OR REPLACE TABLE {t} USING delta CLUSTER BY (id) AS SELECT 1 AS id",
        "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 AS id, 2 AS v",
        "ALTER TABLE {t} CLUSTER BY (v)",
        refused("CREATE OR REPLACE TABLE {t} USING delta PARTITIONED BY (v) AS SELECT 1 AS id, 2 AS v"),
        wrote("SELECT id, 'x' AS n FROM range(4)", "overwrite", overwriteSchema="true"),
    ),
    "clustered and mapped": story(
        create(
            "id bigint, name string, s struct<a: int, b: int>",
            "CLUSTER BY (id, s.a)",
            columnMapping__mode="name",
            enableRowTracking="true",
        ),
        "INSERT INTO {t} SELECT id, 'a', named_struct('a', 1, 'b', 2) FROM range(0, 4, 1, 2)",
        "ALTER TABLE {t} RENAME COLUMN id TO k",
        "ALTER TABLE {t} RENAME COLUMN s.a TO c",
        OPTIMIZE,
        refused("ALTER TABLE {t} DROP COLUMN k"),
        restore(1),
    ),
    "clustered, mapped and unmapped": story(
        create("id bigint, name string, v int", "CLUSTER BY (id)", columnMapping__mode="name"),
        ROWS,
        UNMAP,
        ROWS,
        refused(OPTIMIZE),
    ),
}
