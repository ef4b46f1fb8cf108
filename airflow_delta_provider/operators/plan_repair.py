"""Operator that plans repairs."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.migration_options import PlanRepairOptions
from airflow_delta_provider.operators.arguments import Names, RepairLevel
from airflow_delta_provider.operators.delta_task import DeltaReadOperator, ReadArguments


class DeltaPlanRepairOperator(DeltaReadOperator):
    """Plan the repair of damaged Delta tables, and prove each plan by an audit of its result.

    Changes nothing. Pushes the plans as the XCom ``plans``, by table. A plan has its steps with the findings that they
    fix, the information that they lose, and the findings that stay open, each with the reason. The task fails if there
    are errors and nothing can be repaired.

    :param level: level of the audits that find the damage and prove the plan: ``"footers"`` or ``"log"``.
        (templated)
    :param permit: fingerprints of findings whose repair may lose information; a plan names them. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaReadOperator`.
    """

    options_type = PlanRepairOptions

    def __init__(self, *, level: RepairLevel = "footers", permit: Names = (), **kwargs: Unpack[ReadArguments]) -> None:
        super().__init__(**kwargs)
        self.level = level
        self.permit = permit
        self.check_literals()

    def _xcoms(self, report: JobReport, place: Any) -> dict[str, Any]:
        plans = {table.table: table.plan for table in report.tables if table.plan is not None}
        return {"plans": plans, **super()._xcoms(report, place)}
