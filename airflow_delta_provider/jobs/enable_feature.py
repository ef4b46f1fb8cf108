"""The kind ``enable-feature``."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.plan.enable_features import looks_at_files, plan_enabling, verify_enabled
from airflow_delta_provider.domain.plan.plan import Planned
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.options import EnableFeatureOptions
from airflow_delta_provider.jobs.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.table_change import Change


class EnableFeature(Change):
    """Enables table features and verifies them in the log."""

    def __init__(self, options: EnableFeatureOptions, session: DeltaSession) -> None:
        self._options = options
        self._engine = session.engine
        self.needs_files = looks_at_files(options)

    def plan(self, table: OpenTable, state: TableState) -> Planned:
        """Plan on a state of the table."""
        return plan_enabling(table.name, self._options, state, self._engine)

    def verify(
        self, table: OpenTable, before: TableState, after: TableState, commits: Mapping[int, list[Action]]
    ) -> tuple[Finding, ...]:
        """Return what is missing of the features afterwards."""
        del table, before, commits
        return verify_enabled(self._options, after)
