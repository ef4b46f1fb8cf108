"""The kind ``check-compatibility``: engines that a table locks out, or would lock out after a change."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from airflow_delta_provider.domain.changes.lockouts import check_known, check_probe, check_table, check_window, outcomes
from airflow_delta_provider.domain.changes.preflight import demands_with
from airflow_delta_provider.domain.changes.widen_types import Widening, check_widening, resolve_widenings
from airflow_delta_provider.domain.checks.compatibility import UNKNOWN_SUPPORT
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.log.catalog_managed import why_undecidable
from airflow_delta_provider.domain.checks.metadata.schema import check_readable
from airflow_delta_provider.domain.delta.demands import demands_of
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.fleet import TableFleet
from airflow_delta_provider.domain.engine.lockout import known_lockouts
from airflow_delta_provider.domain.engine.probe import Probe
from airflow_delta_provider.domain.engine.profiles.access import Access, Demands
from airflow_delta_provider.domain.engine.recent_writer import RecentWriters
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from airflow_delta_provider.domain.request.check_compatibility import CheckCompatibilityOptions
from airflow_delta_provider.domain.request.fleet import fleet_of
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.delta.log.recent_writers import writers_within
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.timings import Timings


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
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
        return TableReport.judged(name, *findings, **known)
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
        return TableReport.judged(name, *findings, unknown, **known)
    findings += check_table(now, planned, fleet, writers)
    findings += check_window(writers)
    if planned is not None:
        findings += check_known(fleet, writers)
    tried = None
    if options.probe:
        with timings.phase("probe"):
            tried = probe(table.location)
        findings += check_probe(tried, fleet, writers)
    return TableReport.judged(name, *findings, evidence=_evidence(planned or now, fleet, writers, tried), **known)


def _widenings(options: CheckCompatibilityOptions, state: TableState) -> tuple[list[Widening], list[Finding]]:
    """Return the columns to be widened, and refusals for columns that cannot be widened."""
    if not options.columns:
        return [], []
    widenings, refusals = resolve_widenings(WidenTypesOptions(columns=options.columns), state.metadata)
    pending = (widening for widening in widenings if widening.column.data_type != widening.new)
    return widenings, [*refusals, *(refusal for widening in pending for refusal in check_widening(widening, state))]


def _evidence(demands: Demands, fleet: TableFleet, writers: RecentWriters, tried: Probe | None) -> dict[str, Any]:
    return {
        "engines": outcomes(demands, fleet, writers),
        "writers": [writer.to_json() for writer in writers.writers],
        "writers_since_version": writers.since,
        "known_lockouts": {
            "read": list(known_lockouts(Access.READ, sorted(demands.reader))),
            "write": list(known_lockouts(Access.WRITE, sorted(demands.writer))),
        },
        "probe": None if tried is None else tried.to_json(),
    }


_ENGINE, _PACKAGE = "delta-rs", "deltalake"
#: Error texts for tables that it does not support, whatever the release and the class of its error.
_REFUSED = re.compile(
    r"unsupported|not (?:yet )?supported|reader (?:version|feature)|minReaderVersion|readerFeatures", re.IGNORECASE
)
_MOST_TEXT = 300


def probe(location: str) -> Probe:
    """Read one row of a table with ``deltalake``, with credentials from the environment.

    :param location: path or URI of the table
    """
    try:
        deltalake: Any = import_module(_PACKAGE)
        installed = version(_PACKAGE)
    except (ImportError, PackageNotFoundError):
        return Probe(engine=_ENGINE, version=None, reads=None, message=f"the package {_PACKAGE} is not installed")
    try:
        _read_row(deltalake, location)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a Rust panic is not an Exception
        said = masked_text(" ".join(str(error).split()))[:_MOST_TEXT]
        refused = False if _REFUSED.search(said) else None
        return Probe(engine=_ENGINE, version=installed, reads=refused, message=said or type(error).__name__)
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
