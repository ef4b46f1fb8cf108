"""Changes of protocol and metadata that this provider commits itself, and their actions.

Everything that an edit does not name stays as it is in the log, including unknown keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import PastLog
from airflow_delta_provider.domain.changes.step import Edit
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.commit import ENGINE_INFO, Action, Commit, parse_commit
from airflow_delta_provider.domain.delta.features.log import IN_COMMIT_TIMESTAMP, IN_COMMIT_TIMESTAMP_PREVIEW
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.delta.protocol import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
)
from airflow_delta_provider.domain.delta.table_features import iceberg_settings, managing
from airflow_delta_provider.domain.delta.table_state import CommitBase, Replay, TableState
from airflow_delta_provider.domain.report.report import Finding

_FEATURES = (IN_COMMIT_TIMESTAMP, IN_COMMIT_TIMESTAMP_PREVIEW)


class NoTimestampError(Exception):
    """The previous commit lacks the timestamp that the feature requires."""


def has_in_commit_timestamps(state: TableState) -> bool:
    """Return True if commits after ``state`` need a strictly increasing timestamp."""
    return any(state.is_active(feature) for feature in _FEATURES)


def timestamp_of(commit: Commit) -> int:
    """Return the timestamp of a commit, in milliseconds since 1970.

    :raises NoTimestampError: if it has none
    """
    value = commit.info.get("inCommitTimestamp")
    if type(value) is not int:
        raise NoTimestampError(f"commit {commit.version} has no inCommitTimestamp")
    return value


@dataclass(frozen=True)
class CommitIdentity:
    """The identity of one commit.

    :param now: milliseconds since 1970, UTC
    :param txn_id: unique id, the same at every attempt
    :param user_metadata: labels of the run, as JSON
    """

    now: int
    txn_id: str
    user_metadata: str | None = None


def actions_of(edit: Edit, base: CommitBase, stamp: CommitIdentity) -> list[Action]:
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


def commit_info(edit: Edit, stamp: CommitIdentity, base: CommitBase | None) -> dict[str, Any]:
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


_RENAMING = frozenset({"file", "hdfs", "viewfs", "webhdfs", "swebhdfs"})
_AZURE = frozenset({"abfs", "abfss", "adl", "wasb", "wasbs"})
_S3 = frozenset({"s3", "s3a", "s3n"})

#: Packages of Delta's log stores. A class of the same name in another package may write differently.
_PACKAGES = frozenset({"io.delta.storage", "org.apache.spark.sql.delta.storage"})
#: Schemes that are safe for several writers, by class name of the log store. Delta uses ``HDFSLogStore`` for any
#: other scheme, even if renaming is not atomic there.
_SAFE: Mapping[str, frozenset[str]] = {
    "HDFSLogStore": _RENAMING | _AZURE,
    "LocalLogStore": frozenset({"file"}),
    "AzureLogStore": _AZURE | _RENAMING,
    "GCSLogStore": frozenset({"gs"}),
    "S3DynamoDBLogStore": _S3,
    "IBMCOSLogStore": frozenset({"cos"}),
    "OracleCloudLogStore": frozenset({"oci"}),
}

_REMEDY_ON_S3 = (
    "On S3, spark.delta.logStore.s3a.impl=io.delta.storage.S3DynamoDBLogStore is safe "
    "(io.delta:delta-storage-s3-dynamodb)."
)


def check_log_store(table: str, location: str, store: str) -> Finding | None:
    """Return a refusal if two writers may overwrite each other's commits.

    :param location: real location of the table as a URI, not a mount such as ``viewfs``
    :param store: class of the log store that Delta uses there
    """
    scheme = location.partition(":")[0].lower()
    package, _, name = store.rpartition(".")
    if package in _PACKAGES and scheme in _SAFE.get(name, ()):
        return None
    return requests.UNSAFE_LOG_STORE.found(
        "The log of {table} is written by {store}, which is not safe on {scheme}.",
        remedy=f"{_REMEDY_ON_S3} {requests.UNSAFE_LOG_STORE.remedy}" if scheme in _S3 else None,
        table=table,
        store=store,
        scheme=scheme,
    )


def check_commit(table: str, base: CommitBase, lines: Sequence[str], log: PastLog) -> tuple[Finding, ...]:
    """Return a refusal for each rule that a commit would break.

    Problems of earlier versions do not count.

    :param lines: lines of the commit file, as they would be written
    :raises BrokenLogError: if they are not a commit
    """
    audit = HistoryAudit(Replay.of(base.state), base.state, log, known=True, previous=base.previous)
    return _refusals(audit, base.state.version + 1, lines, f"The commit to {table}")


def check_first_commit(lines: Sequence[str]) -> tuple[Finding, ...]:
    """Return a refusal for each rule that the first commit of a table would break."""
    return _refusals(HistoryAudit(Replay(with_files=True)), 0, lines, "The table")


def _refusals(audit: HistoryAudit, version: int, lines: Sequence[str], what: str) -> tuple[Finding, ...]:
    audit.take(version, parse_commit(commit_name(version), "\n".join(lines).encode()))
    return tuple(
        requests.WOULD_BREAK_RULES.found(
            "{what} would break the rule {subject}: {said}",
            column=finding.column,
            subject=finding.code,
            what=what,
            said=Prose(finding.evidence or finding.message),
        )
        for finding in audit.findings()
        if finding.healed_version is None
    )


def check_writable(table: str, state: TableState) -> tuple[Finding, ...]:
    """Return reasons why this provider must not commit to a table itself; empty if it may."""
    return tuple(finding for rule in _RULES for finding in rule(table, state))


def check_timestamp(table: str, base: CommitBase) -> tuple[Finding, ...]:
    """Return a refusal if the next commit must be later than one whose timestamp is unknown."""
    if not has_in_commit_timestamps(base.state):
        return ()
    try:
        if base.previous is not None:
            timestamp_of(base.previous)
            return ()
        why = f"commit {base.state.version} is no longer in the log"
    except NoTimestampError as error:
        why = str(error)
    return (
        requests.NOT_WRITABLE.found(
            "The next commit of {table} needs a timestamp later than the previous one (feature inCommitTimestamp), but "
            "{why}.",
            remedy="Let an engine commit to the table first, then run the job again.",
            table=table,
            why=Prose(why),
        ),
    )


def _catalog_managed(table: str, state: TableState) -> Iterator[Finding]:
    if managed := managing(state.protocol, state.metadata.configuration):
        yield requests.catalog_managed(table, managed[0])


def _unknown_features(table: str, state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    newer = protocol.min_reader_version > READER_FEATURES_VERSION or protocol.min_writer_version > (
        WRITER_FEATURES_VERSION
    )
    unknown = sorted(protocol.features - FEATURES.keys())
    if newer or unknown:
        what = "the table features {unknown} of {table}" if unknown else "the protocol {protocol} of {table}"
        yield requests.NOT_WRITABLE.found(
            f"This provider does not know {what}, so it cannot tell which rules a commit must follow.",
            remedy="Use a version of the provider that does.",
            table=table,
            unknown=unknown,
            protocol=protocol,
        )


def _iceberg(table: str, state: TableState) -> Iterator[Finding]:
    if kept := iceberg_settings(state.metadata.configuration):
        yield requests.NOT_WRITABLE.found(
            "{table} is also an Iceberg table ({settings}). Its Iceberg readers would not see a commit that no "
            "engine wrote.",
            remedy="Disable that first.",
            table=table,
            settings=list(kept),
        )


_RULES: tuple[Callable[[str, TableState], Iterator[Finding]], ...] = (_catalog_managed, _unknown_features, _iceberg)
