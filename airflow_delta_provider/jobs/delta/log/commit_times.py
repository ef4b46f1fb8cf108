"""Reading when commits were made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from airflow_delta_provider.domain.delta.commit import actions_of_head, commit_info, time_of
from airflow_delta_provider.domain.delta.commit_times import CommitTime, in_order
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.jobs.delta.log.table_log import TableLog

_IN_COMMIT = "inCommitTimestamp"


def commit_times(log: TableLog, versions: Iterable[int]) -> Iterator[CommitTime]:
    """Yield when commits were made, as readers take it, oldest first.

    :param versions: all that the log has, ascending
    :raises MissingFileError: if a commit is gone
    """
    return in_order(_said(log, versions))


def _said(log: TableLog, versions: Iterable[int]) -> Iterator[CommitTime]:
    for version, _, content in log.commits(versions):
        try:
            info = commit_info(actions_of_head(content))
        except ValueError:
            info = {}
        yield time_of_commit(log, version, info)


def time_of_commit(log: TableLog, version: int, info: Mapping[str, Any]) -> CommitTime:
    """Return when a commit was made: the time that it states, or else the time at which its file was written.

    :raises MissingFileError: if its file is needed and gone
    """
    for key in (_IN_COMMIT, "timestamp"):
        text = time_of(info.get(key))
        if text is not None:
            return CommitTime(version, datetime.fromisoformat(text), key == _IN_COMMIT)
    return CommitTime(version, log.written_at(commit_name(version)), is_in_commit=False)
