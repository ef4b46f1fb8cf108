"""Conditions for violations of row ids by a commit to stay open.

Data that they need in addition to the finding is kept as details. A later audit resumes with these.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.healing import Details, StillOpen
from airflow_delta_provider.domain.delta.features.state import FeatureState
from airflow_delta_provider.domain.delta.live_file import RowIds
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding


def until_mark_reaches(due: int) -> StillOpen:
    """Return the check whether the high water mark is still missing or below ``due``."""
    details = {"due": due}
    return StillOpen(lambda later: mark_is_too_low(later, None, details), details)


def mark_is_too_low(later: Transition, _: Finding | None, details: Details) -> bool:
    """Return True until the high water mark is high enough.

    Once ids up to there were assigned again, only a replacement of all files or a RESTORE helps.
    """
    due = int(details["due"])
    tracking = later.after.row_tracking
    if not tracking.assigns or (later.replaces_all and later.commit.metadata):
        return False
    version = later.commit.version
    assigned_again = not later.restores and (
        details.get("given_again", False)
        or any(
            file.base_row_id is not None and file.base_row_id <= due
            for file in later.new_files
            if file.default_row_commit_version == version
        )
    )
    details["given_again"] = assigned_again
    return assigned_again or (tracking.high_water_mark or 0) < due


def highest_added(_: Finding, transition: Transition) -> Details:
    """Return the highest row id that the commit adds."""
    adds = [file for file in transition.commit.adds if file.base_row_id is not None]
    return {"due": max((file.base_row_id or 0) + max((file.num_records or 0) - 1, 0) for file in adds)}


def mark_before(_: Finding, transition: Transition) -> Details:
    """Return the high water mark before the commit."""
    return {"due": transition.before.row_tracking.high_water_mark or 0}


def ids_before(finding: Finding, transition: Transition) -> Details:
    """Return the row ids of the file before the commit."""
    before = earlier_ids(transition, finding.path or "")
    return {"ids": None if before is None else list(before)}


def earlier_ids(transition: Transition, path: str) -> RowIds | None:
    """Return the ids that a file had before the commit, or when it was last live; None if no such ids are known."""
    live = transition.before_files.get(path)
    return (transition.past.row_ids or {}).get(path) if live is None else live.row_ids


def ids_are_others(later: Transition, finding: Finding, details: Details) -> bool:
    """Return True until the file has its ids back."""
    return not any(
        file.path == finding.path and [file.base_row_id, file.default_row_commit_version] == details["ids"]
        for file in later.commit.adds
    )


def is_suspended(later: Transition, _: Finding, __: Details) -> bool:
    """Return True until row tracking is no longer suspended."""
    return later.after.row_tracking.suspended


def names_before(_: Finding, transition: Transition) -> Details:
    """Return the names of the materialized columns before the commit."""
    before = transition.before.row_tracking
    return {"names": [before.row_id_column, before.commit_version_column]}


def names_are_others(later: Transition, _: Finding, details: Details) -> bool:
    """Return True until the earlier names are back, no file with them is left, or row tracking is dropped."""
    now = later.after.row_tracking
    if now.state is FeatureState.ABSENT:
        return False
    return not later.keeps_no_file and list(details["names"]) != [now.row_id_column, now.commit_version_column]
