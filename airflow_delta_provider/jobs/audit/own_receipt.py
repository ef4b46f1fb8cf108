"""Confirming a report in the process that made it: on the command line it is received when it was written."""

from __future__ import annotations

from dataclasses import replace

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit.protocol_audit import memory_store
from airflow_delta_provider.jobs.delta_session import DeltaSession
from airflow_delta_provider.jobs.progress import Progress


def confirm(session: DeltaSession, request: JobRequest, report: JobReport, progress: Progress) -> None:
    """Remember of every table that its report was received; where that fails, its findings are reported again."""
    if request.receipt is None or not isinstance(request.options, AuditOptions):
        return
    store = memory_store(session, request.options, progress)
    for table in report.tables:
        if store is None or table.receipt != request.receipt:
            continue
        try:
            location = session.open_table(table.table).location
            memory = store.load(location)
            if memory is not None:
                known = memory.reported.received({request.receipt: None}, table.table)
                store.save(location, replace(memory, reported=known))
        except Exception as error:
            progress(f"{table.table}: that its report was received is not remembered: {error}")
