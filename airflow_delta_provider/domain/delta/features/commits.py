"""Features of commits: append-only tables, change data, in-commit timestamps, domain metadata."""

from __future__ import annotations

from airflow_delta_provider.domain.delta import table_properties as properties
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureAccess, FeatureKind, Removal

APPEND_ONLY = Feature(
    name="appendOnly",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Append-only Tables",
    legacy_writer=2,
    enabling_property=properties.APPEND_ONLY,
)
CHANGE_DATA_FEED = Feature(
    name="changeDataFeed",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Add CDC File",
    legacy_writer=4,
    enabling_property=properties.ENABLE_CHANGE_DATA_FEED,
)
IN_COMMIT_TIMESTAMP = Feature(
    name="inCommitTimestamp",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, In-Commit Timestamps",
    enabling_property=properties.ENABLE_IN_COMMIT_TIMESTAMPS,
    writer_owned=(properties.ENABLEMENT_VERSION, properties.ENABLEMENT_TIMESTAMP),
    removal=Removal(commits=1, leaves="Time travel by timestamp uses the times of files again."),
)
IN_COMMIT_TIMESTAMP_PREVIEW = Feature(
    name="inCommitTimestamp-preview",
    kind=FeatureKind.WRITER,
    source="TableFeature.scala",
    enabling_property="delta.enableInCommitTimestamps-preview",
    access=FeatureAccess.SPECIAL,
)
DOMAIN_METADATA = Feature(
    name="domainMetadata",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Domain Metadata",
    removal=Removal(
        since=(4, 1), leaves="Domain metadata that any writer left in the table is removed.", left_in_domains=bool
    ),
)
