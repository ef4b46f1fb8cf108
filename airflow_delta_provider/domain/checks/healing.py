"""Conditions for a violation to stay open, if neither the next state nor the removal of a file decides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: Data that the condition needs in addition to the finding: plain JSON, which may change as commits are applied. A
#: later audit resumes from it.
Details = dict[str, Any]


@dataclass(frozen=True)
class StillOpen:
    """A check of later commits, applied in order, whether a violation is still open.

    :param holds: returns True if the violation is still open after a commit
    :param details: data that the check needs in addition to the finding, as far as it is known
    """

    holds: Callable[[Transition], bool]
    details: Details | None = None

    def __call__(self, later: Transition) -> bool:
        """Return True if the violation is still open after a commit."""
        return self.holds(later)


@dataclass(frozen=True)
class Healing:
    """The fix of a violation by later commits.

    :param still_open: returns True if the violation is still open after a later commit, given the finding and its
        details
    :param details: returns the details from the finding and the commit that broke the rule
    :param needs_details: whether details are required; a finding may get them from another place than ``details``
    :param by_files: whether a commit that changes only files can fix it
    :param by_restore: whether a commit that returns to an earlier version fixes it
    """

    still_open: Callable[[Transition, Finding, Details], bool]
    details: Callable[[Finding, Transition], Details] | None = None
    needs_details: bool = False
    by_files: bool = False
    by_restore: bool = False

    def after(self, finding: Finding, transition: Transition) -> StillOpen:
        """Return the check whether a finding is still open.

        :param transition: the commit that the finding is about
        """
        return self.by(finding, {} if self.details is None else self.details(finding, transition))

    def by(self, finding: Finding, details: Details) -> StillOpen:
        """Return the check from details that were taken before."""
        return StillOpen(partial(self._holds, finding=finding, details=details), details)

    def _holds(self, later: Transition, finding: Finding, details: Details) -> bool:
        return self.still_open(later, finding, details)
