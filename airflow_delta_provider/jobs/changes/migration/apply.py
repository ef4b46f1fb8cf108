"""The kind ``apply-migration``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from airflow_delta_provider.domain.changes.drop_features.verify import verify_dropped
from airflow_delta_provider.domain.changes.explain import action_of, explain
from airflow_delta_provider.domain.changes.plan import Plan, Planned
from airflow_delta_provider.domain.changes.preconditions import check_upgrade
from airflow_delta_provider.domain.changes.step import (
    DropFeature,
    ForbidNulls,
    InOneCommit,
    RewriteTable,
    Step,
    rewrites_files,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.migrations.table import still_needed
from airflow_delta_provider.domain.delta.commit import Action, changes_metadata, commit_info
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.approved_plan import ApprovedPlan, check_approved, not_approved
from airflow_delta_provider.domain.migrations.plan import MigrationPlan, base_of
from airflow_delta_provider.domain.migrations.planner import MigrationPlanned
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.jobs.changes.migration.metadata_commit import commit_metadata
from airflow_delta_provider.jobs.changes.migration.obstacles import find_obstacles
from airflow_delta_provider.jobs.changes.migration.rewrite import rewrite_table
from airflow_delta_provider.jobs.changes.own_commits import audited, is_own
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange
from airflow_delta_provider.jobs.changes.sql_changes import DropFeatures
from airflow_delta_provider.jobs.migrations.planning import plan_for
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


@dataclass(frozen=True)
class ApplyMigration(PlannedChange):
    """Bring a table to the state that its spec declares. An approved plan is carried out as approved or not at all.

    Steps that are done are not in a new plan for the table, so a run after a failure continues there.
    """

    options: ApplyMigrationOptions

    unfinished = DropFeatures.unfinished
    own_commits: ClassVar[tuple[type[Step], ...]] = (InOneCommit, ForbidNulls, RewriteTable)

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
        if isinstance(step, self.own_commits):
            commit_metadata(self.session, self.table, since, step)
            return self
        return super().commit(step, since)

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return the steps that a new plan would still have, and the rules that this run's commits broke."""
        if not commits:
            return ()
        return (*self._not_as_declared(after), *audited(self.table, self.state, commits))

    def _plan_on(self, state: TableState) -> MigrationPlanned:
        engine = self.session.engine
        return plan_for(self.session, self.table, self.spec, self.options, state, engine, disprove=False)

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
            if rewrites_files(step) and not self.options.allow_rewrite:
                yield requests.REWRITE_NOT_ALLOWED.found(
                    "The plan for {table} would {what}.",
                    table=self.table.name.text,
                    what=Prose(action_of(step)),
                )

    def _not_as_declared(self, after: TableState) -> Iterator[Finding]:
        if self.spec.drop_features:
            options = DropFeatureOptions(features=self.spec.drop_features)
            with_files = self.table.log.read_state(with_files=True, version=after.version)
            promised = self.planned.plan.protocol_after if self.planned.plan else None
            yield from verify_dropped(options, with_files, {}, promised=promised)
        plan = self._plan_on(after).plan
        left = [step for step in plan.steps if not isinstance(step, DropFeature)] if plan else []
        yield from still_needed(self.table.name.text, list(map(explain, left)), after.version)
