"""The same request by Spark and by Python alone: what only reads must report the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.changes.preflight import NOT_REHEARSED
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.log.files import DAMAGED_CHECKPOINT
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS
from airflow_delta_provider.domain.table_name import TableName, TableNameError
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run

#: Damage that each reader of Parquet describes in its own words.
_IN_WORDS_OF_READERS = frozenset((DAMAGED_CHECKPOINT.code, requests.BROKEN_LOG.code))


def run_by_both(request: JobRequest, by_spark: Callable[[], JobReport]) -> JobReport:
    """Return the report of Spark, after comparing it with that of Python alone, if Python can do what is asked."""
    if not _reads_alone(request):
        return by_spark()
    with tempfile.TemporaryDirectory() as directory:
        alone = _with_own_state(request, Path(directory) / "state")
        report = by_spark()
        assert compared(run(alone, python_session())) == compared(report)
    return report


def compared(report: JobReport) -> Any:
    """Return what has to be the same in both reports."""
    wire = report.to_json()
    for key in ("started_at", "finished_at", "engine"):
        del wire[key]
    for table in wire["tables"]:
        table.pop("timings", None)
        if plan := table.get("plan"):  # only Spark rehearses plans
            notes = [note for note in plan["notes"] if note != NOT_REHEARSED]
            table["plan"] = {key: value for key, value in plan.items() if key != "checksum"} | {"notes": notes}
        for finding in table["findings"]:
            if finding["code"] in _IN_WORDS_OF_READERS:
                del finding["message"], finding["evidence"]
    return wire


def _reads_alone(request: JobRequest) -> bool:
    return (
        KINDS[request.kind].reading_job is not None
        and not request.options.needs_rows
        and all(map(_is_path, request.tables))
        and "://" not in (request.options.state_path or "")
    )


def _is_path(table: str) -> bool:
    try:
        location = TableName.parse(table).location
    except TableNameError:
        return True
    return location is not None and location.startswith(("/", "file:"))


def _with_own_state(request: JobRequest, state: Path) -> JobRequest:
    """Return a request that goes on from the same state, and does not change it."""
    path = request.options.state_path
    if path is None:
        return request
    if Path(path).is_dir():
        shutil.copytree(path, state)
    return replace(request, options=replace(request.options, state_path=str(state)))  # type: ignore[call-arg]  # of an audit
