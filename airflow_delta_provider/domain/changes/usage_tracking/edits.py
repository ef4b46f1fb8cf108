"""What the commits of steps without SQL change: of tables with usage tracking, which no engine writes to."""

from __future__ import annotations

from functools import singledispatch

from airflow_delta_provider.domain.changes.commit.edit import Edit
from airflow_delta_provider.domain.changes.disable_mapping.schema_mapping import disable_in_schema, map_by_name
from airflow_delta_provider.domain.changes.step import DisableMapping, DropFeature, MapColumns, Step, TrackUsage
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.features.column_mapping import COLUMN_MAPPING, USAGE_TRACKING
from airflow_delta_provider.domain.delta.protocol import weakest_protocol
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, DROPPED_OR_RENAMED


@singledispatch
def edit_of(step: Step, base: CommitBase) -> Edit:
    """Return what the commit of a step changes.

    :raises BrokenLogError: if the schema is damaged
    """
    raise TypeError(f"no edit for {step!r} after version {base.state.version}")


@edit_of.register
def _(step: TrackUsage, base: CommitBase) -> Edit:
    properties = {DROPPED_OR_RENAMED: step.dropped_or_renamed}
    return Edit(
        "SET TBLPROPERTIES",
        {"properties": {USAGE_TRACKING.support_property: "supported", **properties}},
        protocol=base.state.protocol.supporting([USAGE_TRACKING.name]),
        set_properties=properties,
    )


@edit_of.register
def _(step: MapColumns, base: CommitBase) -> Edit:
    del step
    schema_string, properties = map_by_name(base.state.metadata.schema_string)
    return Edit(
        "SET TBLPROPERTIES",
        {"properties": {COLUMN_MAPPING_MODE: properties[COLUMN_MAPPING_MODE]}},
        protocol=base.state.protocol.supporting([COLUMN_MAPPING.name]),
        schema_string=schema_string,
        set_properties=properties,
    )


@edit_of.register
def _(step: DisableMapping, base: CommitBase) -> Edit:
    del step
    schema_string, properties = disable_in_schema(base.state.metadata.schema_string)
    return Edit(
        "SET TBLPROPERTIES",
        {"properties": {COLUMN_MAPPING_MODE: "none"}},
        schema_string=schema_string,
        unset_properties=properties,
    )


@edit_of.register
def _(step: DropFeature, base: CommitBase) -> Edit:
    """Column mapping stays as it is, with its ids and physical names."""
    assert step.feature == USAGE_TRACKING.name
    return Edit(
        "DROP FEATURE",
        {"featureName": step.feature},
        protocol=weakest_protocol(base.state.protocol.features - {step.feature}),
        unset_properties=(DROPPED_OR_RENAMED,),
    )
