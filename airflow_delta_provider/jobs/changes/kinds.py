"""The jobs that change Delta tables. Each chooses its change by the request and the state of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.changes.enable_features import reads_files
from airflow_delta_provider.domain.changes.plan import is_tracked
from airflow_delta_provider.domain.changes.usage_tracking import concerns_tracking
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.plan import MigrationPlan
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.changes.apply_migration import ApplyMigration
from airflow_delta_provider.jobs.changes.disable_mapping import DisableMappingByEngine
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange
from airflow_delta_provider.jobs.changes.rehearsal import RehearsalFailedError, not_rehearsed, rehearse
from airflow_delta_provider.jobs.changes.sql_changes import AlterColumns, DropFeatures, EnableFeatures, WidenTypes
from airflow_delta_provider.jobs.changes.table_change import TableChange
from airflow_delta_provider.jobs.changes.usage_tracking import (
    AlterTrackedColumns,
    DisableTrackedMapping,
    EnableTracking,
)
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.migrations import planning
from airflow_delta_provider.jobs.process import Progress
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession


@dataclass(frozen=True)
class ChangeJob:
    """Carries out the requested change on one table, and reports on it.

    :param change: change that the engine makes
    :param tracked: change that this provider makes instead if usage tracking, which no engine supports, is involved
    :param concerns_tracking: returns True if usage tracking is involved
    :param needs_files: returns True if planning and verifying need the live files
    """

    change: type[PlannedChange]
    tracked: type[PlannedChange] | None = None
    concerns_tracking: Callable[[Any, TableState], bool] = lambda _, state: is_tracked(state)
    needs_files: Callable[[Any], bool] = lambda _: False

    def __call__(self, session: SparkDeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
        """Change a table, given by name.

        :raises TableError: if there is no such table
        """

        def choose(state: TableState) -> type[PlannedChange]:
            if self.tracked is not None and self.concerns_tracking(request.options, state):
                return self.tracked
            return self.change

        table, needs_files = session.open_table(text), self.needs_files(request.options)
        return TableChange(session, table, choose, request, progress, needs_files=needs_files).run()


def plan_migration(session: SparkDeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Plan the migration of one table, and let the engine try the plan on an empty copy of the table."""

    def tried(table: OpenTable, plan: MigrationPlan) -> tuple[MigrationPlan, tuple[Finding, ...]]:
        try:
            return plan, rehearse(session, table, plan.before.domains, plan.steps)
        except RehearsalFailedError as error:
            return not_rehearsed(plan, error), ()

    return planning.run(session, text, request, progress, tried)


enable_feature = ChangeJob(EnableFeatures, EnableTracking, concerns_tracking, reads_files)
widen_types = ChangeJob(WidenTypes)
alter_columns = ChangeJob(AlterColumns, AlterTrackedColumns)
apply_migration = ChangeJob(ApplyMigration)
drop_feature = ChangeJob(DropFeatures, needs_files=lambda _: True)
disable_column_mapping = ChangeJob(DisableMappingByEngine, DisableTrackedMapping, needs_files=lambda _: True)
