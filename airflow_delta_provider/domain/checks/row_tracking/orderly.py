"""A quick check that finds most commits with correct row ids: no rule has to check them."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.transition import Transition


def is_orderly_append(transition: Transition) -> bool:
    """Return True if a commit only adds new files, with ids that follow the high water mark in order. Fast.

    Then :func:`~airflow_delta_provider.domain.checks.row_tracking.commits.check_commit` and
    :func:`~airflow_delta_provider.domain.checks.row_tracking.history.check_history` find nothing, provided that none of
    its files was part of the table in an earlier version than the one before it.
    """
    commit, before, after = transition.commit, transition.before, transition.after
    if commit.removes or after.protocol is not before.protocol or after.metadata is not before.metadata:
        return False
    tracking = after.row_tracking
    mark, old = tracking.high_water_mark, before.row_tracking.high_water_mark
    if mark is None or not tracking.relied_upon or tracking.suspended or transition.before_files:
        return False
    return are_ids_orderly(commit.adds, commit.version, old, mark)


def are_ids_orderly(adds: Iterable[LiveFile], version: int, before: int | None, after: int) -> bool:
    """Return True if the row ids of new files follow each other and the high water mark.

    :param version: version that adds them
    :param before: the mark before it; None if there was none
    :param after: the mark after it
    """
    start = 0 if before is None else before + 1
    end = start
    for _, _, base, default_version, rows, _, _ in adds:
        if base is None or rows is None or base < end or default_version != version:
            return False
        end = base + rows
    return start - 1 <= after and end - 1 <= after
