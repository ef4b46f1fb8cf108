"""The commits of a table since a version, and files that earlier commits had already added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.checks.row_tracking.commits import suspicious_paths
from airflow_delta_provider.domain.checks.row_tracking.comparison import lost_version, no_such_version
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.delta.log.kept_log import KeptLog
from airflow_delta_provider.jobs.delta.log.table_log import History, TableLog
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


@dataclass(frozen=True)
class CommitStep:
    """A commit, and the files in it that earlier commits had already added.

    :param suspicious: paths that it adds with ids of an earlier commit
    :param earlier: suspicious paths that an earlier commit added
    """

    transition: Transition
    suspicious: Sequence[str] = ()
    earlier: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ComparedHistory:
    """The newest state of a table and the commits since a version.

    :param comparable: True if ``history`` goes back to the requested version
    :param lost: finding that explains why it does not
    :param refusal: refusal of a version that does not exist
    """

    history: History
    comparable: bool = False
    lost: Finding | None = None
    refusal: Finding | None = None


def read_compared_history(log: TableLog, since: int | None) -> ComparedHistory:
    """Read a table's newest state and the commits since a version.

    :param since: version; None for only the commits that are checked without a comparison
    :raises BrokenLogError: if the newest state cannot be read
    """
    error: Exception | None = None
    if since is not None:
        try:
            history = log.read_history(since)
            if history.transitions:
                return ComparedHistory(history, comparable=True)
        except (BrokenLogError, MissingFileError) as broken:
            error = broken
    history = log.read_history()
    newest = history.state.version
    if since is None or since == newest:
        return ComparedHistory(history, comparable=since is not None)
    if since > newest:
        return ComparedHistory(history, refusal=no_such_version(since, newest))
    assert error is not None  # an older version always has commits after it
    earliest = log.earliest_version()
    return ComparedHistory(history, lost=lost_version(since, error, earliest if (earliest or 0) > since else None))


def step_of(transition: Transition, log: TableLog) -> CommitStep:
    """Return a commit, with the files that earlier commits had already added."""
    paths = suspicious_paths(transition)
    earlier = KeptLog(log).added_before(transition.commit.version, paths) if paths else frozenset()
    return CommitStep(transition, paths, earlier)
