"""Tables that are only appended to."""

from __future__ import annotations

from tests.tables.audit_stories.statements import (
    DELETE,
    OPTIMIZE,
    ROW_TRACKING,
    ROWS,
    UNMAP,
    UPDATE,
    create,
    drop_feature,
    insert,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import refused, story

STORIES = {
    "append only": story(
        create(appendOnly="true"),
        ROWS,
        refused(UPDATE),
        refused(DELETE),
        refused("INSERT OVERWRITE {t} SELECT 1L, 'a', 2"),
        OPTIMIZE,
        "ALTER TABLE {t} ADD COLUMN w int",
        set_properties(appendOnly="false"),
        UPDATE,
        set_properties(appendOnly="true"),
        set_properties(**ROW_TRACKING),
        OPTIMIZE,
        set_properties(appendOnly="false"),
        restore(2),
        set_properties(appendOnly="true"),
    ),
    "append only, restored": story(create(appendOnly="true"), ROWS, restore(1), insert(30, 31)),
    "append only, unmapped": story(create(appendOnly="true", columnMapping__mode="name"), ROWS, UNMAP),
    "append only, replaced": story(
        create(appendOnly="true"),
        ROWS,
        refused("CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 AS id"),
    ),
    "append only, widening dropped": story(
        create(appendOnly="true", enableTypeWidening="true"),
        ROWS,
        "ALTER TABLE {t} ALTER COLUMN v TYPE bigint",
        drop_feature("typeWidening"),
    ),
}
