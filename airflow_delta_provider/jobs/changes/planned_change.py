"""A change of one table: a value that says what is planned, and commits and verifies just that."""

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
    """A change of one table, as planned on one state of it. What planning reads is read once, and kept.

    :param options: of the request
    :param state: what it is planned on; with its files where the kind of change needs them
    """

    options: Any
    session: SparkDeltaSession
    table: OpenTable
    state: TableState

    #: Conditions of engine errors that end a step without failing it: verifying finds out what is left to do.
    unfinished: ClassVar[frozenset[str]] = frozenset()
    #: Steps that :meth:`commit` does although SQL describes them.
    own_commits: ClassVar[tuple[type[Step], ...]] = ()

    @property
    @abstractmethod
    def planned(self) -> Planned:
        """The plan, or why there is none."""

    def reported(self, plan: Plan) -> dict[str, Any]:
        """Return the JSON of a plan for the report of this change."""
        return plan.to_json()

    def begun_on(self, before: TableState) -> Mapping[str, Any] | None:
        """Return the JSON of the plan that an earlier try of this run began on ``before``; None if there was none.

        :raises Exception: if it cannot be made again
        """
        plan = replace(self, state=before).planned.plan
        return None if plan is None else self.reported(plan)

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of its commits, in addition to those of the request and the digest of the plan."""
        return {}

    def refusals_on(self, state: TableState) -> tuple[Finding, ...]:
        """Return why the same request would be refused on another state: then no retry helps."""
        return replace(self, state=state).planned.refusals

    def commit(self, step: Step, since: TableState) -> PlannedChange:
        """Commit a step that has no SQL; return the change as planned on the version that the commit follows.

        :param since: the table, to which other writers may only add and remove files from then on
        :raises TableMovedError: if the table is no longer what the plan was made on
        :raises CommitRefusedError: if the step must not be done
        """
        DirectCommit.in_session(self.session, self.table, since).write(partial(self.edit, step))
        return self

    def edit(self, step: Step, base: CommitBase) -> Edit:
        """Return what the commit of a step without SQL changes of the version that it follows."""
        return edit_of(step, base)

    @abstractmethod
    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return what is wrong afterwards.

        :param commits: this run's own commits by version; empty where there was nothing to do
        """
