"""Helpers for the XComs that the operators push, to use a report in a DAG.

The ``return_value`` has ``schema_version``, ``kind``, ``verdict``, ``changed``, ``counts``, ``tables``, ``truncated``,
``report_path`` and, for a dry run, ``dry_run``. The key ``findings`` has the findings with their tables.
``DeltaTableDetailOperator`` also pushes the key ``details``. If XCom has no room for everything, the helpers read the
report that the task kept. They block, so call them in tasks, not at the top of a DAG file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.report import summary as listed
from airflow_delta_provider.domain.report.report import JobReport, Verdict
from airflow_delta_provider.exceptions import DeltaReportUnavailableError
from airflow_delta_provider.report_store import read_report

__all__ = ["all_findings", "tables_with", "violated_tables", "whole_report"]


def violated_tables(report: Mapping[str, Any]) -> list[str]:
    """Return all tables that broke a rule, ready for ``.expand(table=…)``.

    :param report: the operator's ``return_value`` XCom
    :raises DeltaReportUnavailableError: if XCom does not list all of them, and the kept report cannot be read
    """
    return tables_with(report, Verdict.VIOLATED)


def tables_with(summary: Mapping[str, Any], *verdicts: Verdict | str) -> list[str]:
    """Return all tables that ended with one of ``verdicts``, the worst first.

    :param summary: the operator's ``return_value`` XCom
    :raises DeltaReportUnavailableError: if XCom does not list all of them, and the kept report cannot be read
    """
    try:
        return listed.tables_with(summary, *verdicts)
    except listed.CutSummaryError as cut:
        return listed.all_tables_with(_read(summary, f"{cut}; {cut.missing} are missing"), *verdicts)


def all_findings(findings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all findings, each with its ``table``; findings of the worst tables come first.

    :param findings: the operator's ``findings`` XCom
    :raises DeltaReportUnavailableError: if XCom does not have all of them, and the kept report cannot be read
    """
    if not findings["truncated"]:
        return list(findings["findings"])
    missing = findings.get("omitted", "some")
    return listed.all_findings_of(_read(findings, f"{missing} findings are missing, for which XCom has no room"))


def whole_report(pushed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole report, in the format of ``report.schema.json``.

    :param pushed: the operator's ``return_value`` XCom
    :raises DeltaReportUnavailableError: if it was not kept, or cannot be read
    """
    return _read(pushed, "XCom has the summary only").to_json()


def _read(pushed: Mapping[str, Any], lack: str) -> JobReport:
    path = pushed.get("report_path")
    if not path:
        why = pushed.get("report_error") or "the task kept none"
        raise DeltaReportUnavailableError(
            f"{lack}, and there is no report to read the rest from: {why}. Set report_path of the task, or "
            "[delta_provider] report_path, to a folder in object storage."
        )
    try:
        return read_report(path)
    except Exception as error:
        raise DeltaReportUnavailableError(
            f"{lack}, and the report {path} cannot be read here: {type(error).__name__}: {error}. If it is on the "
            "disk of another worker, set report_path of the task, or [delta_provider] report_path, to a folder in "
            "object storage that all workers reach."
        ) from error
