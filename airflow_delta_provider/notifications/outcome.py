"""The outcome of a task run: the findings of its report, or the reason why there is none."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from airflow.providers.common.compat.sdk import XCOM_RETURN_KEY, Context, TaskInstanceState

from airflow_delta_provider.domain.report.pages import REPORT_KEY, Excerpt
from airflow_delta_provider.domain.report.report import Finding, JobReport, ReportPlace, TableReport, Verdict
from airflow_delta_provider.exceptions import DeltaReportError
from airflow_delta_provider.notifications.alert import Origin, Outcome, TableFinding
from airflow_delta_provider.notifications.delivery import NAME, Delivery
from airflow_delta_provider.report_store import KeptReport, read_report

log = logging.getLogger(__name__)

#: Verdicts of fully checked tables: a finding that was not reported there does not exist.
_LOOKED_AT = {Verdict.PASS.value, Verdict.VIOLATED.value}
_WELL = {TaskInstanceState.SUCCESS, TaskInstanceState.SKIPPED}
_NO_REPORT = "No report exists: the state of the tables is unknown."
_DIED = "The worker died, or Airflow ended the task from outside: the callback was given no exception. See the log."
_NO_FINDINGS = "The report lists no findings; the task's log has it."


def outcome_of(context: Context) -> Outcome:
    """Read the report of the task, the whole report if possible.

    The first available source is used:

    1. the exception that ended the task
    2. the report that the task left in this process
    3. the kept report, for a process that died
    4. the part of the report in XCom
    """
    origin = _origin(context)
    error = context.get("exception")
    report = getattr(error, "report", None) if isinstance(error, DeltaReportError) else None
    if isinstance(report, JobReport):
        failure = None if any(table.findings for table in report.tables) else _NO_FINDINGS
        return _of_report(origin, report, getattr(error, "place", None), failure)
    failure = None if _went_well(context) else _failure(error)
    here: Any = getattr(context.get("task"), "kept_report", None)
    if isinstance(here, KeptReport):
        return _of_report(origin, here.report, here.place, failure)
    delivery = context.get(NAME)
    if isinstance(delivery, Delivery):
        return _of_report(origin, delivery.report, None, failure)
    summary = _pulled(context, XCOM_RETURN_KEY)
    summary = summary if isinstance(summary, Mapping) else {}
    kept = _read(summary.get("report_path")) or (None if error else _kept_by_the_task(context))
    if kept is not None:
        return _of_report(origin, kept.report, kept.place, failure)
    pushed = _pulled(context, "findings")
    if not isinstance(pushed, Mapping) or "findings" not in pushed:
        return Outcome(origin, failure=None if failure is None else f"{_NO_REPORT} {failure}")
    return replace(_of_xcom(origin, pushed, summary, failure), reports=_excerpt(context))


def _of_report(origin: Origin, report: JobReport, place: ReportPlace | None, failure: str | None) -> Outcome:
    findings = tuple(TableFinding(table.table, finding) for table in report.tables for finding in table.findings)
    return Outcome(
        origin,
        report.verdict.value,
        findings,
        frozenset(table.table for table in report.tables if table.verdict.value in _LOOKED_AT),
        failure=failure,
        place=place,
        reports={table.table: table for table in report.tables},
    )


def _read(path: Any) -> KeptReport | None:
    """Return the report that XCom names; None if it names none or the report cannot be read."""
    if not isinstance(path, str) or not path:
        return None
    try:
        return KeptReport(read_report(path), ReportPlace(path))
    except Exception:
        log.exception("%s could not be read; the alert has only the part that XCom holds", path)
        return None


def _kept_by_the_task(context: Context) -> KeptReport | None:
    """Return the report that the task kept before its process died, whether or not it pushed XComs."""
    store = getattr(context.get("task"), "report_store", None)
    if store is None or context.get("ti") is None:
        return None
    try:
        found: KeptReport | None = store(context).find()
    except Exception:
        log.exception("The folder of the task's reports could not be read")
        return None
    return found


def _of_xcom(origin: Origin, pushed: Mapping[str, Any], summary: Mapping[str, Any], failure: str | None) -> Outcome:
    findings = tuple(TableFinding(wire["table"], Finding.from_json(wire)) for wire in pushed["findings"])
    truncated = bool(pushed.get("truncated"))
    tables = () if truncated else summary.get("tables", ())
    path, error = summary.get("report_path"), summary.get("report_error")
    return Outcome(
        origin,
        summary.get("verdict"),
        findings,
        frozenset(row["table"] for row in tables if row["verdict"] in _LOOKED_AT),
        truncated,
        failure,
        missing=int(pushed.get("omitted", 0)),
        place=ReportPlace(path, error) if path or error else None,
    )


def _excerpt(context: Context) -> Mapping[str, TableReport]:
    """Return the reports of tables, as far as XCom has them."""
    pushed = _pulled(context, REPORT_KEY)
    try:
        return {} if pushed is None else {table.table: table for table in Excerpt.from_json(pushed).report.tables}
    except (ValueError, KeyError, TypeError, AttributeError):
        log.exception("XCom %s of the task could not be read; the alert has no timelines", REPORT_KEY)
        return {}


def _went_well(context: Context) -> bool:
    return not context.get("exception") and getattr(context.get("ti"), "state", None) in _WELL


def _failure(error: Any) -> str:
    """Return the task's error as a string.

    Airflow passes an exception or its text, and neither if the worker died.
    """
    if not error:
        return _DIED
    message = str(error).strip()
    return f"{type(error).__name__}: {message}" if isinstance(error, BaseException) else message


def _origin(context: Context) -> Origin:
    instance: Any = context.get("ti")
    return Origin(
        str(getattr(instance, "dag_id", None) or getattr(context.get("dag"), "dag_id", "?")),
        getattr(instance, "task_id", "?"),
        getattr(instance, "run_id", None) or context.get("run_id"),
        -1 if (index := getattr(instance, "map_index", None)) is None else index,
        getattr(instance, "try_number", None),
        _log_url(instance),
    )


def _log_url(instance: Any) -> str | None:
    """Return the address of the log, if it is safe to link."""
    url = str(getattr(instance, "log_url", None) or "")
    return url if url.startswith(("http://", "https://")) else None


def _pulled(context: Context, key: str) -> Any:
    """Return the value that this task run pushed, or None. Other map indexes are ignored."""
    instance: Any = context.get("ti")
    if instance is None:
        return None
    try:
        return instance.xcom_pull(key=key, map_indexes=getattr(instance, "map_index", None))
    except Exception:
        log.exception("XCom %s of the task could not be read; the alert goes without it", key)
        return None
