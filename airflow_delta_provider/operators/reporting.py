"""Shared code of operators that push and evaluate a report: XComs, asset events, counters."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

from airflow.providers.common.compat.sdk import (
    XCOM_RETURN_KEY,
    AirflowSkipException,
    AssetAlias,
    BaseOperatorLink,
    Context,
)

from airflow_delta_provider.assets import table_asset
from airflow_delta_provider.configuration import report_folders
from airflow_delta_provider.domain.rendering.text import render_log
from airflow_delta_provider.domain.report.confirmation import Receipts
from airflow_delta_provider.domain.report.pages import REPORT_KEY, TABLES_KEY, Excerpt, TableRows
from airflow_delta_provider.domain.report.report import Finding, JobReport, ReportPlace, Status, TableReport, Verdict
from airflow_delta_provider.domain.report.summary import findings_of, summarise
from airflow_delta_provider.domain.table_name import TableNameError
from airflow_delta_provider.domain.text import shown_lines, visible
from airflow_delta_provider.exceptions import (
    DeltaFaultError,
    DeltaRequestError,
    DeltaRetryableError,
    DeltaUndeterminedError,
    DeltaViolationError,
)
from airflow_delta_provider.links.report import DeltaPageLink, DeltaReportLink, DeltaTablesLink
from airflow_delta_provider.notifications.delivery import Delivery
from airflow_delta_provider.operators.arguments import OnUndetermined, OnViolation, Text, is_literal
from airflow_delta_provider.operators.lineage import operator_lineage
from airflow_delta_provider.operators.metrics import count_findings, gauge_tables
from airflow_delta_provider.report_store import KeptReport, ReportStore, check_report_path
from airflow_delta_provider.version_compat import team_of


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


def raise_for_verdict(
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
        raise AirflowSkipException(f"Skipped, as on_violation says.\n{render_log(report, place)}")
    if violated or withheld or (undetermined and on_undetermined == "warn"):
        log.warning("%s", render_log(report, place))
    else:
        log.info("%s", render_log(report, place))


#: Most characters of the error that is recorded if a report could not be kept.
_MAX_ERROR = 500


class KeepsReport:
    """Mixin for operators and sensors: keeps the report of a job, links to it, and pushes it to XCom."""

    operator_extra_links: Collection[BaseOperatorLink] = (DeltaReportLink(), DeltaPageLink(), DeltaTablesLink())
    ui_color = "#d8ecff"

    if TYPE_CHECKING:
        outlets: Any
        do_xcom_push: bool
        log: logging.Logger
        render_template: Any

        @property
        def output(self) -> Any:
            """An ``XComArg``, typed as Any: Airflow's type is not accepted by typed tasks, and has no index by key."""

    #: Folder for whole reports: a path or a URI; None for that of the configuration.
    report_path: Any = None
    #: The report of the run in this process, for its link and its callbacks.
    kept_report: KeptReport | None = None

    def report_store(self, context: Context) -> ReportStore:
        """Return the store for reports of a task instance; it is the same in every process.

        :raises DeltaRequestError: if ``report_path`` does not name a folder
        """
        rendered = self.render_template(self.report_path, context) if self.report_path else None
        return _report_store(rendered, context)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:  # noqa: ARG002 the report has it all
        """Return the tables as datasets for OpenLineage's provider; None if this process ran no job."""
        if self.kept_report is not None:
            with logged(self.log, "The lineage of the tables could not be reported"):
                return operator_lineage(self.kept_report.report)
        return None

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        """Return the same as on success: a task that fails on a violation has also read its tables."""
        return self.get_openlineage_facets_on_complete(task_instance)

    def _keep(self, context: Context, report: JobReport) -> ReportPlace:
        """Keep the whole report. Return its place, which holds the error if that failed."""
        try:
            place = _report_store(self.report_path, context).keep(report)
        except Exception as error:
            self.log.exception("The report could not be kept")
            place = ReportPlace(None, f"{type(error).__name__}: {error}"[:_MAX_ERROR])
        self.kept_report = KeptReport(report, place)
        return place

    def _publish(self, context: Context, report: JobReport) -> None:
        """Keep a report, push it, and measure its tables, whatever the task makes of it."""
        place = self._keep(context, report)
        with logged(self.log, "The report could not be pushed"):
            if self.do_xcom_push:
                for key, value in _report_xcoms(report, place, planned=False).items():
                    context["ti"].xcom_push(key=key, value=value)
        with logged(self.log, "The tables could not be measured"):
            count_findings(report)
            gauge_tables(report, context["ti"])


class Reporting(KeepsReport):
    """Mixin for operators: keeps a report, pushes its XComs, sends its alerts, and applies the policies to it."""

    def _databricks_host(self) -> str | None:
        """Return the workspace whose Unity Catalog has the tables with names of three parts; None if there is none."""
        return None

    def _report_with(
        self, on_violation: OnViolation, on_undetermined: OnUndetermined, report_path: Text | None
    ) -> None:
        """Set the arguments that control how a report is evaluated and kept.

        :raises DeltaRequestError: if one is wrong
        """
        check_policy(on_violation, on_undetermined)
        if report_path is not None and is_literal(report_path):
            check_report_path(report_path)
        self.on_violation: OnViolation = on_violation
        self.on_undetermined: OnUndetermined = on_undetermined
        self.report_path = report_path
        self._received: Receipts = {}

    def _conclude(self, context: Context, report: JobReport, new: JobReport | None) -> dict[str, Any]:
        """Push a report and apply the policies to it. Return the summary.

        If a step fails, the other steps still run and the report is evaluated and logged. Then the task fails with the
        step's error.

        :param new: report of this try alone; the findings of earlier tries are already counted
        """
        for warning in report.warnings:
            self.log.warning("%s", shown_lines(warning))
        place = self._keep(context, report)
        pushes = DeferredErrors(self.log)
        summary: dict[str, Any] = {}
        with pushes.step("XCom"):
            summary = self._push(context, self._xcoms(report, place))
        if new:
            with logged(self.log, "The findings could not be counted"):
                count_findings(new)
        with logged(self.log, "The state of the tables could not be measured"):
            gauge_tables(report, context["ti"])
        with pushes.step("asset events"):
            add_asset_events(context, self.outlets, report, self.log, self._databricks_host())
        delivery = Delivery(context, report, self._received)
        outcome: Exception | None = None
        try:
            raise_for_verdict(report, self.on_violation, self.on_undetermined, self.log, place)
        except Exception as error:
            outcome = error
        outcome = outcome or pushes.failure
        with logged(self.log, "The receipt of the report could not be saved; its findings may be sent again"):
            delivery.pushed(self, outcome)
        if outcome is not None:
            raise outcome
        return summary

    def _push(self, context: Context, xcoms: dict[str, Any]) -> dict[str, Any]:
        """Push the report's XComs before the policies are applied, so a failed task has them as well.

        Return the summary.

        :param xcoms: values by key
        """
        if self.do_xcom_push:
            for key, value in xcoms.items():
                context["ti"].xcom_push(key=key, value=value)
        summary: dict[str, Any] = xcoms[XCOM_RETURN_KEY]
        return summary

    def _xcoms(self, report: JobReport, place: ReportPlace) -> dict[str, Any]:
        planned = self._plans_only()
        return {
            **_report_xcoms(report, place, planned=planned),
            XCOM_RETURN_KEY: summarise(report, place, dry_run=planned),
        }

    def _plans_only(self) -> bool:
        """Return True if the job plans and changes nothing."""
        return False


def _report_xcoms(report: JobReport, place: ReportPlace, *, planned: bool) -> dict[str, Any]:
    """Return the XComs of a report by key, except the task's own value."""
    return {
        "findings": findings_of(report, place),
        REPORT_KEY: Excerpt.of(report, place, dry_run=planned).to_json(),
        TABLES_KEY: TableRows.of(report).to_json(),
    }


@contextmanager
def logged(log: logging.Logger, message: str) -> Iterator[None]:
    """Log the error of a step on which nothing else depends."""
    try:
        yield
    except Exception:
        log.exception(message)


class DeferredErrors:
    """Runs later steps even if an earlier one failed."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self.failure: Exception | None = None
        """The error of the first step that failed."""

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Keep the error of a step for later.

        :param what: name of the step, for the log
        """
        try:
            yield
        except Exception as error:
            self._log.exception("%s failed. The report is judged first, then the task fails with this error", what)
            self.failure = self.failure or error


def _report_store(report_path: str | None, context: Context) -> ReportStore:
    if report_path:
        return ReportStore((check_report_path(report_path),), context["ti"])
    return ReportStore(report_folders(team_of(context)), context["ti"])


#: Most codes in the extra of an event.
MAX_CODES = 20


def add_asset_events(
    context: Context,
    outlets: Iterable[Any],
    report: JobReport,
    log: logging.Logger,
    databricks_host: str | None = None,
) -> None:
    """Add an event to every ``AssetAlias`` in ``outlets`` for each table that was violated, resolved or changed.

    Airflow emits the events if the task succeeds, and drops them if it fails.

    :param databricks_host: workspace whose Unity Catalog has the tables with names of three parts; None without one
    """
    aliases = [outlet for outlet in outlets if isinstance(outlet, AssetAlias)]
    if not aliases:
        return
    for table in filter(_is_news, report.tables):
        try:
            asset = table_asset(table.table, databricks_host=databricks_host)
        except (TableNameError, ValueError) as error:
            log.warning("No asset event for %s: %s", visible(table.table), visible(str(error)))
            continue
        for alias in aliases:
            context["outlet_events"][alias].add(asset, extra=extra_of(report.kind, table))


def extra_of(kind: str, table: TableReport) -> dict[str, Any]:
    """Return the extra of an event: bounded in size, and only JSON."""
    standing = [finding for finding in table.findings if finding.is_open]
    return {
        "kind": kind,
        "verdict": table.verdict.value,
        "version": table.version,
        "changed": table.changed,
        "codes": _codes(standing),
        "resolved": _codes(filter(_is_resolved, table.findings)),
    }


def _is_news(table: TableReport) -> bool:
    return table.changed or table.verdict is Verdict.VIOLATED or any(map(_is_resolved, table.findings))


def _is_resolved(finding: Finding) -> bool:
    return finding.status is Status.RESOLVED


def _codes(findings: Iterable[Finding]) -> list[str]:
    """Return the codes, the most frequent first."""
    return [code for code, _ in Counter(finding.code for finding in findings).most_common(MAX_CODES)]
