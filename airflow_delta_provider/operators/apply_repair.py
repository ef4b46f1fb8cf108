"""Operator that applies planned repairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyRepairOptions
from airflow_delta_provider.operators.apply_migration import report_without_job
from airflow_delta_provider.operators.approve_migration import approver, check_not_rejected
from airflow_delta_provider.operators.arguments import ChangeArguments
from airflow_delta_provider.operators.delta_task import DeltaChangeOperator


class DeltaApplyRepairOperator(DeltaChangeOperator):
    """Apply planned repairs of Delta tables, and audit the tables again.

    A plan is carried out as it was made or not at all: it is made and proved again on the version that the commit
    follows. Files of the log are moved to ``_delta_repair`` in the table's folder, after their copies were compared.

    :param plan: plans of :class:`~airflow_delta_provider.operators.plan_repair.DeltaPlanRepairOperator`: its XCom
        ``plans``, a plan, a list of plans, or the path of a report. (templated)
    :param approval: the answer of
        :class:`~airflow_delta_provider.operators.approve_migration.DeltaApproveMigrationOperator`. If it is passed,
        the plan must be the approved one. (templated)
    :param approvers: ids of the people who may approve; default: everybody who could answer
    :param allow_protocol_upgrade: permission for changes of the protocol that lock out older engines. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaChangeOperator`.
    """

    options_type = ApplyRepairOptions
    template_fields: Sequence[str] = (
        *DeltaChangeOperator.template_fields,
        *ApplyRepairOptions.templated(),
        "approval",
    )

    def __init__(
        self,
        *,
        plan: Mapping[str, Any] | Sequence[Any] | str | None = None,
        approval: Any = None,
        approvers: Collection[str] = (),
        allow_protocol_upgrade: bool | str = False,
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.approval = approval
        self.approvers = tuple(approvers)
        self._has_to_be_approved = approval is not None
        self.allow_protocol_upgrade = allow_protocol_upgrade
        self.check_literals()

    def request(self, context: Context) -> JobRequest:
        """Return the request, built from the rendered arguments.

        :raises AirflowSkipException: if the plans were rejected
        :raises DeltaNotApprovedError: if they are not approved
        :raises DeltaRequestError: if arguments are wrong
        """
        request = super().request(context)
        if self._has_to_be_approved:
            check_not_rejected(self.approval)
            plans = {plan["table"]: plan for plan in cast("ApplyRepairOptions", request.options).plan}
            approver(self.approval, plans, self.approvers)
        return request

    def _submit(self, context: Context, request: JobRequest) -> JobReport:
        plans = cast("ApplyRepairOptions", request.options).plan
        if any(plan["steps"] for plan in plans):
            return super()._submit(context, request)
        self.log.info("Nothing to do: no plan has a step")
        return report_without_job(request.kind, plans)
