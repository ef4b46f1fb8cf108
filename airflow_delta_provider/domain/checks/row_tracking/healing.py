"""Until when what a commit did to row ids stays wrong.

What that depends on besides the finding is kept as details, from which a later audit resumes.
"""

from __future__ import annotations

from collections.abc import Callable

from airflow_delta_provider.domain.checks.healing import Details, StillOpen
from airflow_delta_provider.domain.delta.row_tracking import row_tracking_of
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: Whether a violation is still open after a commit.
Holds = Callable[[Transition], bool]


def until_mark_reaches(due: int) -> StillOpen:
    """Until the high water mark is there and is not below ``due``."""
    details = {"due": due}
    return StillOpen(until_mark_is_high_enough(None, details), details)


def until_mark_is_high_enough(_: Finding | None, details: Details) -> Holds:
    """Until the high water mark is what it has to be.

    Once ids up to there were given out again, only those files' removal helps, with all others or by a RESTORE.
    """
    due = int(details["due"])

    def holds(later: Transition) -> bool:
        tracking = row_tracking_of(later.after)
        if not tracking.assigns or (later.replaces_all and later.commit.metadata):
            return False
        version = later.commit.version
        given_again = not later.restores and (
            details.get("given_again", False)
            or any(
                file.base_row_id is not None and file.base_row_id <= due
                for file in later.new_files
                if file.default_row_commit_version == version
            )
        )
        details["given_again"] = given_again
        return given_again or (tracking.high_water_mark or 0) < due

    return holds


def highest_added(_: Finding, transition: Transition) -> Details:
    """Return the highest row id that the commit adds."""
    adds = [file for file in transition.commit.adds if file.base_row_id is not None]
    return {"due": max((file.base_row_id or 0) + max((file.num_records or 0) - 1, 0) for file in adds)}


def mark_before(_: Finding, transition: Transition) -> Details:
    """Return the high water mark before the commit."""
    return {"due": row_tracking_of(transition.before).high_water_mark or 0}


def ids_before(finding: Finding, transition: Transition) -> Details:
    """Return the row ids of the file before the commit."""
    before = transition.before_files.get(finding.path or "")
    return {"ids": None if before is None else [before.base_row_id, before.default_row_commit_version]}


def until_ids_are_back(finding: Finding, details: Details) -> Holds:
    """Until the file has its ids back."""
    before = details["ids"]
    return lambda later: (
        not any(
            file.path == finding.path and [file.base_row_id, file.default_row_commit_version] == before
            for file in later.commit.adds
        )
    )


def names_before(_: Finding, transition: Transition) -> Details:
    """Return the names of the columns of row ids before the commit."""
    before = row_tracking_of(transition.before)
    return {"names": [before.row_id_column, before.commit_version_column]}


def until_names_are_back(_: Finding, details: Details) -> Holds:
    """Until the names are those of before, or no file is left that has them."""
    were = list(details["names"])

    def holds(later: Transition) -> bool:
        now = row_tracking_of(later.after)
        return not later.replaces_all and were != [now.row_id_column, now.commit_version_column]

    return holds
