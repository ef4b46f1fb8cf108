"""Confirming a report in the process that made it: on the command line it is received when it was written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.check_paimon_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit.protocol_audit import memory_store
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.paimon.check import baseline_store
from airflow_delta_provider.jobs.paimon.open_table import open_paimon_table
from airflow_delta_provider.jobs.session.progress import Progress
from airflow_delta_provider.jobs.storage.state_store import StateStore
from airflow_delta_provider.jobs.tables.table_session import parse_table_name


def confirm(session: DeltaSession, request: JobRequest, report: JobReport, progress: Progress) -> None:
    """Remember of every table that its report was received; where that fails, its findings are reported again."""
    for table in report.tables:
        if request.receipt is None or table.receipt != request.receipt:
            continue
        try:
            store, locate = _store(session, request, progress)
            location = locate(table.table)
            memory = store.load(location)
            if memory is not None:
                known = memory.reported.received({request.receipt: None}, table.table)
                store.save(location, replace(memory, reported=known))
        except Exception as error:
            progress(f"{table.table}: that its report was received is not remembered: {error}")


def _store(
    session: DeltaSession, request: JobRequest, progress: Progress
) -> tuple[StateStore[Any], Callable[[str], str]]:
    """Return where jobs of a kind remember, and what finds the location of a table."""
    options = request.options
    if isinstance(options, AuditOptions):
        store: StateStore[Any] | None = memory_store(session, options, progress)
        locate = lambda text: session.open_table(text).location  # noqa: E731
    elif isinstance(options, PaimonCheckRowTrackingOptions):
        store = baseline_store(session, options, progress)
        locate = lambda text: open_paimon_table(session, parse_table_name(text)).location  # noqa: E731
    else:
        store = None
    if store is None:
        raise TypeError(f"{request.kind} remembers nothing")
    return store, locate
