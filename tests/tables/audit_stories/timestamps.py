"""In-commit timestamps, late and from the start."""

from __future__ import annotations

from tests.tables.audit_stories.statements import (
    CHANGES,
    ROWS,
    UPDATE,
    create,
    drop_feature,
    insert,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import concurrently, story

STORIES = {
    "in-commit timestamps, late": story(
        create(),
        ROWS,
        set_properties(enableInCommitTimestamps="true"),
        UPDATE,
        "COMMENT ON TABLE {t} IS 'a comment'",
        set_properties(enableInCommitTimestamps="false"),
        insert(20, 21),
        set_properties(enableInCommitTimestamps="true"),
        insert(21, 22),
        restore(1),
        insert(22, 23),
        set_properties(enableInCommitTimestamps="true"),
        restore(3),
        insert(23, 24),
        drop_feature("inCommitTimestamp"),
        insert(24, 25),
        set_properties(enableInCommitTimestamps="true"),
        "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 AS id",
        "CREATE OR REPLACE TABLE {t} USING delta TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'false') "
        "AS SELECT 1 AS id",
        "INSERT INTO {t} VALUES (2)",
        "CREATE OR REPLACE TABLE {t} USING delta TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true') "
        "AS SELECT 1 AS id",
    ),
    "in-commit timestamps from the start": story(
        create(enableInCommitTimestamps="true", checkpointInterval="2"),
        ROWS,
        CHANGES,
        concurrently(*(insert(100 * n, 100 * n + 2) + ";" + insert(100 * n + 2, 100 * n + 4) for n in range(3))),
        restore(2),
        "VACUUM {t}",
    ),
}
