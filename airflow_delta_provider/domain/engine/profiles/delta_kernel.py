"""Delta Kernel for Java, and the engines that read and write through it, such as Flink's sink."""

from __future__ import annotations

from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release

_SOURCE = "delta-io/delta, TableFeatures.java of kernel-api at the tag of each release"
_UNUSED = "invariants checkConstraints generatedColumns identityColumns"

_V3_2 = Release.of(
    "3.2",
    "2024-05-06",
    _SOURCE,
    reads="columnMapping deletionVectors timestampNtz v2Checkpoint vacuumProtocolCheck",
    writes="appendOnly",
    writes_unused="invariants@version",
)
_V3_3 = _V3_2.then(
    "3.3",
    "2025-01-03",
    both="typeWidening typeWidening-preview",
    reads="variantType-preview",
    writes="domainMetadata inCommitTimestamp",
)
_V4_0 = Release.of(
    "4.0",
    "2025-06-05",
    _SOURCE,
    both="columnMapping deletionVectors timestampNtz v2Checkpoint vacuumProtocolCheck",
    reads="typeWidening typeWidening-preview variantShredding-preview variantType variantType-preview",
    writes="appendOnly clustering domainMetadata icebergCompatV2 inCommitTimestamp rowTracking",
    writes_unused=f"{_UNUSED} changeDataFeed",
)
_V4_1 = _V4_0.then(
    "4.1",
    "2026-02-19",
    both="catalogManaged typeWidening typeWidening-preview variantShredding-preview variantType variantType-preview",
    writes="allowColumnDefaults checkpointProtection icebergCompatV3 materializePartitionColumns",
)
_V4_4 = _V4_1.then("4.4.0", "2026-08-19", both="geospatial variantShredding", writes="changeDataFeed")

PROFILE = Profile(
    name="Delta Kernel",
    label="Delta Kernel",
    releases=(_V3_2, _V3_3, _V4_0, _V4_1, _V4_4),
    aliases=("Kernel Java",),
    remark="For Java; Flink writes through it. Flink's older connector stops at reader 1, writer 2.",
)
