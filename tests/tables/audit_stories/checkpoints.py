"""Checkpoints of every kind, the clean-up of the log, and VACUUM."""

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
from tests.tables.audit_stories.telling import aged, story, with_settings

STORIES = {
    "v2 checkpoints": story(
        create(checkpointPolicy="v2", checkpointInterval="1", **ROW_TRACKING, **VECTORS),
        ROWS,
        CHANGES,
        set_properties(checkpointPolicy="classic"),
        UPDATE,
        drop_feature("v2Checkpoint"),
        insert(60, 64),
        set_properties(checkpointPolicy="v2"),
        insert(64, 65),
        restore(3),
        insert(65, 66),
    ),
    "classic checkpoints": story(
        create(
            "id bigint, name string, v int",
            "PARTITIONED BY (name)",
            checkpointInterval="1",
            checkpoint__writeStatsAsStruct="true",
            checkpoint__writeStatsAsJson="false",
        ),
        ROWS,
        CHANGES,
        "ALTER TABLE {t} ADD COLUMN w int",
        restore(3),
    ),
    "multi-part checkpoints": story(
        create(checkpointInterval="1", **VECTORS, **ROW_TRACKING),
        *(
            with_settings(one, spark__databricks__delta__checkpoint__partSize="2")
            for one in (insert(0, 12, 6), insert(12, 16, 3), UPDATE, MERGE)
        ),
    ),
    "checkpoints with sidecars": story(
        create(checkpointInterval="1", checkpointPolicy="v2", **VECTORS, **ROW_TRACKING),
        *(
            with_settings(one, spark__databricks__delta__checkpoint__partSize="2")
            for one in (insert(0, 12, 6), insert(12, 16, 3), UPDATE, MERGE)
        ),
    ),
    "clean-up": story(
        create(
            checkpointInterval="3",
            logRetentionDuration="interval 1 day",
            deletedFileRetentionDuration="interval 1 day",
            **VECTORS,
            **ROW_TRACKING,
            columnMapping__mode="name",
        ),
        ROWS,
        CHANGES,
        OPTIMIZE,
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        aged,
        "UPDATE {t} SET w = 1 WHERE id = 3",
        "ALTER TABLE {t} RENAME COLUMN w TO v",
        *CHANGES,
        insert(80, 81),
        insert(81, 82),
        restore(9),
        UPDATE,
    ),
    "clean-up, in-commit timestamps": story(
        create(
            checkpointInterval="2",
            logRetentionDuration="interval 1 day",
            deletedFileRetentionDuration="interval 1 day",
            enableInCommitTimestamps="true",
        ),
        ROWS,
        CHANGES,
        aged,
        *CHANGES,
        insert(90, 91),
    ),
    "vacuum": story(
        create(
            "id bigint, name string, v int",
            "PARTITIONED BY (name)",
            deletedFileRetentionDuration="interval 0 hours",
            **VECTORS,
        ),
        ROWS,
        CHANGES,
        OPTIMIZE,
        with_settings("VACUUM {t} RETAIN 0 HOURS", spark__databricks__delta__retentionDurationCheck__enabled="false"),
        DELETE,
        OPTIMIZE,
        with_settings(
            "VACUUM {t} LITE RETAIN 0 HOURS", spark__databricks__delta__retentionDurationCheck__enabled="false"
        ),
        "VACUUM {t} LITE",
        "VACUUM {t} DRY RUN",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')",
        "VACUUM {t}",
        drop_feature("vacuumProtocolCheck"),
        insert(70, 74),
    ),
}
