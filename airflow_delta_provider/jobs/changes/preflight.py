"""The preflight of a change, on what the table's log and the request's fleet say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.preflight import affects_engines, plan_lockouts, with_lockouts
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.fleet import TableFleet
from airflow_delta_provider.domain.engine.recent_writer import RecentWriters
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.check_compatibility import RECENT_DAYS
from airflow_delta_provider.domain.request.fleet import fleet_of
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.delta.log.recent_writers import writers_within


class Preflight:
    """Names the engines that plans for one table lock out; the log is read only for plans that may.

    :param content: of the fleet file of the request
    """

    def __init__(self, table: OpenTable, state: TableState, content: Mapping[str, Any] | None) -> None:
        self._table = table
        self._state = state
        self._content = content

    def check(self, plan: Plan, refusals: Sequence[Finding]) -> tuple[Plan, tuple[Finding, ...]]:
        """Return a plan and its refusals, with the engines that it locks out.

        :raises FleetError: if the fleet file is invalid, which the request has checked
        """
        if not affects_engines(plan):
            return plan, tuple(refusals)
        found = plan_lockouts(plan, self._state, self._fleet, self._writers)
        return with_lockouts(plan, refusals, found, self._fleet)

    @cached_property
    def _fleet(self) -> TableFleet:
        return fleet_of(self._content, self._table.name, self._table.location)

    @cached_property
    def _writers(self) -> RecentWriters:
        return writers_within(self._table.log, self._state, RECENT_DAYS, datetime.now(timezone.utc))
