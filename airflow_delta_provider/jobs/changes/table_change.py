"""Changing one table: read, plan, execute, read again, verify. The kinds differ in what they plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.changes.commit.log_stores import check_log_store
from airflow_delta_provider.domain.changes.expected_protocol import with_expected_protocol
from airflow_delta_provider.domain.changes.explain import explain
from airflow_delta_provider.domain.changes.plan import Plan, Planned
from airflow_delta_provider.domain.changes.sql import render_sql
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.delta.commit import Action, changes_metadata
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.conflicts import FILE_CONFLICTS
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.changes.commit.log_store import LogStore
from airflow_delta_provider.jobs.changes.earlier_tries import earlier_commits, is_own
from airflow_delta_provider.jobs.changes.expected_protocol import expected_protocol
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.session.engine_errors import understand
from airflow_delta_provider.jobs.session.progress import Progress
from airflow_delta_provider.jobs.session.timings import Timings

_TRIES = 3


class Change(ABC):
    """What one kind of change plans, does where no SQL can, and verifies."""

    #: Whether planning and verifying look at the live files.
    needs_files: bool = False
    #: Conditions of the engine's errors that end a step before it is done without failing it: verifying tells the rest.
    unfinished: frozenset[str] = frozenset()

    @abstractmethod
    def plan(self, table: OpenTable, state: TableState) -> Planned:
        """Plan on a state of the table."""

    @abstractmethod
    def verify(
        self, table: OpenTable, before: TableState, after: TableState, commits: Mapping[int, list[Action]]
    ) -> tuple[Finding, ...]:
        """Return what is wrong afterwards.

        :param commits: this run's own commits by version; none where there was nothing to do
        """

    def commit(self, table: OpenTable, step: Step, labels: Mapping[str, Any]) -> None:
        """Do a step that has no SQL, in one commit of its own.

        :param labels: go into the ``userMetadata`` of the commit
        :raises TableMovedError: if the table is no longer what the plan was made on
        :raises CommitRefusedError: if it must not be done
        """
        raise TypeError(f"{type(self).__name__} does not know how to do {step!r} to {table.name.text} ({labels})")


class TableMovedError(Exception):
    """Another writer changed protocol or metadata so that the plan no longer holds."""


class CommitRefusedError(Exception):
    """A step that has no SQL must not be done; carries the refusals that say why."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(" ".join(finding.message for finding in findings))
        self.findings = findings


@dataclass(frozen=True)
class Allowed:
    """What a request allows of what every change is checked for; not all kinds have all of it.

    :param unsafe_log_store: the user says that no other process writes meanwhile
    :param upgrade: the protocol may change
    :param special: features may come that few engines can follow
    """

    unsafe_log_store: bool = False
    upgrade: bool = False
    special: bool = False

    @classmethod
    def by(cls, options: Any) -> Allowed:
        """Return what the options of a kind allow."""
        return cls(
            options.allow_unsafe_log_store,
            getattr(options, "allow_protocol_upgrade", False),
            getattr(options, "allow_special", False),
        )


def changing(
    change: Callable[[Any, DeltaSession], Change],
) -> Callable[[DeltaSession, str, JobRequest, Progress], TableReport]:
    """Return the job of a kind: it makes the change of a request's options, and carries it out on one table."""

    def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
        table = session.open_table(text)
        planned = change(request.options, session)
        allowed = Allowed.by(request.options)
        job = TableChange(session, table, planned, request.labels, progress, allowed, request.retry_since)
        return job.run(dry_run=request.dry_run)

    return run


class TableChange:
    """Carries out one change on one table and reports on it.

    :param labels: go into the ``userMetadata`` of every commit
    :param retry_since: as of the request
    """

    def __init__(
        self,
        session: DeltaSession,
        table: OpenTable,
        change: Change,
        labels: Mapping[str, Any],
        progress: Progress,
        allowed: Allowed | None = None,
        retry_since: str | None = None,
    ) -> None:
        self._session = session
        self._table = table
        self._change = change
        self._labels = labels
        self._retry_since = retry_since
        self._progress = progress
        self._allowed = allowed or Allowed()
        self._timings = Timings()

    def run(self, *, dry_run: bool) -> TableReport:
        """Plan, and unless it is a dry run, do it and verify it."""
        name = self._table.name.text
        try:
            with self._timings.phase("read"):
                before = self._read()
                earlier = [] if dry_run else earlier_commits(self._table.log, self._labels, self._retry_since)
            planned = self._change.plan(self._table, before)
        except BrokenLogError as error:
            return TableReport.refused(name, requests.broken_log(name, error))
        known: dict[str, Any] = {
            "version": before.version,
            "version_before": before.version,
            "protocol_before": before.protocol.to_json(),
            "protocol_after": (planned.plan.protocol_after if planned.plan else before.protocol).to_json(),
            "plan": planned.plan.to_json() if planned.plan else None,
            "timings": self._timings,
        }
        if earlier:
            known |= self._changed_before(earlier)
        if planned.refusals or planned.plan is None:
            return TableReport.refused(name, *planned.refusals, **known)
        if not planned.plan.steps or self._done_before(planned.plan):
            self._progress(f"{name}: nothing to do at version {before.version}")
            with self._timings.phase("verify"):
                findings = self._change.verify(self._table, before, before, {})
            return _judged(name, findings, known)
        if unsafe := self._check_log_store():
            return TableReport.refused(name, unsafe, **known)
        plan, refusals = self._with_expected_protocol(planned.plan)
        known["protocol_after"] = plan.protocol_after.to_json()
        if refusals:
            return TableReport.refused(name, *refusals, **known)
        for note in plan.notes:
            self._progress(f"{name}: {note}")
        if dry_run:
            return TableReport.judged(name, **known)
        return self._carry_out(plan, before, known)

    def _check_log_store(self) -> Finding | None:
        """Return a refusal where a commit, ours or the engine's, may take the place of another writer's."""
        if self._allowed.unsafe_log_store:
            return None
        store = LogStore(self._session, self._table.location)
        return check_log_store(self._table.name.text, store.location, store.name, allow_unsafe=False)

    def _with_expected_protocol(self, plan: Plan) -> tuple[Plan, tuple[Finding, ...]]:
        """Return the plan with the protocol that the engine will write, refused where that is not what it is for."""
        try:
            foreseen = expected_protocol(self._session, self._table.location, plan.steps)
        except Exception as error:
            meaning = understand(error)
            if meaning.rule is requests.ENGINE_REFUSED:
                return plan, (meaning.rule.finding(meaning.message),)
            if meaning.rule is faults.ENGINE and meaning.retryable:  # nothing of this can fail once and not again
                return plan, (requests.ENGINE_REFUSED.finding(meaning.message.replace("failed", "refused", 1)),)
            raise
        if foreseen is None:
            return plan, ()
        return with_expected_protocol(
            plan,
            foreseen,
            self._session.engine,
            allow_upgrade=self._allowed.upgrade,
            allow_special=self._allowed.special,
        )

    def _changed_before(self, versions: Sequence[int]) -> dict[str, Any]:
        """Return what is reported of commits that earlier tries of this run made."""
        listed = ", ".join(map(str, versions))
        self._progress(f"{self._table.name.text}: an earlier try of this task run committed version {listed}")
        before = versions[0] - 1
        found: dict[str, Any] = {"changed": True, "version_before": before if before >= 0 else None}
        with suppress(BrokenLogError):  # the log no longer leads there
            found["protocol_before"] = self._table.log.read_state(version=before).protocol.to_json()
        return found

    def _done_before(self, plan: Plan) -> bool:
        """Whether an earlier try of this very run carried out a plan that must not be carried out twice."""
        return plan.once and bool(self._labels) and bool(self._own_commits(-1, self._labels_of(plan)))

    def _labels_of(self, plan: Plan) -> dict[str, Any]:
        return {**self._labels, "plan_digest": plan.digest}

    def _carry_out(self, plan: Plan, before: TableState, known: dict[str, Any]) -> TableReport:
        name = self._table.name.text
        failure: BaseException | None = None
        labels = self._labels_of(plan)
        with self._timings.phase("apply"), self._session.labelled(labels):
            try:
                for step in plan.steps:
                    self._progress(f"{name}: {explain(step)}")
                    self._guard(before, labels)
                    self._execute(step, labels)
            except Exception as error:
                failure = error
        with self._timings.phase("read"):
            after = self._read()
            commits = self._own_commits(before.version, labels)
        known |= {
            "version": after.version,
            "changed": bool(commits) or known.get("changed", False),
            "protocol_after": after.protocol.to_json(),
        }
        if failure is not None:
            return self._failed(failure, known)
        try:
            with self._timings.phase("verify"):
                findings = self._change.verify(self._table, before, after, commits)
        except Exception as error:
            unverified = f"{name} was changed, but it could not be verified afterwards. {understand(error).message}"
            findings = (faults.UNVERIFIED.finding(unverified, version=after.version),)
        return _judged(name, findings, known)

    def _guard(self, before: TableState, labels: Mapping[str, Any]) -> None:
        """Make sure that no other writer changed protocol or metadata since the plan was made.

        :raises TableMovedError: if one did; what only adds or removes files is harmless
        """
        for version, actions in self._table.log.commits_after(before.version):
            if changes_metadata(actions) and not is_own(actions, labels):
                raise TableMovedError(
                    f"Another writer changed protocol or metadata of {self._table.name.text} in version {version}, "
                    f"after this was planned on version {before.version}. This step was not done; run the job again."
                )

    def _execute(self, step: Step, labels: Mapping[str, Any]) -> None:
        statement = render_sql(step, self._table.name)
        for attempt in range(1, _TRIES + 1):
            self._session.submitter.check()
            try:
                if statement is None:
                    self._change.commit(self._table, step, labels)
                else:
                    self._session.sql(statement)
                return
            except (TableMovedError, CommitRefusedError):
                raise
            except Exception as error:
                condition = understand(error).condition
                if condition in self._change.unfinished:
                    return
                if attempt == _TRIES or condition not in FILE_CONFLICTS:
                    raise
                self._progress(f"{self._table.name.text}: another writer was faster, try {attempt + 1} of {_TRIES}")

    def _failed(self, failure: BaseException, known: dict[str, Any]) -> TableReport:
        name = self._table.name.text
        done = " Earlier steps of the plan were committed; a rerun goes on from there." if known["changed"] else ""
        if isinstance(failure, TableMovedError):
            moved = requests.TABLE_MOVED.finding(f"{failure}{done}")
            return TableReport.refused(name, moved, retryable=True, **known)
        if isinstance(failure, CommitRefusedError):
            return TableReport.refused(name, *failure.findings, **known)
        error = understand(failure)
        finding = error.rule.finding(error.message + done)
        return TableReport(name, error.verdict, retryable=error.retryable, findings=(finding,), **known)

    def _own_commits(self, version: int, labels: Mapping[str, Any]) -> dict[int, list[Action]]:
        return {later: actions for later, actions in self._table.log.commits_after(version) if is_own(actions, labels)}

    def _read(self) -> TableState:
        return self._table.log.read_state(with_files=self._change.needs_files)


def _judged(name: str, findings: tuple[Finding, ...], known: Mapping[str, Any]) -> TableReport:
    """Return the report on a table of which some may have to wait: until the last of that can be done."""
    waits = [finding.earliest for finding in findings if finding.earliest is not None]
    return TableReport.judged(name, *findings, earliest=max(waits, default=None), **known)
