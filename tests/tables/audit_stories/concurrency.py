"""Several writers at once."""

from __future__ import annotations

from tests.tables.audit_stories.statements import (
    OPTIMIZE,
    ROW_TRACKING,
    ROWS,
    VECTORS,
    create,
    drop_feature,
    insert,
    set_properties,
)
from tests.tables.audit_stories.telling import concurrently, story

STORIES = {
    "concurrently": story(
        create(
            "id bigint, name string, v int", "PARTITIONED BY (name)", **ROW_TRACKING, **VECTORS, checkpointInterval="2"
        ),
        insert(0, 12, 3),
        concurrently(
            *(
                f"{insert(100 * n, 100 * n + 4)};UPDATE {{t}} SET v = 1 WHERE name = 'n{n}';"
                f"DELETE FROM {{t}} WHERE name = 'n{n}' AND id % 5 = 1"
                for n in range(3)
            )
        ),
        concurrently(OPTIMIZE, insert(500, 504), "UPDATE {t} SET v = 7 WHERE name = 'n1'"),
        concurrently("ALTER TABLE {t} ADD COLUMN w int", insert(500, 504), "INSERT INTO {t} (id) VALUES (4)"),
    ),
    "concurrently enabled": story(
        create(),
        ROWS,
        concurrently(
            set_properties(enableRowTracking="true"),
            insert(20, 24) + ";" + insert(24, 28),
            insert(30, 34) + ";" + insert(34, 38),
        ),
        concurrently(set_properties(columnMapping__mode="name"), insert(40, 44) + ";" + insert(44, 48)),
        concurrently(drop_feature("rowTracking"), insert(50, 54) + ";" + insert(54, 58)),
    ),
}
