"""The table features that anybody may ask for by name: what the unit and the Spark tier both go through."""

from __future__ import annotations

OPEN_FEATURES = (
    "typeWidening",
    "rowTracking",
    "deletionVectors",
    "columnMapping",
    "changeDataFeed",
    "timestampNtz",
    "v2Checkpoint",
    "inCommitTimestamp",
    "appendOnly",
    "domainMetadata",
    "vacuumProtocolCheck",
)
