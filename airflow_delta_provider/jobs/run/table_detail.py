"""The kind ``detail``: the metadata of one table, read only from its log."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.log.history import why_undecidable
from airflow_delta_provider.domain.checks.metadata.schema import check_readable
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.delta.table_state import detail_of
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.storage.storage import MissingFileError


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Report the newest version of one table. No engine opens it, so tables that engines refuse also have a detail."""
    del request, progress
    table, timings = session.open_table(text), Timings()
    with timings.phase("read"):
        state = table.log.read_state()
        detail = detail_of(state, table.location, _commit(table.log, state.version))
    # The findings explain why the detail may be wrong or incomplete.
    findings = (*why_undecidable(state), *check_readable(state))
    return TableReport.judged(table.name.text, *findings, version=state.version, detail=detail, timings=timings)


def _commit(log: TableLog, version: int) -> Commit | None:
    try:
        return Commit.from_actions(version, log.read_commit(commit_name(version)))
    except MissingFileError:  # cleaned up after its checkpoint
        return None
