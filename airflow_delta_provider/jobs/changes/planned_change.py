"""A change of one table: a value that holds a plan, and commits and verifies exactly that plan."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar

from airflow_delta_provider.domain.audit.past import find_version_range
from airflow_delta_provider.domain.changes.plan import Plan, Planned
from airflow_delta_provider.domain.changes.step import Edit
from airflow_delta_provider.domain.changes.steps import Step
from airflow_delta_provider.domain.delta.commit import Action, commit_info, provenance_of
from airflow_delta_provider.domain.delta.log_files import earliest_version, newest_version
from airflow_delta_provider.domain.delta.table_state import CommitBase, TableState
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.option import time_or_none
from airflow_delta_provider.jobs.audit.range_audit import RangeAudit, run_audit
from airflow_delta_provider.jobs.changes.commit import DirectCommit
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import TimeBudget, Timings, silent
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession


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
    provider_commits: ClassVar[tuple[type[Step], ...]] = ()

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
        return step.edit(base)

    @abstractmethod
    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return the problems found after the change.

        :param commits: this run's own commits by version; empty if there was nothing to do
        """


#: Allowed difference between clocks.
_MARGIN = timedelta(hours=1)
#: The search ends after this many consecutive commits older than the run: a single one may have a wrong timestamp.
_OLDER = 100


def earlier_commits(log: TableLog, labels: Mapping[str, Any], retry_since: str | None) -> list[int]:
    """Return the versions that earlier tries committed, oldest first; none if this is the first try.

    :param labels: labels of the task run
    :param retry_since: start of the task run, ISO 8601; None for the first try

    A task that was cleared runs with its earlier labels. Its earlier commits also count: if its last try died, they
    were not reported. Damaged commits are skipped.
    """
    since = time_or_none("retry_since", retry_since)
    if since is None or not labels:
        return []
    found, older = [], 0
    for version, actions in log.newest_commits():
        if is_own(actions, labels):
            found.append(version)
        older = older + 1 if _made_before(actions, since - _MARGIN) else 0
        if older == _OLDER:
            break
    return sorted(found)


def plan_digest_of(actions: Iterable[Action]) -> str | None:
    """Return the digest of the plan that a commit of this provider belongs to; None for another commit."""
    try:
        written = json.loads(commit_info(actions).get("userMetadata") or "null")
    except ValueError:
        return None
    return written.get("plan_digest") if isinstance(written, dict) else None


def is_own(actions: Iterable[Action], labels: Mapping[str, Any]) -> bool:
    """Return True if a commit has all labels of this run. Another run may carry out the same plan."""
    try:
        written = json.loads(commit_info(actions).get("userMetadata") or "null")
    except ValueError:
        return False
    return isinstance(written, dict) and labels.items() <= written.items()


def _made_before(actions: Iterable[Action], time: datetime) -> bool:
    made = time_or_none("timestamp", provenance_of(commit_info(actions))["timestamp"])
    return made is not None and made < time


def audited(table: OpenTable, before: TableState, commits: Mapping[int, list[Action]]) -> Iterator[Finding]:
    """Yield the rules of the log that this run's commits broke; nothing if their history was truncated."""
    names = table.log.list_names()
    first = earliest_version(names)
    if not commits or first is None or first > before.version:
        return
    wanted = find_version_range(names, newest_version(names), before.version)
    made = partial(RangeAudit, table.log, names, table.name.text, Timings(), silent, TimeBudget(None))
    _, audit = run_audit(made, lambda run: run.run(wanted, known=True), silent)
    yield from (finding for finding in audit.findings() if finding.version in commits and finding.is_open)
