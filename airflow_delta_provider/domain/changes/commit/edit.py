"""Changes of protocol and metadata that this provider commits itself, and their actions.

Everything that an edit does not name stays as it is in the log, including unknown keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider import __version__
from airflow_delta_provider.domain.changes.schema_string import disable_in_schema, map_by_name
from airflow_delta_provider.domain.changes.step import DisableMapping, DropFeature, MapColumns, Step, TrackUsage
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.features.column_mapping import COLUMN_MAPPING, USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.commits import IN_COMMIT_TIMESTAMP, IN_COMMIT_TIMESTAMP_PREVIEW
from airflow_delta_provider.domain.delta.features.state import is_active
from airflow_delta_provider.domain.delta.protocol import Protocol, weakest_protocol
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import TableState

_FEATURES = (IN_COMMIT_TIMESTAMP, IN_COMMIT_TIMESTAMP_PREVIEW)


class NoTimestampError(Exception):
    """The previous commit lacks the timestamp that the feature requires."""


def has_in_commit_timestamps(state: TableState) -> bool:
    """Return True if commits after ``state`` need a strictly increasing timestamp."""
    return any(is_active(feature, state.protocol, state.metadata) for feature in _FEATURES)


def timestamp_of(commit: Commit) -> int:
    """Return the timestamp of a commit, in milliseconds since 1970.

    :raises NoTimestampError: if it has none
    """
    value = commit.info.get("inCommitTimestamp")
    if type(value) is not int:
        raise NoTimestampError(f"commit {commit.version} has no inCommitTimestamp")
    return value


#: The ``engineInfo`` of these commits.
ENGINE_INFO = f"airflow-delta-provider/{__version__}"


@dataclass(frozen=True)
class Edit:
    """A change of protocol and metadata, in one commit.

    :param operation: name of the operation, Delta Spark's own if it has one
    :param parameters: parameters of the operation; values that are not strings are written as JSON strings, as Delta
        Spark does
    :param protocol: new protocol; None if it stays
    :param schema_string: new schema, as JSON; None if it stays
    """

    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    protocol: Protocol | None = None
    schema_string: str | None = None
    set_properties: Mapping[str, str] = field(default_factory=dict)
    unset_properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stamp:
    """The identity of one commit.

    :param now: milliseconds since 1970, UTC
    :param txn_id: unique id, the same at every attempt
    :param user_metadata: labels of the run, as JSON
    """

    now: int
    txn_id: str
    user_metadata: str | None = None


def actions_of(edit: Edit, base: CommitBase, stamp: Stamp) -> list[Action]:
    """Return the actions of the commit for an edit, ``commitInfo`` first.

    Actions that would not change anything are left out.
    """
    actions: list[Action] = [{"commitInfo": commit_info(edit, stamp, base)}]
    if edit.protocol is not None and edit.protocol != base.state.protocol:
        kept = {key: value for key, value in base.protocol.items() if key not in _FEATURE_LISTS}
        actions.append({"protocol": kept | edit.protocol.to_json()})
    metadata = _metadata(edit, base.metadata)
    if metadata != base.metadata:
        actions.append({"metaData": metadata})
    return actions


def commit_info(edit: Edit, stamp: Stamp, base: CommitBase | None) -> dict[str, Any]:
    """Return the ``commitInfo`` of an edit.

    :param base: version that the commit follows; None for version 0
    """
    parameters = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        for key, value in edit.parameters.items()
    }
    info: dict[str, Any] = {"timestamp": stamp.now}
    if base is not None and has_in_commit_timestamps(base.state):
        timestamp = max(stamp.now, timestamp_of(base.previous or Commit(base.state.version)) + 1)
        info = {"inCommitTimestamp": timestamp, "timestamp": timestamp}
    info |= {"operation": edit.operation, "operationParameters": parameters}
    if base is not None:
        info["readVersion"] = base.state.version
    info |= {
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {},
        "engineInfo": ENGINE_INFO,
        "txnId": stamp.txn_id,
    }
    if stamp.user_metadata is not None:
        info["userMetadata"] = stamp.user_metadata
    return info


def lines_of(actions: list[Action]) -> list[str]:
    """Return the lines of the commit file, without line breaks."""
    return [json.dumps(action, ensure_ascii=False, separators=(",", ":")) for action in actions]


def _metadata(edit: Edit, raw: Mapping[str, Any]) -> dict[str, Any]:
    before: Mapping[str, Any] = raw.get("configuration") or {}
    configuration = {key: value for key, value in before.items() if key not in edit.unset_properties}
    configuration |= edit.set_properties
    changed = dict(raw)
    if configuration != before:
        changed["configuration"] = configuration
    if edit.schema_string is not None:
        changed["schemaString"] = edit.schema_string
    return changed


_FEATURE_LISTS = ("readerFeatures", "writerFeatures")


def edit_of(step: Step, base: CommitBase) -> Edit:
    """Return the edit for a step without SQL, on a table with usage tracking.

    No engine writes to such a table.

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
