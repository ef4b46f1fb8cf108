"""The time that a commit has to carry where the feature inCommitTimestamp is on. PROTOCOL.md, In-Commit Timestamps."""

from __future__ import annotations

from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.commits import IN_COMMIT_TIMESTAMP, IN_COMMIT_TIMESTAMP_PREVIEW
from airflow_delta_provider.domain.delta.features.state import is_active
from airflow_delta_provider.domain.delta.table_state import TableState

_FEATURES = (IN_COMMIT_TIMESTAMP, IN_COMMIT_TIMESTAMP_PREVIEW)


class NoTimestampError(Exception):
    """The commit before has no time, where the feature says that it has one."""


def has_in_commit_timestamps(state: TableState) -> bool:
    """Whether commits that follow ``state`` have to carry a time that only grows."""
    return any(is_active(feature, state.protocol, state.metadata) for feature in _FEATURES)


def timestamp_of(commit: Commit) -> int:
    """Return the time of a commit, in milliseconds since 1970.

    :raises NoTimestampError: if it has none
    """
    value = commit.info.get("inCommitTimestamp")
    if type(value) is not int:
        raise NoTimestampError(f"commit {commit.version} has no inCommitTimestamp")
    return value
