"""Whether a table, or a commit of it, still has traces of a feature, and when the last of them may go.

``RemovableFeature.actionUsesFeature``, ``validateDropInvariants`` and ``MetadataCleanup`` of Delta Spark v4.4.0:
TRUNCATE HISTORY deletes the log up to a checkpoint behind the last trace, as soon as the commit before that checkpoint
is as old as ``delta.dropFeatureTruncateHistory.retentionDuration`` says, to the minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from airflow_delta_provider.domain.delta.column import all_columns
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.features.removal import PROTECTION
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema, field_metadata
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import PROTECTED_BEFORE
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.type_widening import TYPE_CHANGES_KEY

_GEO = ("geometry", "geography")


def records_types(metadata: Metadata) -> bool:
    """Whether any column records types that it had before."""
    return any(TYPE_CHANGES_KEY in field_metadata(column.field) for column in all_columns(metadata.schema))


def _is_mapped(metadata: Metadata) -> bool:
    return metadata.properties.is_mapped


def _has_v2_policy(metadata: Metadata) -> bool:
    return (metadata.properties.checkpoint_policy or "").startswith("v2")


#: What in the metadata is a trace that history must not have.
_IN_METADATA: Mapping[str, Callable[[Metadata], bool]] = {
    "columnMapping": _is_mapped,
    "deletionVectors": lambda metadata: metadata.properties.deletion_vectors,
    "typeWidening": records_types,
    "typeWidening-preview": records_types,
    "v2Checkpoint": _has_v2_policy,
}


def _tracks_rows(state: TableState) -> bool:
    return "delta.rowTracking" in state.domains or any(
        file.base_row_id is not None or file.default_row_commit_version is not None
        for file in (state.files or {}).values()
    )


#: What else of a state the feature has left, once it is dropped.
_IN_STATE: Mapping[str, Callable[[TableState], bool]] = {
    "columnMapping": lambda state: any(field.is_mapped for field in MappedSchema.of(state.metadata).fields),
    "deletionVectors": lambda state: any(file.deletion_vector is not None for file in (state.files or {}).values()),
    "domainMetadata": lambda state: bool(state.domains),
    "geospatial": lambda state: bool(geo_columns(state.metadata)),
    "geospatial-dev": lambda state: bool(geo_columns(state.metadata)),
    "rowTracking": _tracks_rows,
    "typeWidening": lambda state: state.metadata.properties.type_widening,
    "typeWidening-preview": lambda state: state.metadata.properties.type_widening,
    PROTECTION: lambda state: PROTECTED_BEFORE in state.metadata.configuration,
}


def geo_columns(metadata: Metadata) -> list[str]:
    """Return the columns of geospatial types."""
    return [str(column) for column in all_columns(metadata.schema) if str(column.data_type).startswith(_GEO)]


def is_in_use(feature: str, state: TableState) -> bool:
    """Whether a state has traces of the feature, besides the protocol.

    :param state: with its files
    :raises BrokenLogError: if the schema is damaged
    """
    in_metadata, in_state = _IN_METADATA.get(feature), _IN_STATE.get(feature)
    return bool((in_metadata and in_metadata(state.metadata)) or (in_state and in_state(state)))


def last_traces(
    features: Iterable[str],
    state: TableState,
    base: Metadata | None,
    commits: Iterable[tuple[int, Sequence[Action]]],
) -> dict[str, int]:
    """Return the last versions that have traces of features which the newest state no longer uses.

    :param state: the newest state
    :param base: metadata that held before the first of the commits, None where there was none
    :param commits: all that the log has, oldest first, with their versions; not read where they tell nothing
    """
    found: dict[str, int] = {}
    watched: dict[str, Callable[[Metadata], bool]] = {}
    for feature in features:
        if feature in _IN_METADATA:
            watched[feature] = _IN_METADATA[feature]
        elif feature == PROTECTION:
            before = state.metadata.properties.protected_before
            found |= {feature: before - 1} if before else {}
    dirty = {feature for feature, in_metadata in watched.items() if base is not None and in_metadata(base)}
    for version, actions in commits if watched else ():
        for action in actions:
            if action.get("metaData"):
                metadata = Metadata.from_json(action["metaData"])
                dirty = {feature for feature, in_metadata in watched.items() if in_metadata(metadata)}
        vectors = {"deletionVectors"} if "deletionVectors" in watched and any(map(_has_vector, actions)) else set()
        found |= dict.fromkeys(dirty | vectors, version)
    return found


def _has_vector(action: Action) -> bool:
    bodies = (action.get(kind) for kind in ("add", "remove", "cdc"))
    return any(isinstance(body, dict) and body.get("deletionVector") for body in bodies)


def barrier(trace: int, checkpoints: Iterable[int]) -> int | None:
    """Return the first checkpoint behind the last version with traces: None where there is none yet."""
    return min((version for version in checkpoints if version > trace), default=None)


def earliest_truncation(written: datetime, retention: timedelta) -> datetime:
    """Return from when on history may be truncated whose newest commit was written at ``written``."""
    whole = written.replace(second=0, microsecond=0)
    return (whole if whole == written else whole + timedelta(minutes=1)) + retention
