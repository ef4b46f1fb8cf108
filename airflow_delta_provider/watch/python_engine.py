"""Running a request in the task's own process, without Spark: what only reads."""

from __future__ import annotations

from logging import Logger
from typing import Any

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.table_name import TableNameError
from airflow_delta_provider.domain.visible import shown_lines
from airflow_delta_provider.jobs.run.python_engine import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.storages import Storages
from airflow_delta_provider.watch.airflow_filesystem import filesystem_of
from airflow_delta_provider.watch.storage_address import StorageAddress


def run_here(request: JobRequest, storage_conn_id: str | None, log: Logger) -> JobReport:
    """Run a request and return its report.

    :param storage_conn_id: Airflow connection of the store; None takes credentials from the environment
    :param log: takes the progress
    :raises RequestError: if it takes Spark
    :raises DeltaLogUnreadableError: if there is no such connection
    :raises StorageSetupError: if Airflow has no filesystem for a location here
    """
    storages = Storages(filesystems=_filesystems(request, storage_conn_id) if storage_conn_id else None)
    return run(request, python_session(storages), lambda line: log.info("%s", shown_lines(line)))


def _filesystems(request: JobRequest, conn_id: str) -> dict[str, Any]:
    """Return the filesystems of a connection for the places of a request, by the scheme that these are written with."""
    found: dict[str, Any] = {}
    for place in (*request.tables, request.options.state_path):
        scheme = (place or "").partition("://")[0].lower()
        if place is None or scheme in ("", "file", place.lower()) or scheme in found:
            continue
        try:
            address = StorageAddress.of(place)
        except TableNameError:  # which is said of that table
            continue
        found[scheme] = filesystem_of(address, conn_id)
    return found
