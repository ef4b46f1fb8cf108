"""Operator that evaluates reports of jobs that another platform ran."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from airflow.providers.common.compat.sdk import BaseHook, BaseOperator, Context
from airflow.sdk import XComArg
from typing_extensions import Unpack

from airflow_delta_provider.configuration import Access
from airflow_delta_provider.domain.report.report import JobReport, ReportPlace
from airflow_delta_provider.exceptions import DeltaReportUnavailableError, DeltaRequestError
from airflow_delta_provider.operators.arguments import OnUndetermined, OnViolation, TaskArguments, Text, is_literal
from airflow_delta_provider.operators.reporting import Reporting
from airflow_delta_provider.report_store import check_report_path, read_report


class DeltaReportOperator(Reporting, BaseOperator):
    """Apply the policies to a report of a job that ran elsewhere: on Databricks, EMR, Dataproc, or from a shell.

    Runs nothing and reads no table. The report is the file written by ``--report`` of ``delta-provider``, or by its
    ``--format json --output``. The task then treats it like a report of its own job: same XComs, links, alerts, asset
    events, and the same success or failure.

    If the report is missing, cut off, or older than ``not_before``, the task fails and is retried: the job may still be
    writing it.

    :param report_uri: path or URI of the report; a connection goes before an ``@``, as in
        ``s3://aws_default@bucket/reports/nightly.json``. (templated)
    :param not_before: earliest possible start of the job, in ISO 8601 with an offset; an older report belongs to
        another run. ``"{{ dag_run.start_date }}"`` is the start of this run. By default a report of any age is
        accepted. (templated)
    :param on_violation: outcome if a table breaks a rule or was refused: ``"fail"``, ``"warn"`` or ``"skip"``
    :param on_undetermined: outcome if something could not be decided: ``"warn"``, ``"fail"`` or ``"ignore"``
    :param report_path: folder where each try keeps the report as it read it: a path, or a URI of object storage. The
        default is ``[delta_provider] report_path``, or else a folder next to the logs. (templated)
    :param databricks_conn_id: connection of the Databricks workspace where the job ran. Asset events of tables with
        names of three parts are then for ``databricks://HOST/main/sales/orders``, as in Airflow's provider for
        Databricks. (templated)
    :raises DeltaRequestError: if an argument is wrong, the location is not allowed, or the file is not a report or was
        written by another version of this package
    :raises DeltaReportUnavailableError: if there is no such report yet; the task is retried
    """

    template_fields: Sequence[str] = ("report_uri", "not_before", "report_path", "databricks_conn_id")

    def __init__(
        self,
        *,
        report_uri: Text,
        not_before: datetime | str | XComArg | None = None,
        on_violation: OnViolation = "fail",
        on_undetermined: OnUndetermined = "warn",
        report_path: Text | None = None,
        databricks_conn_id: Text | None = None,
        **kwargs: Unpack[TaskArguments],
    ) -> None:
        super().__init__(**cast("dict[str, Any]", kwargs))
        self.report_uri = cast("str", report_uri)
        self.not_before = not_before
        self.databricks_conn_id = cast("str | None", databricks_conn_id)
        self._report_with(on_violation, on_undetermined, report_path)
        if is_literal(report_uri):
            check_report_path(report_uri, "report_uri")
        if not_before is not None and is_literal(not_before):
            _moment("not_before", not_before)

    def execute(self, context: Context) -> dict[str, Any]:
        """Read the report, push it and apply the policies to it. Return the summary."""
        report = self._read(context)
        if self.not_before is not None:
            oldest = _moment("not_before", self.not_before)
            if _moment("started_at of the report", report.started_at) < oldest:
                raise DeltaReportUnavailableError(
                    f"The report at {self._place} is of a job that began at {report.started_at}, before "
                    f"{oldest.isoformat()} (not_before): this run's job has not written its report yet."
                )
        return self._conclude(context, report, report)

    def _read(self, context: Context) -> JobReport:
        check_report_path(self.report_uri, "report_uri")
        access = Access.of(context)
        access.check_path("report_uri", self._place, used_here=True)
        if self.report_path:
            access.check_path("report_path", ReportPlace(check_report_path(self.report_path)).bare, used_here=True)
        try:
            return read_report(self.report_uri)
        except FileNotFoundError:
            why = "there is no such file"
        except (json.JSONDecodeError, EOFError, UnicodeDecodeError) as error:
            why = f"it is not whole JSON ({error})"
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise DeltaRequestError(f"{self._place} is not a report that can be judged: {error}") from error
        except OSError as error:
            why = f"{type(error).__name__}: {error}"
        raise DeltaReportUnavailableError(f"No report at {self._place}: {why}.")

    def _databricks_host(self) -> str | None:
        return BaseHook.get_connection(self.databricks_conn_id).host if self.databricks_conn_id else None

    @property
    def _place(self) -> str:
        """The address of the report, without the connection."""
        return str(ReportPlace(self.report_uri).bare)


def _moment(what: str, value: Any) -> datetime:
    """Return an argument as a time.

    :raises DeltaRequestError: if it is not a time, or has no offset
    """
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise DeltaRequestError(
            f"{what} is {value!r}. Give a time in ISO 8601 with its offset, such as 2026-01-02T03:04:05+00:00."
        )
    return moment
