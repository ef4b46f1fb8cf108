"""The kind ``check-drift``: differences between a table and its spec, and the commits that caused them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timezone
from typing import cast

from airflow_delta_provider.domain.checks.drift import Difference
from airflow_delta_provider.domain.checks.log.catalog_managed import why_undecidable
from airflow_delta_provider.domain.checks.metadata.schema import check_readable
from airflow_delta_provider.domain.delta.clustering import CLUSTERING
from airflow_delta_provider.domain.delta.commit import commit_info, parse_commit, provenance_of
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, earliest_version
from airflow_delta_provider.domain.delta.table_state import Replay, TableState
from airflow_delta_provider.domain.migrations.drift import DriftHistory, differences
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import CheckDriftOptions
from airflow_delta_provider.domain.spec.policy import Policy
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.migrations.declared import completed
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.timings import Timings
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError

#: Numbers of newest commits to search for the cause, in turn; after them, all commits in the log.
_SEARCHED = (100, 1_000, 10_000)
#: A commit without any of these changes nothing that a spec declares.
_MARKS = (b'"protocol"', b'"metaData"', CLUSTERING.encode())
_KINDS = frozenset({"protocol", "metaData", "domainMetadata"})


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Compare one table with its spec. Only its log is read, and its commits only if there is drift."""
    del progress
    options = cast("CheckDriftOptions", request.options)
    spec = completed(session, options.spec_of(text))
    table, timings = session.open_table(text), Timings()
    with timings.phase("read"):
        state = table.log.read_state()
    name = table.name.text
    undecidable = tuple(why_undecidable(state))
    findings: Sequence[Finding] = (*undecidable, *check_readable(state))
    if not undecidable and state.metadata.readable_columns is not None:
        standing = differences(spec, state)
        with timings.phase("commits"):
            found = _findings(table.log, spec, state, standing)
        today = datetime.now(timezone.utc).date()
        findings = (*findings, *Policy.parse(options.policy).judged(found, name, today))
    return TableReport.judged(name, *findings, version=state.version, timings=timings)


def _findings(
    log: TableLog, spec: TableSpec, state: TableState, standing: Collection[Difference]
) -> tuple[Finding, ...]:
    """Return the findings for differences, with the commits that caused them if the log still has those."""
    history = DriftHistory(spec, standing, None)
    if not standing:
        return ()
    try:
        earliest = earliest_version(log.list_names())
        for searched in (*_SEARCHED, state.version + 1):
            first = max(state.version + 1 - searched, earliest or 0)
            history = _history(log, spec, state.version, standing, first, from_start=earliest == 0 and first == 0)
            if history.is_complete or first == (earliest or 0):
                break
    except (BrokenLogError, MissingFileError):  # the differences are reported anyway
        pass
    return history.findings()


def _history(
    log: TableLog, spec: TableSpec, newest: int, standing: Collection[Difference], first: int, *, from_start: bool
) -> DriftHistory:
    """Follow the differences from a version on.

    :param from_start: True if that version created the table
    """
    base = None if from_start else log.read_state(version=first)
    replay = Replay(with_files=False) if base is None else Replay.of(base)
    history = DriftHistory(spec, standing, base)
    versions = range(first if base is None else first + 1, newest + 1)
    names = [commit_name(version) for version in versions]
    for version, name, content in zip(versions, names, log.read_files(names)):
        if not any(mark in content for mark in _MARKS):
            continue
        actions = parse_commit(name, content)
        replay.take(action for action in actions if not _KINDS.isdisjoint(action))
        if replay.is_complete:
            history.take(replay.head(version), provenance_of(commit_info(actions)))
    return history
