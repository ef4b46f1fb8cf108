"""The changes of Delta tables: which one a request is, by what it asks for and what the table has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_delta_provider.domain.changes.enable_features import looks_at_files
from airflow_delta_provider.domain.changes.preconditions import is_tracked
from airflow_delta_provider.domain.changes.usage_tracking.enable import concerns_tracking
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.alter_columns import AlterColumnsOptions
from airflow_delta_provider.domain.request.disable_column_mapping import DisableColumnMappingOptions
from airflow_delta_provider.domain.request.drop_feature import DropFeatureOptions
from airflow_delta_provider.domain.request.enable_feature import EnableFeatureOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from airflow_delta_provider.jobs.changes.alter_columns import AlterColumns
from airflow_delta_provider.jobs.changes.column_mapping.disable import DisableMappingByEngine
from airflow_delta_provider.jobs.changes.drop_feature import DropFeatures
from airflow_delta_provider.jobs.changes.enable_feature import EnableFeatures
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange
from airflow_delta_provider.jobs.changes.table_change import TableChange
from airflow_delta_provider.jobs.changes.usage_tracking import (
    AlterTrackedColumns,
    DisableTrackedMapping,
    EnableTracking,
)
from airflow_delta_provider.jobs.changes.widen_types import WidenTypes
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.session.progress import Progress

CHANGES: Mapping[str, type[PlannedChange]] = {
    EnableFeatureOptions.kind: EnableFeatures,
    WidenTypesOptions.kind: WidenTypes,
    AlterColumnsOptions.kind: AlterColumns,
    DropFeatureOptions.kind: DropFeatures,
    DisableColumnMappingOptions.kind: DisableMappingByEngine,
}
#: What is made instead where usage tracking is concerned, which no engine knows, and when that is.
_TRACKED: Mapping[type[PlannedChange], tuple[type[PlannedChange], Callable[[Any, TableState], bool]]] = {
    EnableFeatures: (EnableTracking, concerns_tracking),
    AlterColumns: (AlterTrackedColumns, lambda _, state: is_tracked(state)),
    DisableMappingByEngine: (DisableTrackedMapping, lambda _, state: is_tracked(state)),
}


def change_table(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Carry out the change that a request asks for on the table of a name, and report on it.

    :raises TableError: if there is no such table
    """
    kind = CHANGES[request.kind]

    def choose(state: TableState) -> type[PlannedChange]:
        tracked, is_concerned = _TRACKED.get(kind, (kind, lambda *_: False))
        return tracked if is_concerned(request.options, state) else kind

    table = session.open_table(text)
    return TableChange(session, table, choose, request, progress, needs_files=_needs_files(request.options)).run()


def _needs_files(options: Any) -> bool:
    """Whether planning and verifying look at the live files."""
    if isinstance(options, EnableFeatureOptions):
        return looks_at_files(options)
    return isinstance(options, (DropFeatureOptions, DisableColumnMappingOptions))
