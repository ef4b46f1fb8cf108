"""Polars, which reads by itself and writes through ``deltalake``."""

from __future__ import annotations

from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release

PROFILE = Profile(
    name="Polars",
    label="Polars",
    releases=(
        Release.of(
            "2.1.0",
            "2026-11-23",
            "measured with deltalake 1.6.3; pola-rs/polars, _scan_resolver.py",
            reads="deletionVectors timestampNtz variantType variantType-preview",
            refuses="columnMapping typeWidening typeWidening-preview v2Checkpoint vacuumProtocolCheck "
            "variantShredding variantShredding-preview geospatial catalogManaged",
            refuses_writing="allowColumnDefaults checkpointProtection clustering columnMappingUsageTracking "
            "domainMetadata icebergCompatV1 icebergCompatV2 icebergCompatV3 identityColumns inCommitTimestamp "
            "materializePartitionColumns rowTracking",
            lists_all=False,
        ),
    ),
    remark="It writes what the installed release of deltalake writes; what no release 1.x writes is refused here.",
)
