"""Until when a rule stays broken, where neither the next state nor the removal of a file decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: What that depends on in addition to the finding: plain JSON, which may change as commits are applied. A
#: later audit resumes from it.
Details = dict[str, Any]


@dataclass(frozen=True)
class StillOpen:
    """Decides for later commits, one after the other, whether a violation is still open.

    :param holds: decides it
    :param details: what that depends on in addition to the finding, as far as it is known
    """

    holds: Callable[[Transition], bool]
    details: Details | None = None

    def __call__(self, later: Transition) -> bool:
        """Whether the violation is still open after a commit."""
        return self.holds(later)


@dataclass(frozen=True)
class Healing:
    """How later commits heal a violation.

    :param still_open: whether it is still open after a later commit, given the finding and its details
    :param details: takes the details from the finding and the commit that broke the rule
    :param needs_details: whether it needs details; those of a finding may come from elsewhere than ``details``
    :param by_files: whether a commit can heal it that changes nothing but files
    :param by_restore: whether a commit heals it that leads back to an earlier version
    """

    still_open: Callable[[Transition, Finding, Details], bool]
    details: Callable[[Finding, Transition], Details] | None = None
    needs_details: bool = False
    by_files: bool = False
    by_restore: bool = False

    def after(self, finding: Finding, transition: Transition) -> StillOpen:
        """Return what decides until when a finding is open.

        :param transition: the commit that the finding is about
        """
        return self.by(finding, {} if self.details is None else self.details(finding, transition))

    def by(self, finding: Finding, details: Details) -> StillOpen:
        """Return the same by the details that were taken before."""
        return StillOpen(partial(self._holds, finding=finding, details=details), details)

    def _holds(self, later: Transition, finding: Finding, details: Details) -> bool:
        return self.still_open(later, finding, details)
