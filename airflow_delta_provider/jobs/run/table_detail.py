"""The kind ``detail``: the metadata of one table, read only from its log."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_delta_provider.domain.checks.log.history import why_undecidable
from airflow_delta_provider.domain.checks.metadata.schema import check_readable
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.derived_files import checksum_name
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name
from airflow_delta_provider.domain.delta.table_state import detail_of
from airflow_delta_provider.domain.formats.json_values import integer_of, parse_json
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.storage.errors import MissingFileError


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Report the newest version of one table. No engine opens it, so tables that engines refuse also have a detail."""
    del request, progress
    table, timings = session.open_table(text), Timings()
    with timings.phase("read"):
        state = table.log.read_state()
        commit = _commit(table.log, state.version)
        detail = detail_of(state, table.location, commit, _sizes(table.log, table.log_names, state.version, commit))
    # The findings explain why the detail may be wrong or incomplete.
    findings = (*why_undecidable(state), *check_readable(state))
    return TableReport.of_findings(table.name.text, *findings, version=state.version, detail=detail, timings=timings)


def _commit(log: TableLog, version: int) -> Commit | None:
    try:
        return Commit.from_actions(version, log.read_commit(commit_name(version)))
    except MissingFileError:  # cleaned up after its checkpoint
        return None


def _sizes(log: TableLog, names: Sequence[str], version: int, commit: Commit | None) -> tuple[int, int] | None:
    """Return the number and bytes of the live files: from the version's checksum file, or else from the log.

    Return None if the log's files cannot be read.
    """
    try:
        if (name := checksum_name(version)) in names:
            checksum = parse_json(log.read_file(name))
            made_for = {checksum.get("txnId"), commit.info.get("txnId") if commit else None} - {None}
            if len(made_for) <= 1:
                return integer_of(checksum, "numFiles"), integer_of(checksum, "tableSizeBytes")
    except (BrokenLogError, MissingFileError, LookupError, ValueError, AttributeError, TypeError):
        pass  # an audit reports damaged checksum files
    try:
        live = log.read_state(with_files=True, version=version).live_files
    except (BrokenLogError, MissingFileError):
        return None
    return len(live), sum(file.size for file in live)
