"""Delta Lake's library for Apache Spark."""

from __future__ import annotations

from collections.abc import Collection
from operator import methodcaller

from airflow_delta_provider.domain.engine.engine import FIRST_WIDENINGS, version_of
from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release

_V2_3 = Release.of(
    "2.3",
    "2023-04-04",
    "delta-io/delta, TableFeature.scala at the tag of each release",
    both="columnMapping deletionVectors",
    writes="appendOnly changeDataFeed checkConstraints generatedColumns identityColumns invariants",
)
_V2_4 = _V2_3.then("2.4", "2023-05-24", both="timestampNtz", without="identityColumns")
_V3_0 = _V2_4.then("3.0", "2023-10-16", both="v2Checkpoint", writes="domainMetadata icebergCompatV1")
_V3_1 = _V3_0.then("3.1", "2024-01-26", writes="allowColumnDefaults clustering icebergCompatV2")
_V3_2 = _V3_1.then(
    "3.2",
    "2024-05-06",
    both="typeWidening-preview vacuumProtocolCheck",
    writes="inCommitTimestamp-preview rowTracking",
    widenings=FIRST_WIDENINGS,
    source="delta-io/delta, TableFeature.scala and TypeWideningShims.scala at the tag of each release",
)
_V3_3 = _V3_2.then(
    "3.3",
    "2025-01-03",
    both="typeWidening variantType-preview",
    writes="checkpointProtection coordinatedCommits-preview identityColumns inCommitTimestamp",
    without="inCommitTimestamp-preview",
    widenings=FIRST_WIDENINGS,
)
_V4_0_0 = _V3_3.then(
    "4.0.0",
    "2025-06-05",
    both="catalogOwned-preview variantShredding-preview variantType",
    undecided="variantType",
    source=f"{_V2_3.source}; variantType measured with 4.0.1",
)
_V4_0_1 = _V4_0_0.then(
    "4.0.1", "2026-01-09", both="catalogManaged", without="catalogOwned-preview", undecided="variantType"
)
_V4_1 = _V4_0_1.then("4.1", "2026-02-19", both="variantShredding", writes="materializePartitionColumns")
_V4_2 = _V4_1.then("4.2", "2026-04-09")
_V4_3 = _V4_2.then("4.3", "2026-06-15", both="geospatial geospatial-dev", writes="icebergCompatV3")
_V4_4 = _V4_3.then("4.4.0", "2026-08-19")

PROFILE = Profile(
    name="Delta Spark",
    label="Delta Spark",
    releases=(_V2_3, _V2_4, _V3_0, _V3_1, _V3_2, _V3_3, _V4_0_0, _V4_0_1, _V4_1, _V4_2, _V4_3, _V4_4),
    aliases=("delta-spark", "Delta Lake"),
    compares_metadata="delta-io/delta, DeltaLog.assertTableFeaturesMatchMetadata",
    remark="Delta 3.3 lists typeWidening, but refuses tables with other changes than among byte, short and int. Delta "
    "4.0 lists variantType, but fails on data files with it that Spark 4.2 wrote.",
)


def release_with(features: Collection[str]) -> str | None:
    """Return the first release since which Delta Spark writes tables with all the features; None if unknown."""
    since = [PROFILE.since(methodcaller("writing", name)) for name in features]
    known = [version for version in since if version]
    return max(known, key=version_of) if known and len(known) == len(since) else None
