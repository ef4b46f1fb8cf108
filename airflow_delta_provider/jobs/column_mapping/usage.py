"""The kind ``column-mapping-usage``: determines if columns were ever renamed or dropped."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.changes.disable_mapping.usage import (
    Usage,
    needs_footers,
    undecidable_usage,
    unknown_usage,
    usage_of,
)
from airflow_delta_provider.domain.checks.log.catalog_managed import why_undecidable
from airflow_delta_provider.domain.checks.usage_tracking import state as usage_tracking
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.column_mapping.column_reader import read_columns, survey_footers
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.timings import Timings


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Determine the usage of one table's column mapping from its history, and from footers if needed."""
    del request  # it has no options
    table, timings = session.open_table(text), Timings()
    name = table.name.text
    with timings.phase("commits"):
        found = read_columns(table.log)
    schema = MappedSchema.of(found.state.metadata)
    known: dict[str, Any] = {"version": found.state.version, "timings": timings}
    if undecidable := list(why_undecidable(found.state)):
        usage = undecidable_usage(schema, found.known, undecidable)
        return TableReport.judged(name, *undecidable, usage=usage.to_json(), **known)
    survey = None
    if needs_footers(schema, found.known):
        progress(f"{name}: reading the footers of {counted(len(found.state.files or ()), 'file')}")
        with timings.phase("footers"):
            survey = survey_footers(session.data_files(table.location), found.state)
    usage = usage_of(schema, found.known, survey, list(usage_tracking.check_state(found.state)))
    findings = [unknown_usage(name, usage)] if usage.answer is Usage.UNDETERMINED else []
    return TableReport.judged(name, *findings, usage=usage.to_json(), **known)
