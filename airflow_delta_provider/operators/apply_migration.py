"""Applying migrations: as they were approved, or as they are planned now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, cast

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.domain.migrations.approved_plan import ApprovedPlan
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.approval import approver, check_not_rejected, to_approve
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Names, Specs
from airflow_delta_provider.operators.delta_change import DeltaChangeOperator


class DeltaApplyMigrationOperator(DeltaChangeOperator):
    """Make Delta tables what is declared of them.

    Given a plan, it is carried out as it was approved, or refused: if it was edited, if another writer changed
    protocol or metadata since, or if the table needs other steps now. Given a spec, the plan is made now. What is done
    already is left out, so a run after a failure continues, and a second run changes nothing. Changes of metadata that
    follow each other are one commit, checked by every rule of the audit before it is written.

    :param plan: approved plans: what
        :class:`~airflow_delta_provider.operators.plan_migration.DeltaPlanMigrationOperator` pushed as the XCom
        ``plans``, or one of them. (templated)
    :param spec: what tables should be, instead of a plan, as for ``DeltaPlanMigrationOperator``. (templated)
    :param approval: what
        :class:`~airflow_delta_provider.operators.approve_migration.DeltaApproveMigrationOperator` pushed. Given that,
        the plans are applied only if somebody approved these plans, or nobody has to; who did goes into each commit.
        The job decides by ``policy`` and the table as it is now whether somebody has to, whatever the plan says.
        After a rejection the task is skipped. No job is submitted for plans without steps. (templated)
    :param approvers: ids of the users who may have approved; empty for all. Only with ``approval``
    :param approved_by: who approved the plan; goes into the ``userMetadata`` of each commit. (templated)
    :param policy: as for ``DeltaPlanMigrationOperator``. (templated)
    :param fleet: as for ``DeltaPlanMigrationOperator``. What locks out an engine that has to stay able to use the table
        is refused. (templated)
    :param accept_unknown: engines of the fleet for which tables may be changed although no source says whether they
        support the result. By default such a table is UNDETERMINED, nothing is changed, and the task fails. (templated)
    :param allow_protocol_upgrade: allow table features that lock out older readers and writers. (templated)
    :param allow_rewrite: allow steps that rewrite data files. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_change.DeltaChangeOperator`.
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
            raise DeltaRequestError(f"{self.task_id}: approval is of plans, so pass plan.")

    def request(self, context: Context) -> JobRequest:
        """Return the request of the rendered arguments, with who approved the plans.

        :raises AirflowSkipException: if they were rejected
        :raises DeltaNotApprovedError: if they have to be approved, and are not
        :raises DeltaRequestError: if arguments are wrong
        """
        request = super().request(context)
        if not self._has_to_be_approved:
            return request
        check_not_rejected(self.approval)
        options = cast("ApplyMigrationOptions", request.options)
        plans = {plan["table"]: plan for plan in options.plan}
        by = approver(self.approval, plans, self.approvers)
        unasked = tuple(table for table in plans if table not in to_approve(plans))  # which the job does not believe
        return replace(request, options=replace(options, approved_by=by, unasked=unasked))

    def _submit(self, context: Context, request: JobRequest) -> JobReport:
        plans = cast("ApplyMigrationOptions", request.options).plan
        nothing = all(not plan["steps"] and ApprovedPlan.from_json(plan).is_intact for plan in plans)
        if not (self._has_to_be_approved and nothing):
            return super()._submit(context, request)
        self.log.info("Nothing to do: no plan has a step")
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        tables = (TableReport.judged(plan["table"], version=plan["version"], plan=plan) for plan in plans)
        return JobReport(request.kind, now, now, tuple(tables), {"spark": None, "delta": None})

    def _xcoms(self, report: JobReport, place: Any) -> dict[str, Any]:
        """Return what is pushed; ``specs`` is what tables now should be, whatever becomes of the files."""
        specs = [{**table.plan["spec"], "table": table.table} for table in report.tables if table.plan]
        return {"specs": specs, **super()._xcoms(report, place)}
