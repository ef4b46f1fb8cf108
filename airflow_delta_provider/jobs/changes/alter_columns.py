"""The kind ``alter-columns``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from airflow_delta_provider.domain.changes.alter_columns.past_columns import PastColumns
from airflow_delta_provider.domain.changes.alter_columns.plan import plan_altering
from airflow_delta_provider.domain.changes.alter_columns.resolution import needs_past_columns, resolve
from airflow_delta_provider.domain.changes.alter_columns.verify import verify_altered
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange
from airflow_delta_provider.jobs.column_mapping.past_columns import read_past_columns


@dataclass(frozen=True)
class AlterColumns(PlannedChange):
    """Drop, rename and add columns by SQL."""

    options: AlterColumnsOptions

    @cached_property
    def past(self) -> PastColumns:
        """The columns that the table has had: the whole log is read only where it decides what is done already."""
        needed = needs_past_columns(self.options, self.state.metadata)
        return read_past_columns(self.table.log) if needed else PastColumns()

    @cached_property
    def planned(self) -> Planned:
        """The statements."""
        return plan_altering(self.table.name, self.options, self.state, self.session.engine, self.past)

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return which columns are not as they were asked for."""
        if not commits:
            return ()
        alteration, _ = resolve(self.options, self.state.metadata, self.past)
        return tuple(verify_altered(alteration, self.state, after))
