"""Jobs that compare tables with their spec and with their engines, and that write specs."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from collections.abc import Collection, Sequence
from datetime import datetime, timezone
from typing import Any, cast

from airflow_delta_provider.domain.changes.lockouts import (
    check_known,
    check_probe,
    check_table,
    check_window,
    engines_of,
    outcomes,
)
from airflow_delta_provider.domain.changes.preflight import demands_with, following, with_files
from airflow_delta_provider.domain.changes.widen_types import Widening, check_widening, resolve_widenings
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.compatibility import UNKNOWN_SUPPORT
from airflow_delta_provider.domain.checks.drift import ANOTHER_TABLE, Difference
from airflow_delta_provider.domain.checks.log.history import why_undecidable
from airflow_delta_provider.domain.checks.metadata.schema import check_readable
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.commit import commit_info, parse_commit, provenance_of
from airflow_delta_provider.domain.delta.features.log import CLUSTERING_DOMAIN
from airflow_delta_provider.domain.delta.live_file import count_live_rows
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    commit_name,
    commit_versions,
    earliest_version,
)
from airflow_delta_provider.domain.delta.table_features import demands_of
from airflow_delta_provider.domain.delta.table_state import Replay, TableState
from airflow_delta_provider.domain.engine.access import Access, Demands, known_lockouts, known_misreaders
from airflow_delta_provider.domain.engine.fleet import RecentWriters, TableFleet
from airflow_delta_provider.domain.engine.secret_settings import excerpt
from airflow_delta_provider.domain.migrations.drift import (
    DataCommit,
    DriftHistory,
    check_freshness,
    check_rows,
    differences,
)
from airflow_delta_provider.domain.report.answers import Evidence, LockedOutEngines, LoggedWriter, Probe
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from airflow_delta_provider.domain.request.check_options import CheckCompatibilityOptions, fleet_of
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import CheckDriftOptions
from airflow_delta_provider.domain.spec.policy import Policy
from airflow_delta_provider.domain.spec.problem import SpecError
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.spec.writing import describe
from airflow_delta_provider.jobs.delta.engines import decisions_about_files, writers_within
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.migrations.planning import with_like_columns
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.storage.errors import MissingFileError

#: Number of commits that are read ahead in search of one that changed data.
_AT_ONCE = 20
#: Numbers of newest commits to search for the cause, in turn; after them, all commits in the log.
_SEARCHED = (100, 1_000, 10_000)
#: A commit without any of these changes nothing that a spec declares.
_MARKS = (b'"protocol"', b'"metaData"', CLUSTERING_DOMAIN.encode())
_KINDS = frozenset({"protocol", "metaData", "domainMetadata"})


def check_drift(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Compare one table with its spec. Only its log is read, and its commits only if there is drift."""
    del progress
    options = cast("CheckDriftOptions", request.options)
    spec = with_like_columns(session, options.spec_of(text))
    table, timings = session.open_table(text), Timings()
    with timings.phase("read"):
        state = table.log.read_state(with_files=spec.rows is not None)
    name = table.name.text
    undecidable = tuple(why_undecidable(state))
    findings: Sequence[Finding] = (*undecidable, *check_readable(state))
    evidence = None
    if not undecidable and state.metadata.readable_columns is not None:
        standing, now = differences(spec, state), datetime.now(timezone.utc)
        with timings.phase("commits"):
            found = _findings(table.log, spec, state, standing)
            if not any(difference.rule is ANOTHER_TABLE for difference in standing):
                expected, evidence = _expectations(table.log, spec, state, now)
                found = (*found, *expected)
        findings = (*findings, *Policy.parse(options.policy).applied(found, name, now.date()))
    return TableReport.of_findings(name, *findings, version=state.version, evidence=evidence, timings=timings)


def _expectations(
    log: TableLog, spec: TableSpec, state: TableState, now: datetime
) -> tuple[list[Finding], dict[str, Any] | None]:
    """Compare declared freshness and number of rows with the log; return findings and evidence."""
    found: list[Finding] = []
    evidence: dict[str, Any] = {}
    if spec.freshness is not None:
        commit = _newest_data_commit(log, state)
        found += check_freshness(spec.freshness, commit, now)
        if commit is not None and commit.changes_data:
            evidence["data_version"] = commit.version
            evidence["data_time"] = None if commit.time is None else commit.time.isoformat(timespec="milliseconds")
            evidence["data_time_source"] = commit.source.value
    if spec.rows is not None:
        found += check_rows(spec.rows, state.live_files)
        evidence["rows"] = count_live_rows(state.live_files)
    return found, Evidence(**evidence).to_json() if evidence else None


def _newest_data_commit(log: TableLog, state: TableState) -> DataCommit | None:
    """Return the newest commit that changed data, or else the oldest one that the log has in an unbroken series.

    None if there is none, or if a commit cannot be read.
    """
    there = frozenset(commit_versions(log.list_names()))
    oldest = state.version
    while oldest - 1 in there:
        oldest -= 1
    commit = None
    try:
        for start in range(state.version, oldest - 1, -_AT_ONCE):
            versions = range(start, max(start - _AT_ONCE, oldest - 1), -1)
            for version, name, content in log.commits(versions):
                commit = DataCommit.of(version, parse_commit(name, content), state)
                if commit.changes_data:
                    return commit
    except (BrokenLogError, MissingFileError):
        return None
    return commit


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


def write_spec(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Report the spec of one table. The command line writes the specs of all tables to a file."""
    del request, progress
    table, timings = session.open_table(text), Timings()
    with timings.phase("read"):
        state = table.log.read_state()
    findings = (*why_undecidable(state), *check_readable(state))
    name = table.name.text
    if state.metadata.readable_columns is None:
        return TableReport.of_findings(name, *findings, version=state.version, timings=timings)
    described = describe(state, name)
    spec = described.spec.to_json()
    try:
        TableSpec.from_json(spec)
    except SpecError as error:
        refusal = requests.UNDECLARABLE.found(
            "A spec cannot declare parts of {table} (positions count from 0): {problems}",
            table=name,
            problems=Prose(" ".join(map(str, error.problems))),
        )
        return TableReport.refused(name, refusal, version=state.version, timings=timings)
    evidence = Evidence(table_id=state.metadata.id or None, left_out=tuple(described.left_out)).to_json()
    return TableReport.of_findings(
        name, *findings, version=state.version, spec=spec, evidence=evidence, timings=timings
    )


def check_compatibility(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Check for engines that one table locks out, as it is or after the planned change. Nothing is changed."""
    del progress
    options = cast("CheckCompatibilityOptions", request.options)
    table, timings = session.open_table(text), Timings()
    name = table.name.text
    with timings.phase("read"):
        state = table.log.read_state()
    known: dict[str, Any] = {"version": state.version, "timings": timings}
    findings = [*why_undecidable(state), *check_readable(state)]
    if state.metadata.readable_columns is None and options.columns:
        return TableReport.of_findings(name, *findings, **known)
    widenings, refusals = _widenings(options, state)
    if refusals:
        return TableReport.refused(name, *refusals, **known)
    with timings.phase("commits"):
        writers = writers_within(table.log, state, options.days, datetime.now(timezone.utc))
    fleet = fleet_of(options.fleet, table.name, table.location)
    try:
        now = demands_of(state.protocol, state.metadata)
        planned = demands_with(state, options.features, widenings) if options.plans else None
    except (ValueError, BrokenLogError) as error:
        unknown = UNKNOWN_SUPPORT.found(
            "The features and type changes of the table cannot be read: {why}.", version=state.version, why=Prose(error)
        )
        return TableReport.of_findings(name, *findings, unknown, **known)
    with timings.phase("commits"):
        files = session.data_files(table.location)
        decided = decisions_about_files(table.log, files, state, engines_of(fleet, writers), planned or now)
    now = with_files(now, decided)
    planned = planned and following(now, planned)
    findings += check_table(now, planned, fleet, writers)
    findings += check_window(writers)
    if planned is not None:
        findings += check_known(fleet, writers)
    tried = None
    if options.probe:
        with timings.phase("probe"):
            tried = probe(table.location)
        findings += check_probe(tried, fleet, writers)
    return TableReport.of_findings(name, *findings, evidence=_evidence(planned or now, fleet, writers, tried), **known)


def _widenings(options: CheckCompatibilityOptions, state: TableState) -> tuple[list[Widening], list[Finding]]:
    """Return the columns to be widened, and refusals for columns that cannot be widened."""
    if not options.columns:
        return [], []
    widenings, refusals = resolve_widenings(WidenTypesOptions(columns=options.columns), state.metadata)
    pending = (widening for widening in widenings if widening.column.data_type != widening.new)
    return widenings, [*refusals, *(refusal for widening in pending for refusal in check_widening(widening, state))]


def _evidence(demands: Demands, fleet: TableFleet, writers: RecentWriters, tried: Probe | None) -> dict[str, Any]:
    return Evidence(
        engines=outcomes(demands, fleet, writers),
        writers=tuple(
            LoggedWriter(
                engine=writer.name,
                commits=writer.commits,
                first_version=writer.first,
                last_version=writer.last,
                last_time=writer.last_time,
            )
            for writer in writers.writers
        ),
        writers_since_version=writers.since,
        known_lockouts=LockedOutEngines(
            read=tuple(known_lockouts(Access.READ, sorted(demands.reader), demands.unlisted)),
            write=tuple(known_lockouts(Access.WRITE, sorted(demands.writer), demands.unlisted)),
            misread=tuple(known_misreaders(demands)),
        ),
        probe=tried,
    ).to_json()


_ENGINE, _PACKAGE = "delta-rs", "deltalake"
#: Error texts for tables that it does not support, whatever the release and the class of its error.
_REFUSED = re.compile(
    r"unsupported|not (?:yet )?supported|reader (?:version|feature)|minReaderVersion|readerFeatures", re.IGNORECASE
)


def probe(location: str) -> Probe:
    """Read one row of a table with ``deltalake``, with credentials from the environment.

    :param location: path or URI of the table
    """
    try:
        deltalake: Any = importlib.import_module(_PACKAGE)
        installed = importlib.metadata.version(_PACKAGE)
    except (ImportError, importlib.metadata.PackageNotFoundError):
        return Probe(engine=_ENGINE, version=None, reads=None, message=f"the package {_PACKAGE} is not installed")
    try:
        _read_row(deltalake, location)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a Rust panic is not an Exception
        message = excerpt(str(error))
        refused = False if _REFUSED.search(message) else None
        return Probe(engine=_ENGINE, version=installed, reads=refused, message=message or type(error).__name__)
    return Probe(engine=_ENGINE, version=installed, reads=True)


def _read_row(deltalake: Any, location: str) -> None:
    table = deltalake.DeltaTable(location)
    builder = getattr(deltalake, "QueryBuilder", None)
    if builder is None:
        table.to_pyarrow_dataset().head(1)
        return
    rows = builder().register("t", table).execute("SELECT * FROM t LIMIT 1")
    if hasattr(rows, "read_all"):
        rows.read_all()
