"""Features of types: types that a column may have, and types that it may change to."""

from __future__ import annotations

from dataclasses import replace

from airflow_delta_provider.domain.delta import table_properties as properties
from airflow_delta_provider.domain.delta.column import all_columns
from airflow_delta_provider.domain.delta.data_type import TIMESTAMP_NTZ, PrimitiveType
from airflow_delta_provider.domain.delta.features.feature import (
    Domains,
    Feature,
    FeatureAccess,
    FeatureKind,
    Removal,
    Rewrites,
)
from airflow_delta_provider.domain.delta.mapped_schema import field_metadata
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.type_widening import TYPE_CHANGES_KEY

_SHREDDING = "delta.enableVariantShredding"
_GEOSPATIAL_TYPES = ("geometry", "geography")


def records_types(metadata: Metadata) -> bool:
    """Return True if any column records types that it had before."""
    return any(TYPE_CHANGES_KEY in field_metadata(column.field) for column in all_columns(metadata.schema))


def _geospatial_columns(metadata: Metadata) -> list[str]:
    return [
        str(column) for column in all_columns(metadata.schema) if str(column.data_type).startswith(_GEOSPATIAL_TYPES)
    ]


def _has_geospatial_columns(metadata: Metadata, _: Domains) -> str | None:
    columns = _geospatial_columns(metadata)
    return f"the table has geospatial columns: {', '.join(columns)}. Drop them first." if columns else None


TYPE_WIDENING = Feature(
    name="typeWidening",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Type Widening",
    enabling_property=properties.ENABLE_TYPE_WIDENING,
    removal=Removal(
        rewrites=Rewrites.OF_OTHER_TYPES,
        commits=3,
        protects=True,
        in_metadata=records_types,
        left_in_metadata=lambda metadata: metadata.properties.type_widening,
    ),
)
TYPE_WIDENING_PREVIEW = replace(
    TYPE_WIDENING, name="typeWidening-preview", source="RFC type-widening.md", access=FeatureAccess.SPECIAL
)
TIMESTAMP_NTZ_FEATURE = Feature(
    name="timestampNtz",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Timestamp without timezone (TimestampNtz)",
    aliases=("timestampWithoutTimezone",),
    column_type=TIMESTAMP_NTZ,
)
VARIANT_TYPE = Feature(
    name="variantType",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Variant Data Type",
    column_type=PrimitiveType("variant"),
)
VARIANT_TYPE_PREVIEW = Feature(
    name="variantType-preview",
    kind=FeatureKind.READER_WRITER,
    source="TableFeature.scala",
    access=FeatureAccess.SPECIAL,
)
VARIANT_SHREDDING = Feature(
    name="variantShredding",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Variant Shredding",
    requires=(VARIANT_TYPE,),
    enabling_property=_SHREDDING,
    asked_by_name=True,
)
VARIANT_SHREDDING_PREVIEW = Feature(
    name="variantShredding-preview",
    kind=FeatureKind.READER_WRITER,
    source="TableFeature.scala",
    enabling_property=_SHREDDING,
    access=FeatureAccess.SPECIAL,
)
GEOSPATIAL = Feature(
    name="geospatial",
    kind=FeatureKind.READER_WRITER,
    source="RFC geospatial-types.md",
    removal=Removal(
        since=(4, 3),
        protects=True,
        obstacle=_has_geospatial_columns,
        left_in_metadata=lambda metadata: bool(_geospatial_columns(metadata)),
    ),
)
GEOSPATIAL_DEV = replace(GEOSPATIAL, name="geospatial-dev", access=FeatureAccess.SPECIAL)
