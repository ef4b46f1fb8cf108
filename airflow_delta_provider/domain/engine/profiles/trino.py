"""Trino's Delta Lake connector."""

from __future__ import annotations

from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release

PROFILE = Profile(
    name="Trino",
    label="Trino",
    releases=(
        Release.of(
            "",
            "2026-08",
            "trinodb/trino, DeltaLakeTableFeatures.java at 4695f88; which release has it is not known",
            both="columnMapping deletionVectors timestampNtz vacuumProtocolCheck",
            reads="typeWidening typeWidening-preview v2Checkpoint variantType variantType-preview",
            writes="appendOnly changeDataFeed checkConstraints invariants",
        ),
    ),
    remark="Releases before trino#16905 returned rows that deletion vectors had deleted; others refused such tables.",
)
