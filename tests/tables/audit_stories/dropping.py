"""Features dropped, and dropped with their history."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.tables.audit_stories.statements import (
    DELETE,
    MAP,
    OPTIMIZE,
    ROW_TRACKING,
    ROWS,
    UPDATE,
    VECTORS,
    WIDEN,
    create,
    drop_feature,
    insert,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import Step, Story, aged, filled, story, with_settings

_ENABLE: dict[str, Step] = {
    "deletionVectors": set_properties(**VECTORS),
    "typeWidening": set_properties(enableTypeWidening="true"),
    "columnMapping": MAP,
    "rowTracking": set_properties(**ROW_TRACKING),
    "v2Checkpoint": set_properties(checkpointPolicy="v2"),
    "inCommitTimestamp": set_properties(enableInCommitTimestamps="true"),
    "checkConstraints": "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id >= 0)",
}
_USE: dict[str, Step] = {"typeWidening": WIDEN, "checkConstraints": "ALTER TABLE {t} DROP CONSTRAINT c"}


def _dropped(feature: str) -> Story:
    enable = _ENABLE.get(feature, f"ALTER TABLE {{t}} SET TBLPROPERTIES ('delta.feature.{feature}' = 'supported')")
    return (
        create(),
        *ROWS,
        enable,
        UPDATE,
        _USE.get(feature, insert(50, 51)),
        drop_feature(feature),
        insert(20, 24),
        enable,
        restore(1),
        insert(24, 25),
        restore(5),
        insert(25, 26),
    )


def _attempted(feature: str) -> Step:
    """A feature that is dropped with its history: refused as long as the history is needed."""

    def attempt(spark: SparkSession, path: Path) -> None:
        try:
            spark.sql(filled(drop_feature(feature, truncate=True), path))
        except Exception as refusal:
            if "DROP" not in str(refusal):
                raise

    return attempt


def _dropped_with_history(feature: str) -> Story:
    return (
        create(
            dropFeatureTruncateHistory__retentionDuration="interval 0 hours",
            deletedFileRetentionDuration="interval 0 hours",
            logRetentionDuration="interval 0 hours",
            enableDeletionVectors="true",
        ),
        *ROWS,
        drop_feature("deletionVectors") if feature == "checkpointProtection" else _ENABLE.get(feature, UPDATE),
        DELETE,
        _attempted(feature),
        aged,
        _attempted(feature),
        insert(20, 24),
    )


STORIES = {
    "vacuumed, and deletion vectors dropped with their history": story(
        create(
            dropFeatureTruncateHistory__retentionDuration="interval 0 hours",
            deletedFileRetentionDuration="interval 0 hours",
            logRetentionDuration="interval 0 hours",
            **VECTORS,
        ),
        insert(0, 12, 2),
        DELETE,
        OPTIMIZE,
        *(
            with_settings(
                f"VACUUM {{t}} {kind} RETAIN 0 HOURS", spark__databricks__delta__retentionDurationCheck__enabled="false"
            )
            for kind in ("FULL", "LITE")
        ),
        _attempted("deletionVectors"),
        aged,
        _attempted("deletionVectors"),
        insert(20, 24),
    ),
    **{
        f"dropped {feature}": _dropped(feature)
        for feature in (
            "v2Checkpoint",
            "inCommitTimestamp",
            "vacuumProtocolCheck",
            "checkConstraints",
            "domainMetadata",
        )
    },
    **{
        f"dropped {feature} with its history": _dropped_with_history(feature)
        for feature in ("deletionVectors", "typeWidening", "columnMapping", "checkpointProtection")
    },
}
