"""Features of the log: the format of checkpoints, and protection of history from older engines."""

from __future__ import annotations

from airflow_delta_provider.domain.delta import table_properties as properties
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureAccess, FeatureKind, Removal
from airflow_delta_provider.domain.delta.metadata import Metadata


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
