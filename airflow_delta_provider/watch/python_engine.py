"""The engine ``python``: runs read-only requests in the task's own process, without Spark."""

from __future__ import annotations

from functools import partial
from logging import Logger
from typing import Any

from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.table_name import TableNameError
from airflow_delta_provider.domain.text import shown_lines
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.storages import Storages
from airflow_delta_provider.watch.delta_options import delta_options
from airflow_delta_provider.watch.metadata_folder import StorageAddress, filesystem_of


def run_here(request: JobRequest, storage_conn_id: str | None, log: Logger) -> JobReport:
    """Run a request and return its report.

    :param storage_conn_id: Airflow connection of the store; with None, credentials come from the environment
    :param log: receives the progress
    :raises RequestError: if the request needs Spark
    :raises DeltaLogUnreadableError: if there is no such connection
    :raises StorageSetupError: if Airflow has no filesystem for a location here
    """
    storages = Storages(filesystems=_filesystems(request, storage_conn_id) if storage_conn_id else None)
    options = partial(delta_options, storage_conn_id) if storage_conn_id else None
    return run(request, python_session(storages, options), lambda line: log.info("%s", shown_lines(line)))


def _filesystems(request: JobRequest, conn_id: str) -> dict[str, Any]:
    """Return a connection's filesystems for the locations of a request, by scheme as written there."""
    found: dict[str, Any] = {}
    folders = (folder for _, folder in request.options.folders)
    for place in (*request.tables, *folders, *filter(None, [request.options.findings_table])):
        scheme = place.partition("://")[0].lower()
        if scheme in ("", "file", place.lower()) or scheme in found:
            continue
        try:
            address = StorageAddress.of(place)
        except TableNameError:  # the table's own report has the error
            continue
        found[scheme] = filesystem_of(address, conn_id)
    return found
