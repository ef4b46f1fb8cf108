"""Changes that involve usage tracking. No engine makes them, so this provider writes the commits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from airflow_delta_provider.domain.changes.alter_columns.past_columns import PastColumns
from airflow_delta_provider.domain.changes.commit.edit import Edit
from airflow_delta_provider.domain.changes.disable_mapping.column_history import MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.plan import check_disabling_tracked, plan_disabling_tracked
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.step import Alteration, Step
from airflow_delta_provider.domain.changes.usage_tracking.alter import altering_edit, plan_altering_tracked
from airflow_delta_provider.domain.changes.usage_tracking.enable import Evidence, needs_footers, plan_tracking
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.changes.commit.direct_commit import CommitRefusedError, TableMovedError
from airflow_delta_provider.jobs.changes.disable_mapping import DisablingMapping
from airflow_delta_provider.jobs.changes.sql_changes import AlterColumns, EnableFeatures
from airflow_delta_provider.jobs.column_mapping.column_reader import find_foreign_columns, read_past_columns
from airflow_delta_provider.jobs.delta.log.recent_writers import recent_writers


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
