"""A change of one table: a value that holds a plan, and commits and verifies exactly that plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from airflow_delta_provider.domain.changes.commit.edit import Edit, edit_of
from airflow_delta_provider.domain.changes.plan import Plan, Planned
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.changes.commit.direct_commit import DirectCommit
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession


@dataclass(frozen=True)
class PlannedChange(ABC):
    """A change of one table, planned on one of its states. Data read for planning is read once and kept.

    :param options: options of the request
    :param state: state that it is planned on; with its files if the kind of change needs them
    """

    options: Any
    session: SparkDeltaSession
    table: OpenTable
    state: TableState

    #: Error conditions of the engine that end a step without failing it. Verification finds the work that is left.
    unfinished: ClassVar[frozenset[str]] = frozenset()
    #: Steps that :meth:`commit` carries out although they could be rendered as SQL.
    own_commits: ClassVar[tuple[type[Step], ...]] = ()

    @property
    @abstractmethod
    def planned(self) -> Planned:
        """The plan, or the reasons why there is none."""

    def reported(self, plan: Plan) -> dict[str, Any]:
        """Return the JSON of a plan for the report of this change."""
        return plan.to_json()

    def begun_on(self, before: TableState) -> Mapping[str, Any] | None:
        """Return the JSON of the plan that an earlier try of this run began on ``before``; None if there was none.

        :raises Exception: if the plan cannot be made again
        """
        plan = replace(self, state=before).planned.plan
        return None if plan is None else self.reported(plan)

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of its commits, in addition to the request's labels and the digest of the plan."""
        return {}

    def refusals_on(self, state: TableState) -> tuple[Finding, ...]:
        """Return the reasons to refuse the same request on another state. If there are any, a retry does not help."""
        return replace(self, state=state).planned.refusals

    def commit(self, step: Step, since: TableState) -> PlannedChange:
        """Commit a step that has no SQL; return the change as planned on the version that the commit follows.

        :param since: state of the table after which other writers may only add and remove files
        :raises TableMovedError: if the table has changed since the plan was made
        :raises CommitRefusedError: if the step must not be done
        """
        DirectCommit.in_session(self.session, self.table, since).write(partial(self.edit, step))
        return self

    def edit(self, step: Step, base: CommitBase) -> Edit:
        """Return the changes of a commit for a step without SQL, relative to the version that it follows."""
        return edit_of(step, base)

    @abstractmethod
    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return the problems found after the change.

        :param commits: this run's own commits by version; empty if there was nothing to do
        """
