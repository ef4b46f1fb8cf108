"""Operator that applies migrations: as they were approved, or as planned now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, cast

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.domain.migrations.plan import ApprovedPlan
from airflow_delta_provider.domain.report.report import JobReport, TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.approve_migration import approver, check_not_rejected, to_approve
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Names, Specs
from airflow_delta_provider.operators.delta_task import DeltaChangeOperator


class DeltaApplyMigrationOperator(DeltaChangeOperator):
    """Apply a spec or an approved plan to Delta tables.

    A plan is carried out exactly as it was approved. It is refused if it was edited, if another writer changed protocol
    or metadata since, or if the table needs other steps now. A spec is planned now. Steps that are already done are
    left out, so a run after a failure continues, and a second run changes nothing. Consecutive metadata changes are one
    commit, checked by every rule of the audit before it is written.

    :param plan: approved plans: the XCom ``plans`` of
        :class:`~airflow_delta_provider.operators.plan_migration.DeltaPlanMigrationOperator`, or one of these plans.
        (templated)
    :param spec: declared state of tables, instead of a plan, as for ``DeltaPlanMigrationOperator``. (templated)
    :param approval: the value pushed by
        :class:`~airflow_delta_provider.operators.approve_migration.DeltaApproveMigrationOperator`. With it, the plans
        are applied only if somebody approved exactly these plans, or no approval is needed; each commit records the
        approver. The job decides from ``policy`` and the current table whether approval is needed, whatever the plan
        says. After a rejection the task is skipped. No job is submitted for plans without steps. (templated)
    :param approvers: ids of the users who may approve; empty for all. Only with ``approval``
    :param approved_by: the person who approved the plan, for the ``userMetadata`` of each commit. (templated)
    :param policy: same as for ``DeltaPlanMigrationOperator``. (templated)
    :param fleet: same as for ``DeltaPlanMigrationOperator``. A change that locks out an engine that must keep its
        access is refused. (templated)
    :param accept_unknown: engines of the fleet that do not block a change although no source says whether they support
        the result. Any other such engine makes the table UNDETERMINED: it is not changed, and the task fails.
        (templated)
    :param allow_protocol_upgrade: permission to add table features that lock out older readers and writers. (templated)
    :param allow_rewrite: permission for steps that rewrite data files. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaChangeOperator`.
    """

    options_type = ApplyMigrationOptions
    template_fields: Sequence[str] = (
        *DeltaChangeOperator.template_fields,
        *ApplyMigrationOptions.templated(),
        "approval",
    )

    def __init__(
        self,
        *,
        plan: Mapping[str, Any] | Sequence[Any] | str | None = None,
        spec: Specs | None = None,
        approval: Any = None,
        approvers: Collection[str] = (),
        approved_by: str | None = None,
        policy: Document = None,
        fleet: Document = None,
        accept_unknown: Names = (),
        allow_protocol_upgrade: bool | str = False,
        allow_rewrite: bool | str = False,
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.spec = spec
        self.approval = approval
        self.approvers = tuple(approvers)
        self._has_to_be_approved = approval is not None
        self.approved_by = approved_by
        self.policy = policy
        self.fleet = fleet
        self.accept_unknown = accept_unknown
        self.allow_protocol_upgrade = allow_protocol_upgrade
        self.allow_rewrite = allow_rewrite
        self.check_literals()
        if self._has_to_be_approved and plan is None:
            raise DeltaRequestError(f"{self.task_id}: an approval is for a plan, so pass plan.")

    def request(self, context: Context) -> JobRequest:
        """Return the request, built from the rendered arguments, with the approver of the plans.

        :raises AirflowSkipException: if they were rejected
        :raises DeltaNotApprovedError: if they need approval, and are not approved
        :raises DeltaRequestError: if arguments are wrong
        """
        request = super().request(context)
        if not self._has_to_be_approved:
            return request
        check_not_rejected(self.approval)
        options = cast("ApplyMigrationOptions", request.options)
        plans = {plan["table"]: plan for plan in options.plan}
        by = approver(self.approval, plans, self.approvers)
        unasked = tuple(table for table in plans if table not in to_approve(plans))  # the job checks this claim
        return replace(request, options=replace(options, approved_by=by, unasked=unasked))

    def _submit(self, context: Context, request: JobRequest) -> JobReport:
        plans = cast("ApplyMigrationOptions", request.options).plan
        nothing = all(not plan["steps"] and ApprovedPlan.from_json(plan).is_intact for plan in plans)
        if not (self._has_to_be_approved and nothing):
            return super()._submit(context, request)
        self.log.info("Nothing to do: no plan has a step")
        return report_without_job(request.kind, plans)

    def _xcoms(self, report: JobReport, place: Any) -> dict[str, Any]:
        """Return the XComs. ``specs`` is the declared state of the tables, even if the files change later."""
        specs = [{**table.plan["spec"], "table": table.table} for table in report.tables if table.plan]
        return {"specs": specs, **super()._xcoms(report, place)}


def report_without_job(kind: str, plans: Iterable[Mapping[str, Any]]) -> JobReport:
    """Return the report about plans without steps."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    tables = (TableReport.of_findings(plan["table"], version=plan["version"], plan=plan) for plan in plans)
    return JobReport(kind, now, now, tuple(tables), {"spark": None, "delta": None})
