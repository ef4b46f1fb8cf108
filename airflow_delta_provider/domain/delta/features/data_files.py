"""Features of data files: deleted rows, the order of rows, and the content of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.delta import table_properties as properties
from airflow_delta_provider.domain.delta.features.commits import DOMAIN_METADATA
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureAccess, FeatureKind, Removal, Rewrites


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
