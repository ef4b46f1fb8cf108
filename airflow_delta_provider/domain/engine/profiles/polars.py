"""Polars, which reads by itself and writes through ``deltalake``."""

from __future__ import annotations

from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release

_WRITES = "appendOnly changeDataFeed checkConstraints generatedColumns invariants timestampNtz"
_NEVER_WRITES = "domainMetadata icebergCompatV1 icebergCompatV2 identityColumns rowTracking"
#: Polars 1.30 wrote these with deltalake 0.25.5, which ignores unknown features.
_WRITES_NO_LONGER = (
    "allowColumnDefaults checkpointProtection clustering columnMappingUsageTracking icebergCompatV3 inCommitTimestamp "
    "materializePartitionColumns"
)

PROFILE = Profile(
    name="Polars",
    label="Polars",
    releases=(
        Release.of(
            "1.9",
            "2026-11-23",
            "measured with deltalake 0.20.2",
            reads="timestampNtz",
            writes=_WRITES,
            refuses="typeWidening typeWidening-preview vacuumProtocolCheck variantType",
            refuses_reading="columnMapping deletionVectors v2Checkpoint",
            refuses_writing=_NEVER_WRITES,
            lists_all=False,
        ),
        Release.of(
            "2.1.0",
            "2026-11-23",
            "measured with deltalake 1.6.3; pola-rs/polars, _scan_resolver.py",
            reads="deletionVectors timestampNtz",
            writes=_WRITES,
            refuses="typeWidening typeWidening-preview vacuumProtocolCheck variantShredding variantShredding-preview "
            "geospatial catalogManaged",
            refuses_reading="columnMapping v2Checkpoint variantType variantType-preview",
            refuses_writing=f"{_NEVER_WRITES} {_WRITES_NO_LONGER}",
            lists_all=False,
        ),
    ),
    remark="It writes what the installed release of deltalake writes; what no release 1.x writes is refused here.",
)
