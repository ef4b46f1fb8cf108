"""Receipts for reports on the command line: a report counts as received once it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.check_options import AuditOptions, PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit.protocol_audit import memory_store
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.paimon.check import baseline_store
from airflow_delta_provider.jobs.paimon.table import open_paimon_table
from airflow_delta_provider.jobs.process import Progress
from airflow_delta_provider.jobs.storage.state_store import StateStore
from airflow_delta_provider.jobs.tables.session import parse_table_name


@dataclass(frozen=True)
class _SavedState:
    """The saved state of a kind of job.

    :param store: opens the state; returns None if the request saves none
    :param locate: returns the location of a table
    """

    store: Callable[[DeltaSession, Any, Progress], StateStore[Any] | None]
    locate: Callable[[DeltaSession, str], str]


_SAVED_STATES: Mapping[str, _SavedState] = {
    AuditOptions.kind: _SavedState(memory_store, lambda session, text: session.open_table(text).location),
    PaimonCheckRowTrackingOptions.kind: _SavedState(
        baseline_store, lambda session, text: open_paimon_table(session, parse_table_name(text)).location
    ),
}


def confirm(session: DeltaSession, request: JobRequest, report: JobReport, progress: Progress) -> None:
    """Record in each table's state that its report was received. If that fails, its findings are reported again."""
    for table in report.tables:
        if request.receipt is None or table.receipt != request.receipt:
            continue
        try:
            saved = _SAVED_STATES[request.kind]
            store, location = saved.store(session, request.options, progress), saved.locate(session, table.table)
            state = None if store is None else store.load(location)
            if store is not None and state is not None:
                known = state.reported.received({request.receipt: None}, table.table)
                store.save(location, replace(state, reported=known))
        except Exception as error:
            progress(f"{table.table}: the receipt of its report could not be saved: {error}")
