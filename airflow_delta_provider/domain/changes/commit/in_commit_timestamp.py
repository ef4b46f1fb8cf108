"""The timestamp of a commit where the feature inCommitTimestamp is enabled. PROTOCOL.md, In-Commit Timestamps."""

from __future__ import annotations

from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.commits import IN_COMMIT_TIMESTAMP, IN_COMMIT_TIMESTAMP_PREVIEW
from airflow_delta_provider.domain.delta.features.state import is_active
from airflow_delta_provider.domain.delta.table_state import TableState

_FEATURES = (IN_COMMIT_TIMESTAMP, IN_COMMIT_TIMESTAMP_PREVIEW)


class NoTimestampError(Exception):
    """The previous commit lacks the timestamp that the feature requires."""


def has_in_commit_timestamps(state: TableState) -> bool:
    """Whether commits that follow ``state`` need a timestamp that only grows."""
    return any(is_active(feature, state.protocol, state.metadata) for feature in _FEATURES)


def timestamp_of(commit: Commit) -> int:
    """Return the timestamp of a commit, in milliseconds since 1970.

    :raises NoTimestampError: if it has none
    """
    value = commit.info.get("inCommitTimestamp")
    if type(value) is not int:
        raise NoTimestampError(f"commit {commit.version} has no inCommitTimestamp")
    return value
