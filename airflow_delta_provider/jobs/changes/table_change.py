"""The steps of changing one table: read, plan, commit, read again, verify."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_delta_provider.domain.changes.plan import Plan, left_behind
from airflow_delta_provider.domain.changes.preflight import CheckedPlan, with_expected_protocol, with_lockouts
from airflow_delta_provider.domain.changes.steps import RewriteTable, Step
from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.commit import Action, changes_metadata
from airflow_delta_provider.domain.delta.history_events import events_after, history_of
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import FILE_CONFLICTS
from airflow_delta_provider.domain.report.report import Finding, TableReport, Verdict
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.changes.apply_migration import find_file_outside
from airflow_delta_provider.jobs.changes.commit import CommitRefusedError, TableMovedError, refuse_unsafe_store
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange, earlier_commits, is_own, plan_digest_of
from airflow_delta_provider.jobs.changes.rehearsal import RehearsalFailedError, not_rehearsed, rehearse
from airflow_delta_provider.jobs.changes.sql_changes import expected_protocol
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.migrations.planning import preflight_of
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.storage.errors import MissingFileError

_TRIES = 3
#: Remedy if another writer changed the table so that the request no longer fits it.
_NO_RETRY = "Running the job again does not help: the same request is now refused."


@dataclass(frozen=True)
class TableChange:
    """Carries out the requested change on one table and reports on it.

    :param choose: chooses the kind of change by the state of the table
    :param needs_files: True if planning and verifying need the live files
    """

    session: SparkDeltaSession
    table: OpenTable
    choose: Callable[[TableState], type[PlannedChange]]
    request: JobRequest
    progress: Progress
    needs_files: bool
    timings: Timings = field(default_factory=Timings)

    @property
    def _name(self) -> str:
        return self.table.name.text

    @property
    def _options(self) -> Any:
        return self.request.options

    def run(self) -> TableReport:
        """Plan, and unless it is a dry run, commit and verify.

        :raises BrokenLogError: if the log is damaged
        """
        with self.timings.phase("read"):
            before = self.table.log.read_state(with_files=self.needs_files)
            since = None if self.request.dry_run else self.request.retry_since
            earlier = earlier_commits(self.table.log, self.request.labels, since)
        change = self.choose(before)(self._options, self.session, self.table, before)
        plan, refusals = change.planned.plan, change.planned.refusals
        known: dict[str, Any] = {
            "version": before.version,
            "version_before": before.version,
            "protocol_before": before.protocol.to_json(),
            "protocol_after": (plan.protocol_after if plan else before.protocol).to_json(),
            "plan": change.reported(plan) if plan else None,
            "timings": self.timings,
        }
        begun = self._begun_before(earlier) if earlier else None
        if earlier:
            known |= self._changed_before(earlier, begun)
        resumed = _Resumed.of(change, begun, earlier)
        if resumed is not None and plan is not None:
            known["plan"] = resumed.with_rest(known["plan"])
            known["history"] = self._history_since(resumed.begun, before)
        if refusals or plan is None:
            if plan is not None:
                cleared = self._cleared(before, plan, refusals)
                known["plan"], refusals = change.reported(cleared.plan), cleared.refusals
            return TableReport.refused(self._name, *refusals, **known)
        if not plan.steps or self._done_before(change, plan):
            self.progress(f"{self._name}: nothing to do at version {before.version}")
            with self.timings.phase("verify"):
                findings = change.verify(before, {})
            return _judged(self._name, findings, known)
        if unsafe := refuse_unsafe_store(
            self.session, self._name, self.table.location, allow_unsafe=self._options.allow_unsafe_log_store
        ):
            return TableReport.refused(self._name, unsafe, **known)
        cleared = self._cleared(before, *self._with_expected_protocol(plan))
        plan = cleared.plan
        rest = change.reported(plan)
        known |= {
            "protocol_after": plan.protocol_after.to_json(),
            "plan": rest if resumed is None else resumed.with_rest(rest),
        }
        if cleared.refusals:
            return TableReport.refused(self._name, *cleared.refusals, **known)
        compares_rows = getattr(self._options, "verify", None) in ("data", "full")
        if outside := find_file_outside(self.session, self.table, before, plan.steps, compares_rows=compares_rows):
            return TableReport.refused(self._name, outside, **known)
        try:
            with self.timings.phase("rehearse"):
                refusals = rehearse(self.session, self.table, before.domains, plan.steps)
        except RehearsalFailedError as error:
            if not self.request.dry_run:
                return TableReport(
                    self._name,
                    Verdict.FAULT,
                    retryable=error.meaning.retryable,
                    findings=(error.finding(self._name),),
                    **known,
                )
            plan = not_rehearsed(plan, error)
            known["plan"] = change.reported(plan)
        if refusals:
            return TableReport.refused(self._name, *refusals, **known)
        for note in plan.notes:
            self.progress(f"{self._name}: {note}")
        if cleared.undecided or self.request.dry_run:
            return TableReport.of_findings(self._name, *cleared.undecided, withheld=not self.request.dry_run, **known)
        return self._carry_out(change, plan, begun or before, known)

    def _with_expected_protocol(self, plan: Plan) -> tuple[Plan, tuple[Finding, ...]]:
        """Return the plan with the protocol that the engine will write, and the reasons why it must not be written."""
        try:
            expected = expected_protocol(self.session, self.table.location, plan.steps)
        except Exception as error:
            meaning = understand(error)
            if meaning.rule is requests.ENGINE_REFUSED:
                return plan, (meaning.finding(),)
            if meaning.rule is faults.ENGINE and meaning.retryable:  # such an error is never temporary
                evidence = meaning.evidence.replace("failed", "refused", 1)
                return plan, (replace(meaning, rule=requests.ENGINE_REFUSED, evidence=evidence).finding(),)
            raise
        if expected is None:
            return plan, ()
        return with_expected_protocol(
            plan,
            expected,
            self.session.engine,
            allow_upgrade=getattr(self._options, "allow_protocol_upgrade", False),
            allow_special=getattr(self._options, "allow_special", False),
        )

    def _cleared(self, before: TableState, plan: Plan, refusals: Sequence[Finding]) -> CheckedPlan:
        """Return a plan and its refusals, with the engines that it locks out or may lock out."""
        fleet: Mapping[str, Any] | None = getattr(self._options, "fleet", None)
        accepted: Sequence[str] = getattr(self._options, "accept_unknown", ())
        return with_lockouts(plan, refusals, preflight_of(self.table, plan, before, fleet), accepted)

    def _begun_before(self, versions: Sequence[int]) -> TableState | None:
        """Return the state that the first of the earlier tries began on; None if the log no longer has it."""
        if versions[0] == 0:
            return None
        with suppress(BrokenLogError, MissingFileError):
            return self.table.log.read_state(version=versions[0] - 1, with_files=self.needs_files)
        return None

    def _changed_before(self, versions: Sequence[int], begun: TableState | None) -> dict[str, Any]:
        """Return the report's fields about commits of earlier tries of this run."""
        listed = ", ".join(map(str, versions))
        self.progress(f"{self._name}: an earlier try of this task run committed version {listed}")
        before = versions[0] - 1
        found: dict[str, Any] = {"changed": True, "version_before": before if before >= 0 else None}
        if begun is not None:
            found["protocol_before"] = begun.protocol.to_json()
        return found

    def _history_since(self, begun: TableState, now: TableState) -> dict[str, Any] | None:
        """Return the state of the table, and its changes since an earlier try began."""
        with suppress(BrokenLogError, MissingFileError):
            return _history(begun, now, self._commits_since(begun, {})[1])
        return None

    def _done_before(self, change: PlannedChange, plan: Plan) -> bool:
        """Return True if an earlier try of this run carried out a plan that must not be carried out twice."""
        labels = self._labels_of(change, plan)
        once = plan.once and bool(self.request.labels)
        return once and any(is_own(actions, labels) for _, actions in self.table.log.commits_after(-1))

    def _labels_of(self, change: PlannedChange, plan: Plan) -> dict[str, Any]:
        return {**self.request.labels, "plan_digest": plan.digest, **change.labels}

    def _carry_out(self, change: PlannedChange, plan: Plan, begun: TableState, known: dict[str, Any]) -> TableReport:
        """Commit the steps of a plan and verify the result.

        :param begun: state that the run began on, in an earlier try if there was one
        """
        before, planned_on = change.state, change.state.version
        failure: Exception | None = None
        labels = self._labels_of(change, plan)
        sent = _Sent(len(plan.steps))
        with self.timings.phase("apply"), self.session.labelled(labels):
            try:
                for step in plan.steps:
                    self.progress(f"{self._name}: {step.explanation}")
                    follows = self._last_harmless(planned_on, labels)
                    sent = sent.begin(follows)
                    change = self._execute(change, step, follows)
                    sent = sent.end()
            except Exception as error:
                failure = error
        try:
            with self.timings.phase("read"):
                after = self.table.log.read_state(with_files=self.needs_files)
                commits, later = self._commits_since(begun, labels)
                commits = {version: actions for version, actions in commits.items() if version > before.version}
        except Exception as error:
            return self._unread(error, failure, sent, known)
        known |= {
            "version": after.version,
            "changed": bool(commits) or known.get("changed", False),
            "protocol_after": after.protocol.to_json(),
            "history": _history(begun, after, later),
        }
        if failure is not None:
            lasting = self._refusals_now(change, failure, after)
            done = sent.outcome(commits, resumes=not lasting)
            done = f"{done} {left_behind(plan.steps[: sent.done], before, after.protocol)}".strip()
            return self._failed(failure, done if known["changed"] else "", known, lasting)
        try:
            with self.timings.phase("verify"):
                findings = change.verify(after, commits)
        except Exception as error:
            findings = (self._unverified(error, after.version),)
        return _judged(self._name, findings, known)

    def _unverified(self, error: Exception, version: int | None, done: str = "") -> Finding:
        why, then = Prose(understand(error).message), Prose(done and f" {done}")
        return faults.UNVERIFIED.found(
            "{table} could not be read again: {why}{then}", version=version, table=self._name, why=why, then=then
        )

    def _unread(
        self, unreadable: Exception, failure: Exception | None, sent: _Sent, known: dict[str, Any]
    ) -> TableReport:
        """Return the report if the log cannot be read after steps were sent to the engine.

        :param failure: error that ended the steps early; None if they all succeeded
        """
        nothing_committed = failure is not None and not sent.may_have_committed(failure)
        if nothing_committed and not known.get("changed"):
            assert failure is not None
            return self._failed(failure, "", known)
        known |= {"version": None, "changed": True}
        unverified = self._unverified(unreadable, None, sent.outcome(None))
        why = understand(unreadable)
        if failure is None:
            return TableReport.of_findings(self._name, unverified, **known)
        error = understand(failure)
        verdict = Verdict.FAULT if Verdict.FAULT in (error.verdict, why.verdict) else Verdict.UNDETERMINED
        retryable = error.retryable or why.retryable
        return TableReport(self._name, verdict, retryable=retryable, findings=(error.finding(), unverified), **known)

    def _last_harmless(self, planned_on: int, labels: Mapping[str, Any]) -> int:
        """Return the newest version, if other writers have only added and removed files since the plan.

        :raises TableMovedError: if another writer changed protocol or metadata
        """
        newest = planned_on
        for version, actions in self.table.log.commits_after(planned_on):
            if changes_metadata(actions) and not is_own(actions, labels):
                raise TableMovedError(
                    f"Another writer changed protocol or metadata of {self._name} in version {version}, after this "
                    f"was planned on version {planned_on}. This step was not done."
                )
            newest = version
        return newest

    def _execute(self, change: PlannedChange, step: Step, version: int) -> PlannedChange:
        """Do a step on ``version``, or on a later version that differs in files only."""
        statement = None if isinstance(step, change.provider_commits) else step.sql(self.table.name)
        tries = 1 if isinstance(step, RewriteTable) else _TRIES
        for attempt in range(1, tries + 1):
            self.session.submitter.check()
            try:
                if statement is None:
                    unchanged = version == change.state.version
                    return change.commit(
                        step, change.state if unchanged else self.table.log.read_state(version=version)
                    )
                self.session.sql(statement)
                break
            except (TableMovedError, CommitRefusedError):
                raise
            except Exception as error:
                condition = understand(error).condition
                if condition in change.unfinished:
                    break
                if attempt == tries or condition not in FILE_CONFLICTS:
                    raise
                self.progress(f"{self._name}: another writer was faster, try {attempt + 1} of {tries}")
        return change

    def _refusals_now(self, change: PlannedChange, failure: Exception, after: TableState) -> tuple[Finding, ...]:
        """Return the reasons why the request would be refused again, if another writer changed the table."""
        if isinstance(failure, TableMovedError) or understand(failure).rule is requests.TABLE_MOVED:
            with suppress(Exception):  # a retry finds out
                return change.refusals_on(after)
        return ()

    def _failed(
        self, failure: Exception, done: str, known: dict[str, Any], lasting: tuple[Finding, ...] = ()
    ) -> TableReport:
        """Return the report if a step failed.

        :param done: sentence about the commits made before; empty if there were none
        :param lasting: reasons why another run of the same request would be refused
        """
        if isinstance(failure, TableMovedError):
            moved = requests.TABLE_MOVED.found(
                "{why}{done}",
                remedy=_NO_RETRY if lasting else None,
                why=Prose(failure),
                done=Prose(done and f" {done}"),
            )
            return TableReport.refused(self._name, moved, *lasting, retryable=not lasting, **known)
        if isinstance(failure, CommitRefusedError):
            findings = (_after_steps(finding, done) for finding in failure.findings)
            return TableReport.refused(self._name, *findings, **known)
        error = understand(failure)
        if lasting:
            error = replace(error, remedy=_NO_RETRY, retryable=False)
        return TableReport(
            self._name, error.verdict, retryable=error.retryable, findings=(error.finding(done), *lasting), **known
        )

    def _commits_since(
        self, before: TableState, labels: Mapping[str, Any]
    ) -> tuple[dict[int, list[Action]], dict[int, list[Action]]]:
        """Return this run's commits, and the commits of all writers without their file actions."""
        own: dict[int, list[Action]] = {}
        seen: dict[int, list[Action]] = {}
        for version, actions in self.table.log.commits_after(before.version):
            seen[version] = [action for action in actions if not {"add", "remove"} & action.keys()]
            if is_own(actions, labels):
                own[version] = actions
        return own, seen


@dataclass(frozen=True)
class _Resumed:
    """A plan that an earlier try of this run began. The report covers the whole plan.

    :param begun: state that the plan was made on
    :param plan: JSON of the plan
    """

    begun: TableState
    plan: Mapping[str, Any]

    @classmethod
    def of(cls, change: PlannedChange, begun: TableState | None, earlier: Sequence[int]) -> _Resumed | None:
        """Return the plan; None if there was no earlier try, or its plan can no longer be determined."""
        if begun is None or not earlier:
            return None
        with suppress(Exception):  # then only the rest of the plan is reported
            plan = change.begun_on(begun)
            first = change.table.log.read_commit(commit_name(earlier[0]))
            if plan is not None and plan["digest"] == plan_digest_of(first):
                return cls(begun, plan)
        return None

    def with_rest(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON of the whole plan, with a mark on the steps that are already done.

        Steps are done in order, so the remaining steps are the last ones.
        """
        done = len(self.plan["steps"]) - len(rest["steps"])
        if done < 0:
            return dict(rest)
        steps = [{**step, "done_earlier": True} if n < done else step for n, step in enumerate(self.plan["steps"])]
        return {**self.plan, "steps": steps}


@dataclass(frozen=True)
class _Sent:
    """The steps of a plan that were sent to the engine.

    :param planned: number of steps of the plan
    :param begun: number of steps that were begun
    :param done: number of steps that ended without an error
    :param follows: version that the last step was begun on
    """

    planned: int
    begun: int = 0
    done: int = 0
    follows: int = -1

    def begin(self, follows: int) -> _Sent:
        return replace(self, begun=self.begun + 1, follows=follows)

    def end(self) -> _Sent:
        return replace(self, done=self.done + 1)

    def may_have_committed(self, failure: Exception) -> bool:
        """Return True unless it is certain that no step was committed."""
        if self.done or not self.begun:
            return bool(self.done)
        return not isinstance(failure, (TableMovedError, CommitRefusedError))

    def outcome(self, commits: Mapping[int, Any] | None, *, resumes: bool = True) -> str:
        """Return a sentence about the steps that were committed.

        :param commits: commits of this run by version; None if the log could not be read
        :param resumes: True if another run can continue from there; if False, the sentence may be empty
        """
        if self.done == self.planned:
            return "All steps of the plan were sent, and the engine reported no error."
        last = f"step {self.begun} of {self.planned}"
        known = f"Steps 1 to {self.done} of {self.planned} were" if self.done > 1 else f"Step 1 of {self.planned} was"
        committed = [f"{known} committed"] if self.done else []
        if self.begun > self.done:
            if commits is None:
                committed.append(f"{last} may have been committed, or part of it")
            elif any(version > self.follows for version in commits):
                committed.append(f"{last} was committed, or part of it")
        text = "; ".join((*committed, "a rerun resumes there") if resumes else committed)
        return f"{text[:1].upper()}{text[1:]}." if text else ""


def _history(before: TableState, after: TableState, later: Mapping[int, list[Action]]) -> dict[str, Any] | None:
    """Return the table's current state and its changes since the plan; None if the commits cannot be read.

    :param later: commits of all writers since the plan
    """
    with suppress(BrokenLogError):
        known = ((version, actions) for version, actions in later.items() if version <= after.version)
        return history_of(after, events_after(before, known))
    return None


def _after_steps(finding: Finding, done: str) -> Finding:
    """Return a refusal with a sentence about the steps that were committed before."""
    if not done:
        return finding
    return rule_of(finding).worded(replace(finding, evidence=f"{finding.evidence} {done}"))


def _judged(name: str, findings: tuple[Finding, ...], known: Mapping[str, Any]) -> TableReport:
    """Return the report on a table. Its ``earliest`` is the first time at which all waiting work can be done."""
    waits = [finding.earliest for finding in findings if finding.earliest is not None]
    return TableReport.of_findings(name, *findings, earliest=max(waits, default=None), **known)
