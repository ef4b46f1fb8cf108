"""Changes that involve usage tracking. No engine makes them, so this provider writes the commits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.changes.disable_mapping.column_history import MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.plan import check_disabling_tracked, plan_disabling_tracked
from airflow_delta_provider.domain.changes.plan import Plan, Planned
from airflow_delta_provider.domain.changes.provider_commit import CommitIdentity
from airflow_delta_provider.domain.changes.schema import PastColumns
from airflow_delta_provider.domain.changes.step import Edit
from airflow_delta_provider.domain.changes.steps import Alteration, CreateTable, Step
from airflow_delta_provider.domain.changes.usage_tracking import (
    Evidence,
    NewTable,
    altering_edit,
    check_lockout,
    is_same,
    needs_footers,
    new_table,
    plan_altering_tracked,
    plan_tracking,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.log_files import commit_name, has_log
from airflow_delta_provider.domain.delta.table_state import CommitBase
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.change_options import CreateTableOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.changes.commit import (
    CommitRefusedError,
    LogStore,
    PutIfAbsent,
    TableMovedError,
    refuse_unsafe_store,
)
from airflow_delta_provider.jobs.changes.disable_mapping import DisablingMapping
from airflow_delta_provider.jobs.changes.planned_change import earlier_commits, is_own
from airflow_delta_provider.jobs.changes.sql_changes import AlterColumns, EnableFeatures
from airflow_delta_provider.jobs.column_mapping import find_foreign_columns, read_past_columns
from airflow_delta_provider.jobs.delta.engines import recent_writers
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.tables.session import TableError, parse_table_name


@dataclass(frozen=True)
class EnableTracking(EnableFeatures):
    """Enable usage tracking, or column mapping on a table that has usage tracking."""

    @cached_property
    def planned(self) -> Planned:
        """The commits, one per feature."""
        past = read_past_columns(self.table.log)
        needed = needs_footers(self.state, past)
        foreign = find_foreign_columns(self.session, self.table, self.state) if needed else None
        evidence = Evidence(past, foreign, recent_writers(self.table.log))
        return plan_tracking(self.table.name, self.options, self.state, evidence)

    def edit(self, step: Step, base: CommitBase) -> Edit:
        """Return the changes of the commit, if the step is still the next one to do."""
        planned = replace(self, state=base.state).planned
        if planned.refusals or planned.plan is None:
            raise CommitRefusedError(*planned.refusals)
        if planned.plan.steps[:1] != (step,):
            raise TableMovedError(
                f"Another writer changed {self.table.name.text}, and the plan no longer fits. Nothing was done."
            )
        return super().edit(step, base)


@dataclass(frozen=True)
class AlterTrackedColumns(AlterColumns):
    """Drop, rename and add columns of a table with usage tracking, in one commit."""

    @cached_property
    def past(self) -> PastColumns:
        """The columns that the table has had. They determine the names of new columns in data files."""
        return read_past_columns(self.table.log)

    @cached_property
    def planned(self) -> Planned:
        return plan_altering_tracked(self.table.name, self.options, self.state, self.past)

    def edit(self, step: Step, base: CommitBase) -> Edit:
        """Return the changes of the commit. The metadata is still the metadata that the change was planned on."""
        assert isinstance(step, Alteration)
        return altering_edit(step, base, self.past)


@dataclass(frozen=True)
class DisableTrackedMapping(DisablingMapping):
    """Disable the column mapping of a table with usage tracking, in one commit."""

    def refusals(self) -> tuple[Finding, ...]:
        return check_disabling_tracked(self.table.name.text, self.state)

    def plan(self, found: MappedTable) -> Planned:
        return plan_disabling_tracked(self.table.name, self.options, found)

    def edit(self, step: Step, base: CommitBase) -> Edit:
        """Return the changes of the commit, if the proof holds for the version that it follows."""
        if base.state.version != self.state.version:
            self.proven_on(base.state)
        return super().edit(step, base)


_TRIES = 10


def create_table(session: SparkDeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Create a table. If it exists, check that it is the same.

    :raises TableError: if the name is not a location, or the job must not access it
    """
    options = request.options
    assert isinstance(options, CreateTableOptions)
    name = parse_table_name(text)
    if name.location is None:
        raise TableError(
            requests.NO_SUCH_TABLE.found(
                "{table} is a catalog name, but tables are created at a location.",
                remedy="Name the directory by path or URI; afterwards CREATE TABLE … USING delta LOCATION '…' "
                "registers the table in the catalog.",
                table=text,
            )
        )
    location = session.storage.qualify(name.location)
    session.check_reach(name, location)
    return _Creation(session, name, location, session.open_log(location), options, progress).run(request)


@dataclass(frozen=True)
class _Creation:
    session: SparkDeltaSession
    name: TableName
    location: str
    log: TableLog
    options: CreateTableOptions
    progress: Progress
    timings: Timings = field(default_factory=Timings)

    def run(self, request: JobRequest) -> TableReport:
        table, refusals = new_table(self.options)
        if table is None:
            return self._refused(*refusals)
        if has_log(self._names("_delta_log")):
            return self._compare(table, request)
        if self._names():
            return self._refused(self._taken("it has files"))
        step = CreateTable(tuple(self.options.columns.items()), self.options.partition_by)
        plan = Plan(self.name, (step,), table.protocol, table.protocol)
        known: dict[str, Any] = {
            "protocol_after": table.protocol.to_json(),
            "plan": plan.to_json(),
            "timings": self.timings,
        }
        if lockout := check_lockout(self.name.text, self.options):
            return self._refused(lockout, **known)
        if unsafe := refuse_unsafe_store(
            self.session, self.name.text, self.location, allow_unsafe=self.options.allow_unsafe_log_store
        ):
            return self._refused(unsafe, **known)
        if request.dry_run:
            return TableReport.of_findings(self.name.text, **known)
        self.progress(f"{self.name.text}: {step.explanation}")
        labels = {**request.labels, "plan_digest": plan.digest}
        try:
            with self.timings.phase("apply"), self.session.labelled(labels):
                created = self._put(table)
        except Exception as error:
            return self._failed(error, labels, known)
        if not created:
            return self._refused(self._taken("another writer was faster"), retryable=True, **known)
        return TableReport.of_findings(self.name.text, version=0, changed=True, **known)

    def _put(self, table: NewTable) -> bool:
        put = PutIfAbsent(LogStore(self.session, self.location), self.log)
        lines = table.lines(CommitIdentity(int(time.time() * 1000), put.txn_id, self.session.user_metadata))
        for _ in range(_TRIES):
            if put.put(0, lines):
                return True
            if has_log(self._names("_delta_log")):
                break
        return False

    def _failed(self, failure: Exception, labels: Mapping[str, Any], known: dict[str, Any]) -> TableReport:
        """Return the report for a failure of the storage during creation: the table may exist nevertheless."""
        error, done = understand(failure), ""
        try:
            changed = has_log(self._names("_delta_log")) and is_own(self.log.read_commit(commit_name(0)), labels)
        except Exception:
            changed, done = True, "Version 0 may have been committed; a rerun finds out."
        else:
            done = "Version 0 was committed." if changed else ""
        findings = (error.finding(done),)
        return TableReport(
            self.name.text, error.verdict, retryable=error.retryable, changed=changed, findings=findings, **known
        )

    def _compare(self, table: NewTable, request: JobRequest) -> TableReport:
        there = self.log.read_state()
        if not is_same(self.options, table.state, there):
            return self._refused(self._taken("there is a table with other columns or without usage tracking"))
        protocol = there.protocol.to_json()
        plan = Plan(self.name, (), there.protocol, there.protocol).to_json()
        created = 0 in earlier_commits(self.log, request.labels, request.retry_since)
        known: dict[str, Any] = {} if created else {"version_before": there.version, "protocol_before": protocol}
        known |= {"protocol_after": protocol, "plan": plan, "timings": self.timings}
        return TableReport.of_findings(self.name.text, version=there.version, changed=created, **known)

    def _names(self, below: str = "") -> list[str]:
        try:
            return self.session.storage.list_names(f"{self.location.rstrip('/')}/{below}".rstrip("/"))
        except MissingFileError:
            return []

    def _taken(self, why: str) -> Finding:
        return requests.TABLE_EXISTS.found("No table can be created at {table}: {why}.", table=self.name.text, why=why)

    def _refused(self, *findings: Finding, **known: Any) -> TableReport:
        return TableReport.refused(self.name.text, *findings, **known)
