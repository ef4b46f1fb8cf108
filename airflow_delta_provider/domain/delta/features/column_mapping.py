"""Column mapping, and the record of whether it was ever used to drop or rename a column."""

from __future__ import annotations

from airflow_delta_provider.domain.delta import table_properties as properties
from airflow_delta_provider.domain.delta.clustering import named_by_files
from airflow_delta_provider.domain.delta.column import all_columns
from airflow_delta_provider.domain.delta.column_mapping import is_plain_name
from airflow_delta_provider.domain.delta.features.feature import Domains, Feature, FeatureKind, Removal, Rewrites
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata


def _unreachable(value: str, metadata: Metadata) -> str | None:
    """Return the reason why no engine can change the mode to ``value``; None if one can.

    Files lack the ids that mode id needs.
    """
    current = metadata.configuration.get(properties.COLUMN_MAPPING_MODE, properties.MappingMode.NONE.value)
    if value.lower() in ("name", current.lower()):
        return None
    return (
        f"column mapping mode {value!r} cannot be reached from {current!r} on an existing table; only 'name' can be "
        "enabled."
    )


def _obstacle(metadata: Metadata, domains: Domains) -> str | None:
    if name := needs_mapping(metadata):
        return f"without it no column may be called {name!r}. Rename the column first."
    if columns := named_by_files(metadata, domains):
        return (
            f"the table is clustered by {', '.join(columns)}, by names that only column mapping knows. ALTER TABLE … "
            "CLUSTER BY NONE first; afterwards CLUSTER BY the columns again."
        )
    return None


def needs_mapping(metadata: Metadata) -> str | None:
    """Return the name of a column that is legal only with column mapping; None if there is none."""
    names = (column.field.name for column in all_columns(metadata.schema))
    return next((name for name in names if not is_plain_name(name)), None)


COLUMN_MAPPING = Feature(
    name="columnMapping",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Column Mapping",
    legacy_reader=2,
    legacy_writer=5,
    enabling_property=properties.COLUMN_MAPPING_MODE,
    enabled_values=("name", "id"),
    unreachable=_unreachable,
    writer_owned=(properties.MAX_COLUMN_ID,),
    removal=Removal(
        rewrites=Rewrites.ALL,
        commits=1,
        protects=True,
        leaves="Streams that read the table fail once, and have to be started again.",
        obstacle=_obstacle,
        in_metadata=lambda metadata: metadata.properties.is_mapped,
        left_in_metadata=lambda metadata: any(field.is_mapped for field in MappedSchema.of(metadata).fields),
    ),
)
USAGE_TRACKING = Feature(
    name="columnMappingUsageTracking",
    kind=FeatureKind.WRITER,
    source="RFC Column Mapping Usage Tracking, delta-io/delta#2682",
    requires_in_engines=(COLUMN_MAPPING,),
    writer_owned=(properties.DROPPED_OR_RENAMED,),
    removal=Removal(without_sql=True),
)
