"""What the commits of steps without SQL change: of tables with usage tracking, which no engine writes to."""

from __future__ import annotations

from airflow_delta_provider.domain.changes.commit.edit import Edit
from airflow_delta_provider.domain.changes.schema_string import disable_in_schema, map_by_name
from airflow_delta_provider.domain.changes.step import DisableMapping, DropFeature, MapColumns, Step, TrackUsage
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.features.column_mapping import COLUMN_MAPPING, USAGE_TRACKING
from airflow_delta_provider.domain.delta.protocol import weakest_protocol
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, DROPPED_OR_RENAMED


def edit_of(step: Step, base: CommitBase) -> Edit:
    """Return what the commit of a step changes.

    :raises BrokenLogError: if the schema is damaged
    """
    state = base.state
    match step:
        case TrackUsage():
            properties = {DROPPED_OR_RENAMED: step.dropped_or_renamed}
            return Edit(
                "SET TBLPROPERTIES",
                {"properties": {USAGE_TRACKING.support_property: "supported", **properties}},
                protocol=state.protocol.supporting([USAGE_TRACKING.name]),
                set_properties=properties,
            )
        case MapColumns():
            schema_string, mapping = map_by_name(state.metadata.schema_string)
            return Edit(
                "SET TBLPROPERTIES",
                {"properties": {COLUMN_MAPPING_MODE: mapping[COLUMN_MAPPING_MODE]}},
                protocol=state.protocol.supporting([COLUMN_MAPPING.name]),
                schema_string=schema_string,
                set_properties=mapping,
            )
        case DisableMapping():
            schema_string, gone = disable_in_schema(state.metadata.schema_string)
            return Edit(
                "SET TBLPROPERTIES",
                {"properties": {COLUMN_MAPPING_MODE: "none"}},
                schema_string=schema_string,
                unset_properties=gone,
            )
        case DropFeature(feature=USAGE_TRACKING.name):
            # Column mapping stays as it is, with its ids and physical names.
            return Edit(
                "DROP FEATURE",
                {"featureName": step.feature},
                protocol=weakest_protocol(state.protocol.features - {step.feature}),
                unset_properties=(DROPPED_OR_RENAMED,),
            )
        case _:
            raise TypeError(f"no edit for {step!r} after version {state.version}")
