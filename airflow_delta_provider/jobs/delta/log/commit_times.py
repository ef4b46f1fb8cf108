"""The times of commits."""

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
    """Yield the times of commits as readers interpret them, oldest first.

    :param versions: all versions in the log, ascending
    :raises MissingFileError: if a commit is missing
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
    """Return the time of a commit: the time that it states, or else the time at which its file was written.

    :raises MissingFileError: if its file is needed but missing
    """
    for key in (_IN_COMMIT, "timestamp"):
        text = time_of(info.get(key))
        if text is not None:
            return CommitTime(version, datetime.fromisoformat(text), key == _IN_COMMIT)
    return CommitTime(version, log.written_at(commit_name(version)), is_in_commit=False)
