"""What a commit of ours changes of protocol and metadata, and the actions that it is then made of.

All that an edit does not name stays in the actions as it stands in the log, keys that nobody knows included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider import __version__
from airflow_delta_provider.domain.changes.commit.in_commit_timestamp import has_in_commit_timestamps, timestamp_of
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.protocol import Protocol

#: How commits of ours are signed.
ENGINE_INFO = f"airflow-delta-provider/{__version__}"


@dataclass(frozen=True)
class Edit:
    """A change of protocol and metadata, in one commit.

    :param operation: what the commit calls itself, a name of Delta Spark where it has one
    :param parameters: of the operation; values that are no texts are written as JSON texts, as Delta Spark does
    :param protocol: the protocol that the table gets; None where it stays
    :param schema_string: the schema that the table gets, as JSON; None where it stays
    :param set_properties: properties that get a value
    :param unset_properties: properties that are taken away
    """

    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    protocol: Protocol | None = None
    schema_string: str | None = None
    set_properties: Mapping[str, str] = field(default_factory=dict)
    unset_properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stamp:
    """What one commit says of itself.

    :param now: milliseconds since 1970, UTC
    :param txn_id: what tells it from all others; the same at every try
    :param user_metadata: labels of the run, as JSON
    """

    now: int
    txn_id: str
    user_metadata: str | None = None


def actions_of(edit: Edit, base: CommitBase, stamp: Stamp) -> list[Action]:
    """Return the actions of the commit that makes an edit of the version that it follows, ``commitInfo`` first.

    An action that would not differ is left out.
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

    :param base: what it follows; None for version 0
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
    """Return the lines of the commit file, without their ends."""
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
