"""Features of tables that depend on more than their log.

Others also decide about them: a catalog, Iceberg metadata, a larger structure.
"""

from __future__ import annotations

from airflow_delta_provider.domain.delta.features.columns import COLUMN_MAPPING, allowed_with_iceberg
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureAccess, FeatureKind
from airflow_delta_provider.domain.delta.features.log import (
    DELETION_VECTORS,
    IN_COMMIT_TIMESTAMP,
    ROW_TRACKING,
    VACUUM_PROTOCOL_CHECK,
)

CATALOG_MANAGED = Feature(
    name="catalogManaged",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Catalog-managed tables",
    requires=(IN_COMMIT_TIMESTAMP,),
    requires_in_engines=(VACUUM_PROTOCOL_CHECK,),
    access=FeatureAccess.SPECIAL,
    catalog_managed=True,
)
CATALOG_OWNED_PREVIEW = Feature(
    name="catalogOwned-preview",
    kind=FeatureKind.READER_WRITER,
    source="TableFeature.scala",
    requires_in_engines=(IN_COMMIT_TIMESTAMP, VACUUM_PROTOCOL_CHECK),
    access=FeatureAccess.SPECIAL,
    catalog_managed=True,
)
COORDINATED_COMMITS_PREVIEW = Feature(
    name="coordinatedCommits-preview",
    kind=FeatureKind.WRITER,
    source="TableFeature.scala",
    requires_in_engines=(IN_COMMIT_TIMESTAMP, VACUUM_PROTOCOL_CHECK),
    access=FeatureAccess.SPECIAL,
    catalog_managed=True,
)
ICEBERG_COMPAT_V1 = Feature(
    name="icebergCompatV1",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Iceberg Compatibility V1",
    requires=(COLUMN_MAPPING,),
    enabling_property="delta.enableIcebergCompatV1",
    access=FeatureAccess.SPECIAL,
    keeps_iceberg=True,
    widening=allowed_with_iceberg,
)
ICEBERG_COMPAT_V2 = Feature(
    name="icebergCompatV2",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Iceberg Compatibility V2",
    requires=(COLUMN_MAPPING,),
    enabling_property="delta.enableIcebergCompatV2",
    access=FeatureAccess.SPECIAL,
    keeps_iceberg=True,
    widening=allowed_with_iceberg,
)
ICEBERG_COMPAT_V3 = Feature(
    name="icebergCompatV3",
    kind=FeatureKind.WRITER,
    source="RFC iceberg-compat-v3.md",
    requires=(COLUMN_MAPPING, ROW_TRACKING),
    enabling_property="delta.enableIcebergCompatV3",
    access=FeatureAccess.SPECIAL,
    keeps_iceberg=True,
    widening=allowed_with_iceberg,
)
#: All versions of Iceberg compatibility; only one may be enabled.
ICEBERG_COMPATS = (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2, ICEBERG_COMPAT_V3)
ICEBERG_WRITER_COMPAT_V1 = Feature(
    name="icebergWriterCompatV1",
    kind=FeatureKind.WRITER,
    source="RFC iceberg-writer-compat-v1.md",
    requires_in_engines=(ICEBERG_COMPAT_V2, COLUMN_MAPPING),
    access=FeatureAccess.SPECIAL,
    keeps_iceberg=True,
    is_judged=False,
)
ICEBERG_WRITER_COMPAT_V3 = Feature(
    name="icebergWriterCompatV3",
    kind=FeatureKind.WRITER,
    source="TableFeatures.java of Delta Kernel",
    requires_in_engines=(ICEBERG_COMPAT_V3, COLUMN_MAPPING),
    access=FeatureAccess.SPECIAL,
    keeps_iceberg=True,
    is_judged=False,
)
REDIRECT_PREVIEW = Feature(
    name="redirectReaderWriter-preview",
    kind=FeatureKind.READER_WRITER,
    source="TableFeature.scala",
    access=FeatureAccess.SPECIAL,
    is_judged=False,
)
REDIRECT_WRITERS_PREVIEW = Feature(
    name="redirectWriterOnly-preview",
    kind=FeatureKind.WRITER,
    source="TableFeature.scala",
    access=FeatureAccess.SPECIAL,
    is_judged=False,
)
ADAPTIVE_METADATA_PREVIEW = Feature(
    name="adaptiveMetadata-preview",
    kind=FeatureKind.READER_WRITER,
    source="TableFeature.scala",
    requires_in_engines=(DELETION_VECTORS, CATALOG_MANAGED, ROW_TRACKING, COLUMN_MAPPING),
    access=FeatureAccess.SPECIAL,
    is_judged=False,
)
