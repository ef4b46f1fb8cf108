"""The kind ``detail``: what one table is, by its log alone."""

from __future__ import annotations

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.metadata.schema import check_readable
from airflow_delta_provider.domain.checks.protocol.undecidable import why_undecidable
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name
from airflow_delta_provider.domain.delta.table_detail import detail_of
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.session.missing_file import MissingFileError
from airflow_delta_provider.jobs.session.progress import Progress
from airflow_delta_provider.jobs.session.timings import Timings


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Say what one table is."""
    del request, progress
    return TableDetail(session.open_table(text)).run()


class TableDetail:
    """Reports the metadata of one table. No engine opens it, so tables that engines refuse have a detail, too."""

    def __init__(self, table: OpenTable) -> None:
        self._table = table
        self._timings = Timings()

    def run(self) -> TableReport:
        """Read the newest version."""
        name = self._table.name.text
        try:
            with self._timings.phase("read"):
                state = self._table.log.read_state()
                commit = self._commit(state.version)
        except BrokenLogError as error:
            return TableReport.refused(name, requests.broken_log(name, error))
        detail = detail_of(state, self._table.location, commit)
        known = {"version": state.version, "detail": detail, "timings": self._timings}
        # Why it may not be what the table is, and what it lacks.
        return TableReport.judged(name, *why_undecidable(state), *check_readable(state), **known)

    def _commit(self, version: int) -> Commit | None:
        try:
            return Commit.from_actions(version, self._table.log.read_commit(commit_name(version)))
        except MissingFileError:  # cleaned up after its checkpoint
            return None
