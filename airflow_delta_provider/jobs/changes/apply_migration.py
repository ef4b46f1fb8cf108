"""The kind ``apply-migration``: carries out a plan, step by step, unless a check refuses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from pyspark.errors import AnalysisException, PySparkException

from airflow_delta_provider.domain.changes.drop_features import verify_dropped
from airflow_delta_provider.domain.changes.plan import Plan, Planned, check_upgrade
from airflow_delta_provider.domain.changes.steps import (
    AddConstraint,
    DropFeature,
    ForbidNulls,
    InOneCommit,
    RewriteTable,
    Step,
    each_step,
    earlier_path,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.migrations.table import still_needed
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.commit import Action, changes_metadata, commit_info
from airflow_delta_provider.domain.delta.data_type import PrimitiveType, StructField, lowered
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.row_condition import row_conditions
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.difference import forbidden_nulls
from airflow_delta_provider.domain.migrations.plan import (
    ApprovedPlan,
    MigrationPlan,
    base_of,
    check_approved,
    not_approved,
)
from airflow_delta_provider.domain.migrations.planner import PlanningResult
from airflow_delta_provider.domain.report.report import Finding, Severity
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.text import quote
from airflow_delta_provider.jobs.changes.engine_transaction import commit_metadata, in_zone_of, rewrite_table
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange, audited, is_own
from airflow_delta_provider.jobs.changes.sql_changes import DropFeatures
from airflow_delta_provider.jobs.changes.values import find_lost, find_nulls, rows_of
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.migrations.planning import plan_for_table
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import why_not_analyzed_fit, why_not_parsed_fit
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError


def find_obstacles(
    session: SparkDeltaSession, table: OpenTable, state: TableState, steps: Sequence[Step]
) -> Iterator[Finding]:
    """Yield the obstacles that would stop a step after earlier steps are already done.

    Obstacles are NULLs, values that a cast loses, rows that break a new constraint, and expressions that must not be
    evaluated. Each step checks again.

    :param state: state that the steps were planned on
    """
    if outside := find_file_outside(session, table, state, steps):
        yield outside
        return
    nulls = [column for index, step in enumerate(steps) for column in forbidden_nulls(step, steps[:index])]
    if nulls:
        yield from find_nulls(session, table, state, nulls)
    for index, step in enumerate(steps):
        if isinstance(step, RewriteTable):
            yield from _unfit(session, table, state)
            yield from _lost(session, table, state, step, steps[:index])
        elif isinstance(step, AddConstraint):
            yield from _breaking(session, table, state, step, steps[:index])


def find_file_outside(
    session: SparkDeltaSession,
    table: OpenTable,
    state: TableState,
    steps: Iterable[Step],
    *,
    compares_rows: bool = False,
) -> Finding | None:
    """Return a refusal if the engine would read a file that the job must not read: the engine itself does not check.

    :param state: state that the steps were planned on, with or without its files
    :param compares_rows: True if rows are read afterwards, whatever the steps are
    """
    if not (compares_rows or any(step.reads_rows for step in each_step(steps))):
        return None
    if state.files is None:
        state = table.log.read_state(with_files=True, version=state.version)
    data = session.data_files(table.location)
    try:
        for file in state.live_files:
            data.check_places(file)
    except UnreadFileError as error:
        return error.meaning.finding("The engine would read this file.")
    return None


def _lost(
    session: SparkDeltaSession, table: OpenTable, state: TableState, step: RewriteTable, before: Sequence[Step]
) -> tuple[Finding, ...]:
    paths = ((cast, earlier_path(cast.parts, before)) for cast in step.casts)
    casts = [replace(cast, parts=path) for cast, path in paths if path is not None]
    with in_zone_of(session, step):
        return find_lost(rows_of(session, table.location, state.version), state, casts)


def _unfit(session: SparkDeltaSession, table: OpenTable, state: TableState) -> Iterator[Finding]:
    """Yield the table's conditions that the engine would evaluate on the rewritten rows, although it must not."""
    columns = [field.name for field in state.metadata.schema.fields]
    for condition in row_conditions(state.metadata, state.protocol):
        with suppress(PySparkException):  # the engine refuses invalid expressions itself
            if condition.expression and (why := why_not_parsed_fit(session.spark, condition.holds, columns)):
                yield requests.UNUSABLE_EXPRESSION.found(
                    "Rewriting {table} would evaluate {subject} ({expression}): {why}.",
                    table=table.name.text,
                    subject=condition.holder,
                    expression=condition.expression,
                    why=Prose(why),
                    remedy="Drop the constraint or replace the expression, then run the job again.",
                )


def _breaking(
    session: SparkDeltaSession, table: OpenTable, state: TableState, step: AddConstraint, before: Sequence[Step]
) -> Iterator[Finding]:
    """Yield a finding if rows break a constraint; nothing if this can be checked only after earlier steps."""
    rows = rows_of(session, table.location, state.version)
    after = _metadata_after(state, before)
    holds = f"coalesce({step.expression}\n, false)"
    try:
        why = why_not_parsed_fit(session.spark, holds, [field.name for field in after.schema.fields])
        if why is None:
            counts = rows.selectExpr(*_columns_after(state, after, before)).selectExpr(
                "count(*)", f"count_if(NOT {holds})"
            )
            why = why_not_analyzed_fit(counts)
        if why is not None:
            yield requests.UNUSABLE_EXPRESSION.found(
                "The CHECK constraint {constraint} ({expression}) is not evaluated: {why}.",
                subject=step.name,
                constraint=step.name,
                expression=step.expression,
                why=Prose(why),
            )
            return
        (found,) = counts.collect()
    except AnalysisException:
        return
    if found[1]:
        yield requests.ROWS_BREAK_CONSTRAINT.found(
            "The CHECK constraint {constraint} ({expression}) is not true for {breaking:row} of {rows}.",
            subject=step.name,
            constraint=step.name,
            expression=step.expression,
            breaking=found[1],
            rows=found[0],
        )


def _metadata_after(state: TableState, steps: Sequence[Step]) -> Metadata:
    wire = state.metadata.to_json()
    for step in steps:
        wire = step.edited(wire)
    return Metadata.from_json(wire)


def _columns_after(state: TableState, after: Metadata, steps: Sequence[Step]) -> Iterator[str]:
    """Yield SQL for a state's columns as they are after steps. Columns that one cast cannot produce are left out."""
    old = {lowered((field.name,)): field for field in state.metadata.schema.fields}
    for field in after.schema.fields:
        path = earlier_path((field.name,), steps)
        if value := _value(field, None if path is None else old[lowered(path)]):
            yield f"{value} AS {quote(field.name)}"


def _value(field: StructField, old: StructField | None) -> str | None:
    if old is not None and old.data_type == field.data_type:
        return quote(old.name)
    if old is not None and not isinstance(field.data_type, PrimitiveType):
        return None
    value = "NULL" if old is None else quote(old.name)
    return f"try_cast({value} AS {render_sql_type(field.data_type)})"


@dataclass(frozen=True)
class ApplyMigration(PlannedChange):
    """Bring a table to the state that its spec declares. An approved plan is carried out as approved or not at all.

    Steps that are done are not in a new plan for the table, so a run after a failure continues there.
    """

    options: ApplyMigrationOptions

    unfinished = DropFeatures.unfinished
    provider_commits: ClassVar[tuple[type[Step], ...]] = (InOneCommit, ForbidNulls, RewriteTable)

    @cached_property
    def approved(self) -> ApprovedPlan | None:
        """The approved plan; None without one."""
        plan = self.options.plan_of(self.table.name.text)
        return None if plan is None else ApprovedPlan.from_json(plan)

    @cached_property
    def spec(self) -> TableSpec:
        """The declared state: the approved plan's spec if there is one, else the requested spec."""
        if self.approved is None:
            return self.options.spec_of(self.table.name.text)
        return TableSpec.from_json(self.approved.spec)

    @property
    def labels(self) -> Mapping[str, str]:
        """The digest of the whole approved plan, even if only some steps are left, and the approver."""
        approver = {"approved_by": self.options.approved_by} if self.options.approved_by else {}
        return approver if self.approved is None else {"plan_digest": self.approved.digest, **approver}

    @cached_property
    def planned(self) -> Planned:
        """The steps that are left to do."""
        planned = self._plan_on(self.state)
        if planned.plan is None:
            return planned
        against = (*planned.refusals, *self._not_approved(planned.plan), *self._not_allowed(planned.plan))
        if not against:  # read rows only if nothing else prevents the plan
            against = tuple(find_obstacles(self.session, self.table, self.state, planned.plan.steps))
        return replace(planned, refusals=against)

    def reported(self, plan: Plan) -> dict[str, Any]:
        """Return the JSON of a plan. For an approved plan, the reasons why it needs approval are left out."""
        wire = plan.to_json()
        return wire if self.approved is None else {key: value for key, value in wire.items() if key != "approval"}

    def begun_on(self, before: TableState) -> Mapping[str, Any] | None:
        """Return the approved plan, or without one the plan on ``before``. The rows are not read again."""
        approved: Mapping[str, Any] | None = self.options.plan_of(self.table.name.text)
        if approved is not None:
            return {key: value for key, value in approved.items() if key != "approval"}
        plan = replace(self, state=before)._plan_on(before).plan
        return None if plan is None else self.reported(plan)

    def refusals_on(self, state: TableState) -> tuple[Finding, ...]:
        """Return the reasons to refuse the same request on another state. The rows are not read."""
        change = replace(self, state=state)
        planned = change._plan_on(state)
        return planned.refusals if planned.plan is None else tuple(change._not_approved(planned.plan))

    def commit(self, step: Step, since: TableState) -> PlannedChange:
        """Commit changes of metadata, or a rewrite of the table, in one transaction of the engine."""
        if isinstance(step, RewriteTable):
            rewrite_table(self.session, self.table, since, step)
            return self
        if isinstance(step, self.provider_commits):
            commit_metadata(self.session, self.table, since, step)
            return self
        return super().commit(step, since)

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return the steps that a new plan would still have, and the rules that this run's commits broke."""
        if not commits:
            return ()
        return (*self._not_as_declared(after), *audited(self.table, self.state, commits))

    def _plan_on(self, state: TableState) -> PlanningResult:
        engine = self.session.engine
        return plan_for_table(self.session, self.table, self.spec, self.options, state, engine, disprove=False)

    def _not_approved(self, plan: MigrationPlan) -> Iterator[Finding]:
        """Yield deviations from the approved plan; without one, changes that the policy does not allow unapproved."""
        if self.approved is None:
            yield from (finding for finding in plan.findings if finding.severity is Severity.ERROR)
        else:
            yield from check_approved(self.approved, plan, moved=self._moved(self.approved))
            if self.options.was_unasked(self.table.name.text):
                yield from not_approved(plan)

    def _moved(self, approved: ApprovedPlan) -> str | None:
        """Return a phrase about the commit that changed protocol or metadata since the plan; None if there is none.

        The plan's own commits do not count.
        """
        if base_of(self.state) == approved.base:
            return None
        try:
            if base_of(self.table.log.read_state(version=approved.version)) != approved.base:
                return f"version {approved.version} does not have the protocol and metadata that the plan names"
            for version, actions in self.table.log.commits_after(approved.version):
                if changes_metadata(actions) and not is_own(actions, {"plan_digest": approved.digest}):
                    info = commit_info(actions)
                    by = info.get("engineInfo") or "an unknown engine"
                    return f"version {version} changed protocol or metadata ({info.get('operation')}, by {by})"
        except (BrokenLogError, MissingFileError):
            return f"protocol or metadata changed, and the log no longer leads from version {approved.version} on"
        return None

    def _not_allowed(self, plan: MigrationPlan) -> Iterator[Finding]:
        yield from check_upgrade(plan, allowed=self.options.allow_protocol_upgrade)
        for step in plan.steps:
            if step.rewrites_files and not self.options.allow_rewrite:
                yield requests.REWRITE_NOT_ALLOWED.found(
                    "The plan for {table} would {what}.",
                    table=self.table.name.text,
                    what=Prose(step.action),
                )

    def _not_as_declared(self, after: TableState) -> Iterator[Finding]:
        if self.spec.drop_features:
            options = DropFeatureOptions(features=self.spec.drop_features)
            with_files = self.table.log.read_state(with_files=True, version=after.version)
            promised = self.planned.plan.protocol_after if self.planned.plan else None
            yield from verify_dropped(options, with_files, {}, promised=promised)
        plan = self._plan_on(after).plan
        left = [step for step in plan.steps if not isinstance(step, DropFeature)] if plan else []
        yield from still_needed(self.table.name.text, [step.explanation for step in left], after.version)
