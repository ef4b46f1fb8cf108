"""The kind ``plan-migration``: what would make a table what is declared of it. Nothing is changed."""

from __future__ import annotations

from typing import Any, cast

from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.plan_migration import PlanMigrationOptions
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.migrations.planning import plan_for
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.timings import Timings


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Plan the migration of one table."""
    options, timings = cast("PlanMigrationOptions", request.options), Timings()
    table = session.open_table(text)
    with timings.phase("plan"):
        planning = plan_for(session, table, options.spec_of(text), options)
    plan, state = planning.plan, planning.state
    known: dict[str, Any] = {
        "version": state.version,
        "version_before": state.version,
        "protocol_before": state.protocol.to_json(),
        "protocol_after": (state.protocol if plan is None else plan.protocol_after).to_json(),
        "plan": None if plan is None else plan.to_json(),
        "timings": timings,
    }
    if plan is None:
        return TableReport.refused(table.name.text, *planning.planned.refusals, **known)
    commits = f"{len(plan.steps)} step{'s' * (len(plan.steps) != 1)}" if plan.steps else "nothing to do"
    progress(f"{table.name.text}: {commits} at version {state.version}")
    return TableReport.judged(table.name.text, *planning.findings, **known)
