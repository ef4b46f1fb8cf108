"""Features about files, rows and the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.delta import table_properties as properties
from airflow_delta_provider.domain.delta.data_type import UnknownColumnError, lowered, parse_path
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureAccess, FeatureKind, Removal, Rewrites
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import MappedField, MappedSchema, Metadata
from airflow_delta_provider.domain.formats.json_values import parse_json


def _last_protected(metadata: Metadata) -> int | None:
    protected = metadata.properties.protected_before
    return protected - 1 if protected else None


V2_CHECKPOINT = Feature(
    name="v2Checkpoint",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, V2 Checkpoint Table Feature",
    enabling_property=properties.CHECKPOINT_POLICY,
    enabled_values=("v2",),
    removal=Removal(
        commits=1,
        protects=True,
        in_metadata=lambda metadata: (metadata.properties.checkpoint_policy or "").startswith("v2"),
    ),
)
VACUUM_PROTOCOL_CHECK = Feature(
    name="vacuumProtocolCheck",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, VACUUM Protocol Check",
    removal=Removal(protects=True),
)
CHECKPOINT_PROTECTION = Feature(
    name="checkpointProtection",
    kind=FeatureKind.WRITER,
    source="RFC checkpoint-protection.md",
    access=FeatureAccess.SPECIAL,
    writer_owned=(properties.PROTECTED_BEFORE,),
    removal=Removal(
        only_truncating=True,
        commits=1,
        last_trace=_last_protected,
        left_in_metadata=lambda metadata: properties.PROTECTED_BEFORE in metadata.configuration,
    ),
)


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
    is_judged=False,
)
DOMAIN_METADATA = Feature(
    name="domainMetadata",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Domain Metadata",
    removal=Removal(
        since=(4, 1), leaves="Domain metadata that any writer left in the table is removed.", left_in_domains=bool
    ),
)


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


def _has_vector(action: Mapping[str, Any]) -> bool:
    bodies = (action.get(kind) for kind in ("add", "remove", "cdc"))
    return any(isinstance(body, dict) and body.get("deletionVector") for body in bodies)


DELETION_VECTORS = Feature(
    name="deletionVectors",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Deletion Vectors",
    enabling_property=properties.ENABLE_DELETION_VECTORS,
    removal=Removal(
        rewrites=Rewrites.WITH_VECTORS,
        commits=3,
        protects=True,
        in_metadata=lambda metadata: metadata.properties.deletion_vectors,
        in_action=_has_vector,
        left_in_file=lambda file: file.deletion_vector is not None,
    ),
)
CLUSTERING = Feature(
    name="clustering",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Clustered Table",
    requires=(DOMAIN_METADATA,),
    access=FeatureAccess.OTHER_WAY,
    instead="Clustering is chosen by its columns: run ALTER TABLE … CLUSTER BY (…), which brings the feature.",
    instead_of_removal="ALTER TABLE … CLUSTER BY NONE ends clustering; the feature stays.",
)
MATERIALIZE_PARTITION_COLUMNS = Feature(
    name="materializePartitionColumns",
    kind=FeatureKind.WRITER,
    source="RFC materialize-partition-columns.md",
    enabling_property="delta.enableMaterializePartitionColumnsFeature",
    removal=Removal(since=(4, 1)),
)


#: Domain metadata of clustering.
CLUSTERING_DOMAIN = "delta.clustering"

#: Fields by their names, or by their paths in data files, in lower case.
Fields = Mapping[tuple[str, ...], MappedField]


def named_by_files(metadata: Metadata, domains: Mapping[str, str]) -> list[str]:
    """Return clustering columns that are recorded under physical names only.

    They cannot be resolved once column mapping is off. The list is empty if it is off already: removing the feature
    then loses nothing more.
    """
    schema = metadata.readable_mapped_schema
    if schema is None or not schema.is_mapped:
        return []
    logical, in_files = fields_by_name(schema), fields_by_path(schema)
    found: list[str] = []
    for parts in clustering_columns(domains.get(CLUSTERING_DOMAIN)):
        if field_called(parts, logical) is None:
            field = field_called(parts, in_files)
            found.append(".".join(parts[0]) if field is None else str(field.column))
    return found


def is_clustering(configuration: str) -> bool:
    """Return True if the domain's configuration lists columns, each as its parts or as a string."""
    try:
        listed: Any = parse_json(configuration).get("clusteringColumns")
    except (ValueError, AttributeError):
        return False
    return isinstance(listed, list) and len(clustering_columns(configuration)) == len(listed)


def clustering_columns(configuration: str | None) -> list[list[tuple[str, ...]]]:
    """Return the clustering columns, each with its possible readings.

    Spark writes a column as a list of parts; in the protocol it is a string.
    """
    try:
        listed: Any = parse_json(configuration or "{}").get("clusteringColumns")
    except (ValueError, AttributeError):
        return []
    found: list[list[tuple[str, ...]]] = []
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, list) and entry and all(isinstance(part, str) for part in entry):
            found.append([tuple(entry)])
        elif isinstance(entry, str) and entry:
            try:
                found.append([(entry,), parse_path(entry)])
            except UnknownColumnError:
                found.append([(entry,)])
    return found


def fields_by_name(schema: MappedSchema) -> Fields:
    """Return the fields by their logical paths."""
    return {lowered(field.column.parts): field for field in schema.fields}


def fields_by_path(schema: MappedSchema) -> Fields:
    return {lowered(field.path): field for field in schema.fields if field.path is not None}


def field_called(parts: list[tuple[str, ...]], fields: Fields) -> MappedField | None:
    """Return the field that matches one of the readings of a clustering column, or None."""
    return next((fields[lowered(part)] for part in parts if lowered(part) in fields), None)


def clustering_of(metadata: Metadata, domains: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the logical paths of the clustering columns.

    The domain lists them by their names in data files.

    :raises BrokenLogError: if the schema string is not a struct
    """
    fields = fields_by_path(metadata.mapped_schema)
    found = (
        (readings, field_called(readings, fields)) for readings in clustering_columns(domains.get(CLUSTERING_DOMAIN))
    )
    return [readings[-1] if field is None else field.column.parts for readings, field in found]
