"""Which engines a plan locks out, by what the table's log and a fleet file say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.preflight import affects_engines, plan_lockouts
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.check_compatibility import RECENT_DAYS
from airflow_delta_provider.domain.request.fleet import fleet_of
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.delta.log.recent_writers import writers_within


def locked_out(table: OpenTable, plan: Plan, state: TableState, fleet: Mapping[str, Any] | None) -> tuple[Finding, ...]:
    """Return which engines a plan locks out, or may; the log is read only where it may.

    :param state: that the plan was made on
    :param fleet: content of the fleet file
    """
    if not affects_engines(plan):
        return ()
    writers = writers_within(table.log, state, RECENT_DAYS, datetime.now(timezone.utc))
    return plan_lockouts(plan, state, fleet_of(fleet, table.name, table.location), writers)
