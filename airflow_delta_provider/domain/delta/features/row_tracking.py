"""Row tracking: every row has an id that it keeps."""

from __future__ import annotations

from airflow_delta_provider.domain.delta import table_properties as properties
from airflow_delta_provider.domain.delta.features.commits import DOMAIN_METADATA
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureKind, Removal
from airflow_delta_provider.domain.delta.live_file import LiveFile

#: Domain metadata of row tracking.
DOMAIN = "delta.rowTracking"


def lacks_row_ids(file: LiveFile) -> bool:
    """Return True if a live file lacks a field of row tracking."""
    return file.base_row_id is None or file.default_row_commit_version is None


def _has_ids(file: LiveFile) -> bool:
    return file.base_row_id is not None or file.default_row_commit_version is not None


ROW_TRACKING = Feature(
    name="rowTracking",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Row Tracking",
    requires=(DOMAIN_METADATA,),
    enabling_property=properties.ENABLE_ROW_TRACKING,
    suspending_property=properties.ROW_TRACKING_SUSPENDED,
    incomplete_file=lacks_row_ids,
    writer_owned=(properties.ROW_ID_COLUMN, properties.ROW_COMMIT_VERSION_COLUMN, properties.ROW_TRACKING_SUSPENDED),
    removal=Removal(
        since=(4, 1),
        commits=2,
        loses_row_ids=True,
        leaves="Row ids lose their identity: enabled again, ids start at 0 and belong to other rows. domainMetadata "
        "stays in the protocol; name it too to drop it.",
        left_in_file=_has_ids,
        left_in_domains=lambda domains: DOMAIN in domains,
    ),
)
