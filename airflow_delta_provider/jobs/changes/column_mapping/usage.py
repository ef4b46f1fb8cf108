"""The kind ``column-mapping-usage``: whether columns were ever renamed or dropped."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.changes.disable_mapping.mapped_table import MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.usage import (
    Usage,
    UsageAnswer,
    needs_footers,
    undecidable_usage,
    unknown_usage,
    usage_of,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.protocol.undecidable import why_undecidable
from airflow_delta_provider.domain.checks.usage_tracking import state as usage_tracking
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.changes.column_mapping.column_reader import read_columns, survey_footers
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.session.progress import Progress
from airflow_delta_provider.jobs.session.timings import Timings


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Determine the usage of column mapping of one table."""
    del request  # it has no options
    return ColumnMappingUsage(session, session.open_table(text), progress).run()


class ColumnMappingUsage:
    """Determines the usage of one table's column mapping from its history, and from footers where needed."""

    def __init__(self, session: DeltaSession, table: OpenTable, progress: Progress) -> None:
        self._session = session
        self._table = table
        self._progress = progress
        self._timings = Timings()

    def run(self) -> TableReport:
        """Determine the newest version."""
        name = self._table.name.text
        try:
            with self._timings.phase("commits"):
                found = read_columns(self._table.log)
            schema = MappedSchema.of(found.state.metadata)
        except BrokenLogError as error:
            return TableReport.refused(name, requests.broken_log(name, error))
        known: dict[str, Any] = {"version": found.state.version, "timings": self._timings}
        if undecidable := list(why_undecidable(found.state)):
            usage = undecidable_usage(schema, found.known, undecidable)
            return TableReport.judged(name, *undecidable, usage=usage.to_json(), **known)
        usage = self._usage(schema, found)
        findings = [unknown_usage(name, usage)] if usage.answer is Usage.UNDETERMINED else []
        return TableReport.judged(name, *findings, usage=usage.to_json(), **known)

    def _usage(self, schema: MappedSchema, found: MappedTable) -> UsageAnswer:
        tracking = list(usage_tracking.check_state(found.state))
        if not needs_footers(schema, found.known):
            return usage_of(schema, found.known, None, tracking)
        self._progress(f"{self._table.name.text}: reading the footers of {len(found.state.files or ())} files")
        with self._timings.phase("footers"):
            survey = survey_footers(DeltaFiles(self._session.storage, self._table.location), found.state)
        return usage_of(schema, found.known, survey, tracking)
