"""Running a request in the task's own process, without Spark: what only reads."""

from __future__ import annotations

from logging import Logger

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.python_engine import python_session
from airflow_delta_provider.jobs.run.runner import run


def run_here(request: JobRequest, storage_conn_id: str | None, log: Logger) -> JobReport:
    """
    Run a request and return its report.

    :param storage_conn_id: Airflow connection of the store; None takes credentials from the environment
    :param log: takes the progress
    :raises RequestError: if it takes Spark
    """
    del storage_conn_id
    return run(request, python_session(), lambda line: log.info("%s", line))
