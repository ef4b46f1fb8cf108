"""Outcome of a task, as its report and its policies determine it."""

from __future__ import annotations

import logging
from typing import get_args

from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_delta_provider.domain.rendering.text import render
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.report_place import ReportPlace
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.exceptions import (
    DeltaFaultError,
    DeltaRequestError,
    DeltaRetryableError,
    DeltaUndeterminedError,
    DeltaViolationError,
)
from airflow_delta_provider.operators.arguments import OnUndetermined, OnViolation


def check_policy(on_violation: str, on_undetermined: str) -> None:
    """Reject an unknown policy.

    :raises DeltaRequestError: if a policy is unknown; the message names the argument and its values
    """
    for name, value, known in (
        ("on_violation", on_violation, get_args(OnViolation)),
        ("on_undetermined", on_undetermined, get_args(OnUndetermined)),
    ):
        if value not in known:
            raise DeltaRequestError(f"{name} is {value!r}; it has to be one of {', '.join(map(repr, known))}.")


def is_retryable(table: TableReport) -> bool:
    """Return True if another try may end differently: after a lost race or an infrastructure fault."""
    return table.retryable and table.verdict in (Verdict.REFUSED, Verdict.FAULT)


def judge(
    report: JobReport,
    on_violation: OnViolation,
    on_undetermined: OnUndetermined,
    log: logging.Logger,
    place: ReportPlace | None = None,
) -> None:
    """Return if the task succeeded, else raise.

    Faults fail the task regardless of the policy. A withheld change is treated like a refused one. A failure that
    another try may fix is retried, unless some other failure is final.

    :param place: place of the whole report
    :raises DeltaViolationError: a table is VIOLATED or REFUSED and the policy is ``fail``
    :raises DeltaUndeterminedError: a table is UNDETERMINED and the policy is ``fail``, or a change was withheld
    :raises DeltaFaultError: a table is FAULT and no other try can fix it
    :raises DeltaRetryableError: another try may fix every failure
    :raises AirflowSkipException: a table is VIOLATED or REFUSED, or a change was withheld, and the policy is ``skip``
    """
    final = [table for table in report.tables if not is_retryable(table)]
    verdicts = {table.verdict for table in final}
    if Verdict.FAULT in verdicts:
        raise DeltaFaultError(report, place)
    violated = bool(verdicts & {Verdict.VIOLATED, Verdict.REFUSED})
    if violated and on_violation == "fail":
        raise DeltaViolationError(report, place)
    undetermined = Verdict.UNDETERMINED in verdicts
    withheld = any(table.withheld for table in final)
    if (undetermined and on_undetermined == "fail") or (withheld and on_violation == "fail"):
        raise DeltaUndeterminedError(report, place)
    if len(final) < len(report.tables):
        raise DeltaRetryableError(report, place)
    if (violated or withheld) and on_violation == "skip":
        raise AirflowSkipException(f"Skipped, as on_violation says.\n{render(report, place)}")
    if violated or withheld or (undetermined and on_undetermined == "warn"):
        log.warning("%s", render(report, place))
    else:
        log.info("%s", render(report, place))
