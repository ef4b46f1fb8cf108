"""The kind ``enable-feature``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.changes.commit.edit import Edit
from airflow_delta_provider.domain.changes.enable_features import looks_at_files, plan_enabling, verify_enabled
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.changes.usage_tracking.enable import (
    Evidence,
    edit_of,
    is_hand_made,
    needs_footers,
    plan_tracking,
)
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.enable_feature import EnableFeatureOptions
from airflow_delta_provider.jobs.changes.column_mapping.foreign_columns import find_foreign_columns
from airflow_delta_provider.jobs.changes.column_mapping.past_columns import read_past_columns
from airflow_delta_provider.jobs.changes.commit.hand_made_commit import HandMadeCommit
from airflow_delta_provider.jobs.changes.expected_protocol import expected_protocol
from airflow_delta_provider.jobs.changes.table_change import Change, CommitRefusedError, TableMovedError, changing
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.log.recent_writers import recent_writers


class EnableFeature(Change):
    """Enables table features and verifies them in the log."""

    def __init__(self, options: EnableFeatureOptions, session: DeltaSession) -> None:
        self._options = options
        self._session = session
        self.needs_files = looks_at_files(options)

    def plan(self, table: OpenTable, state: TableState) -> Planned:
        """Plan on a state of the table."""
        if not is_hand_made(self._options, state):
            return self._plan_sql(table, state)
        self._planned_on = state
        return self._plan_tracking(table, state)

    def _plan_sql(self, table: OpenTable, state: TableState) -> Planned:
        """Plan statements; what a property alone does not bring in this engine is asked for by name."""
        engine = self._session.engine
        planned = plan_enabling(table.name, self._options, state, engine)
        if planned.refusals or planned.plan is None or not planned.plan.steps:
            return planned
        try:
            foreseen = expected_protocol(self._session, table.location, planned.plan.steps)
        except Exception:  # what the engine says against it all changes are told in one place, later
            return planned
        missing = planned.plan.protocol_after.features - foreseen.features if foreseen else ()
        return plan_enabling(table.name, self._options, state, engine, missing) if missing else planned

    def commit(self, table: OpenTable, step: Step, labels: Mapping[str, Any]) -> None:
        """Enable usage tracking, or column mapping on a table that has it."""
        del labels  # the session has them

        def make(base: CommitBase) -> Edit:
            planned = self._plan_tracking(table, base.state)
            if planned.refusals or planned.plan is None:
                raise CommitRefusedError(*planned.refusals)
            if planned.plan.steps[:1] != (step,):
                raise TableMovedError(
                    f"{table.name.text} was changed meanwhile, and what was planned for it no longer fits. "
                    "Nothing was done; run the job again."
                )
            return edit_of(step, base)

        version = self._commit(table).write(make)
        self._planned_on = table.log.read_state(version=version)

    def _plan_tracking(self, table: OpenTable, state: TableState) -> Planned:
        past = read_past_columns(table.log)
        foreign = find_foreign_columns(self._session.storage, table, state) if needs_footers(state, past) else None
        return plan_tracking(table.name, self._options, state, Evidence(past, foreign, recent_writers(table.log)))

    def _commit(self, table: OpenTable) -> HandMadeCommit:
        return HandMadeCommit.in_session(
            self._session, table, self._planned_on, allow_unsafe_log_store=self._options.allow_unsafe_log_store
        )

    def verify(
        self, table: OpenTable, before: TableState, after: TableState, commits: Mapping[int, list[Action]]
    ) -> tuple[Finding, ...]:
        """Return what is missing of the features afterwards."""
        del table, before, commits
        return verify_enabled(self._options, after)


run = changing(EnableFeature)
