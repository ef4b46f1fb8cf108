"""The kind ``alter-columns``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.changes.alter_columns.past_columns import PastColumns
from airflow_delta_provider.domain.changes.alter_columns.plan import (
    alteration_of,
    plan_altering,
    verify_altered,
)
from airflow_delta_provider.domain.changes.alter_columns.resolution import needs_past_columns, resolve
from airflow_delta_provider.domain.changes.alter_columns.tracked_schema import edit_of
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.step import AlterColumns as AlterColumnsStep
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.changes.usage_tracking.consistency import is_tracked
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.alter_columns import AlterColumnsOptions
from airflow_delta_provider.jobs.changes.column_mapping.past_columns import read_past_columns
from airflow_delta_provider.jobs.changes.commit.hand_made_commit import HandMadeCommit
from airflow_delta_provider.jobs.changes.table_change import Change, changing
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable


class AlterColumns(Change):
    """Drops, renames and adds columns and verifies them in the log."""

    def __init__(self, options: AlterColumnsOptions, session: DeltaSession) -> None:
        self._options = options
        self._session = session
        self._memory = PastColumns()

    def plan(self, table: OpenTable, state: TableState) -> Planned:
        """Plan on a state of the table; the whole log is read where only that can tell what was there before."""
        self._planned_on = state
        if is_tracked(state) or needs_past_columns(self._options, state.metadata):
            self._memory = read_past_columns(table.log)
        return plan_altering(table.name, self._options, state, self._session.engine, self._memory)

    def commit(self, table: OpenTable, step: Step, labels: Mapping[str, Any]) -> None:
        """Change the columns of a table with usage tracking; its metadata is still that which was planned on."""
        del labels  # the session has them
        assert isinstance(step, AlterColumnsStep)
        alteration = alteration_of(step)
        self._commit(table).write(lambda base: edit_of(alteration, base, self._memory))

    def verify(
        self, table: OpenTable, before: TableState, after: TableState, commits: Mapping[int, list[Action]]
    ) -> tuple[Finding, ...]:
        """Return which columns are not as they were asked for."""
        del table
        if not commits:
            return ()
        alteration, _ = resolve(self._options, before.metadata, self._memory)
        return tuple(verify_altered(alteration, before, after))

    def _commit(self, table: OpenTable) -> HandMadeCommit:
        return HandMadeCommit.in_session(
            self._session, table, self._planned_on, allow_unsafe_log_store=self._options.allow_unsafe_log_store
        )


run = changing(AlterColumns)
