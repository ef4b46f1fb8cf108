"""Names of table properties that Delta gives a meaning: those with the prefix ``delta.``."""

from __future__ import annotations

import difflib

from airflow_delta_provider.domain.delta.features.feature import SUPPORT_PREFIX
from airflow_delta_provider.domain.delta.features.registry import FEATURES, WRITER_OWNED_PROPERTIES
from airflow_delta_provider.domain.delta.property_values import FORMS
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX

_PREFIX = "delta."
#: Begins the names of which the rest is free.
_FAMILIES = tuple(map(str.lower, (SUPPORT_PREFIX, CONSTRAINT_PREFIX, "delta.universalFormat.config.")))
#: The entries of ``DeltaConfigs`` of Delta Spark v4.4.0, without the prefix.
_OF_DELTA_SPARK = """
    appendOnly autoOptimize autoOptimize.autoCompact autoOptimize.optimizeWrite castIcebergTimeType
    checkpoint.writeStatsAsJson checkpoint.writeStatsAsStruct checkpointInterval checkpointPolicy
    checkpointRetentionDuration columnMapping.maxColumnId columnMapping.mode
    compatibility.symlinkFormatManifest.enabled coordinatedCommits.commitCoordinator-preview
    coordinatedCommits.commitCoordinatorConf-preview coordinatedCommits.tableConf-preview
    dataSkippingNumIndexedCols dataSkippingStatsColumns dataSkippingStringPrefixLength
    deletedFileRetentionDuration dropFeatureTruncateHistory.retentionDuration enableChangeDataCapture
    enableChangeDataFeed enableDeletionVectors enableExpiredLogCleanup enableFullRetentionRollback
    enableIcebergCompatV1 enableIcebergCompatV2 enableIcebergCompatV3 enableInCommitTimestamps
    enableMaterializePartitionColumnsFeature enableRowTracking enableTypeWidening enableVariantShredding
    ignoreIcebergBucketPartition ignoreProtocolDefaults inCommitTimestampEnablementTimestamp
    inCommitTimestampEnablementVersion isolationLevel logRetentionDuration minReaderVersion minWriterVersion
    parquet.format.version randomPrefixLength randomizeFilePrefixes redirectReaderWriter-preview
    redirectWriterOnly-preview requireCheckpointProtectionBeforeVersion rowTrackingSuspended
    sampleRetentionDuration setTransactionRetentionDuration universalFormat.enabledFormats
    universalFormat.iceberg.atomicConversion.supported writePartitionColumnsToParquet
    """.split()
#: Those that only Databricks knows; Delta Spark v4.4.0 refuses them.
HOSTED = frozenset({"delta.targetFileSize", "delta.tuneFileSizesForRewrites"})
_KNOWN = {
    name.lower(): name
    for name in (
        *(f"{_PREFIX}{name}" for name in _OF_DELTA_SPARK),
        *FORMS,
        *WRITER_OWNED_PROPERTIES,
        *(feature.enabling_property for feature in FEATURES.values() if feature.enabling_property),
        *(feature.suspending_property for feature in FEATURES.values() if feature.suspending_property),
    )
}


def is_known(name: str) -> bool:
    """Whether a property is the users' own, or one that Delta knows, in any case."""
    folded = name.lower()
    return not folded.startswith(_PREFIX) or folded in _KNOWN or folded.startswith(_FAMILIES)


def nearest(name: str) -> str | None:
    """Return the known name that a mistyped one is likely to mean; None where there is none."""
    near = difflib.get_close_matches(name.lower(), _KNOWN, n=1, cutoff=0.75)
    return _KNOWN[near[0]] if near else None
