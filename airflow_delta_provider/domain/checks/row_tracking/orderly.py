"""Commits whose row ids are right at a glance, as those of most commits are: no rule has to look at them."""

from __future__ import annotations

from airflow_delta_provider.domain.delta.transition import Transition


def is_orderly_append(transition: Transition) -> bool:
    """Whether a commit only adds new files, with ids that follow on each other and on the high water mark. Fast.

    Neither :func:`~airflow_delta_provider.domain.checks.row_tracking.commits.check_commit` nor
    :func:`~airflow_delta_provider.domain.checks.row_tracking.history.check_history` finds anything wrong with it, if
    none of its files was part of the table before the version that it found.
    """
    commit, before, after = transition.commit, transition.before, transition.after
    if commit.removes or after.protocol is not before.protocol or after.metadata is not before.metadata:
        return False
    tracking = after.row_tracking
    mark, old = tracking.high_water_mark, before.row_tracking.high_water_mark
    if mark is None or not tracking.relied_upon or tracking.suspended or transition.before_files:
        return False
    start = 0 if old is None else old + 1
    end, version = start, commit.version
    for file in commit.adds:
        base, rows = file.base_row_id, file.num_records
        if base is None or rows is None or base < end or file.default_row_commit_version != version:
            return False
        end = base + rows
    return start - 1 <= mark and end - 1 <= mark
