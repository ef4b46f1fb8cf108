"""Protocols of a time before table features, and universal format."""

from __future__ import annotations

from tests.tables.audit_stories.statements import (
    DELETE,
    MAP,
    ROW_TRACKING,
    ROWS,
    UPDATE,
    VECTORS,
    create,
    drop_feature,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import story

STORIES = {
    "legacy versions": story(
        create(minReaderVersion="1", minWriterVersion="1"),
        ROWS,
        set_properties(minWriterVersion="2"),
        set_properties(minWriterVersion="4"),
        set_properties(minReaderVersion="2", minWriterVersion="5"),
        UPDATE,
        set_properties(minWriterVersion="6"),
        set_properties(**VECTORS),
        DELETE,
        restore(2),
        UPDATE,
    ),
    "legacy versions, features in use": story(
        create(
            "id bigint NOT NULL, name string, v int",
            minReaderVersion="2",
            minWriterVersion="6",
            enableChangeDataFeed="true",
            appendOnly="false",
        ),
        ROWS,
        "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id >= 0)",
        set_properties(**ROW_TRACKING),
        UPDATE,
        set_properties(enableChangeDataFeed="false"),
        "ALTER TABLE {t} DROP CONSTRAINT c",
        drop_feature("checkConstraints"),
        drop_feature("rowTracking"),
        drop_feature("columnMapping"),
    ),
    "universal format": story(
        create(
            "id bigint, l array<int>, m map<string, struct<a: int>>",
            columnMapping__mode="name",
            enableIcebergCompatV2="true",
        ),
        "INSERT INTO {t} SELECT id, array(1), map('a', named_struct('a', 1)) FROM range(0, 4, 1, 2)",
        "ALTER TABLE {t} ADD COLUMN n array<map<int, int>>",
        "ALTER TABLE {t} RENAME COLUMN l TO k",
        "ALTER TABLE {t} DROP COLUMN m",
        "DELETE FROM {t} WHERE id = 2",
        restore(1),
    ),
    "universal format, late": story(
        create("id bigint, l array<int>"),
        "INSERT INTO {t} SELECT id, array(1) FROM range(0, 4, 1, 2)",
        MAP,
        "REORG TABLE {t} APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))",
        "ALTER TABLE {t} ADD COLUMN n array<map<int, int>>",
        "INSERT INTO {t} SELECT id, array(1), NULL FROM range(0, 4, 1, 2)",
        set_properties(enableIcebergCompatV2="false"),
        "ALTER TABLE {t} ADD COLUMN o array<map<int, int>>",
        restore(1),
    ),
    "universal format 1": story(
        create("id bigint, v int", columnMapping__mode="name", enableIcebergCompatV1="true"),
        "INSERT INTO {t} SELECT id, 1 FROM range(3)",
        UPDATE,
    ),
}
