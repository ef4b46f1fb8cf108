"""Operator that plans migrations."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.migration_options import PlanMigrationOptions
from airflow_delta_provider.operators.arguments import Document, Specs
from airflow_delta_provider.operators.delta_task import DeltaReadOperator, ReadArguments


class DeltaPlanMigrationOperator(DeltaReadOperator):
    """Plan the changes that bring Delta tables to their declared state, and report doubts about them.

    Changes nothing, and reads no rows. Pushes the plans as the XCom ``plans``, by table. A plan has its steps with
    their SQL, a diff, the findings of the rules, the engines that it locks out, and whether somebody must approve it. A
    plan without steps means that the table matches its spec.

    :param spec: declared state of tables: the path of a YAML or JSON file, or of a folder of them, relative to the
        DAG's file; or the same as Python values. The path, as written in the DAG, must end in ``.yaml``, ``.yml``,
        ``.json`` or ``/``. ``docs/guides/declare-tables.md`` has the keys. Without ``table`` and ``tables``, all tables
        that it names are planned. (templated)
    :param policy: severities of the rules about plans, and the plans that need no approval: a mapping, or the path of a
        YAML file. (templated)
    :param fleet: engines that read and write the tables, as for
        :class:`~airflow_delta_provider.operators.compatibility_check.DeltaCompatibilityCheckOperator`. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaReadOperator`.
    """

    options_type = PlanMigrationOptions

    def __init__(
        self, *, spec: Specs, policy: Document = None, fleet: Document = None, **kwargs: Unpack[ReadArguments]
    ) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.policy = policy
        self.fleet = fleet
        self.check_literals()

    def _xcoms(self, report: JobReport, place: Any) -> dict[str, Any]:
        plans = {table.table: table.plan for table in report.tables if table.plan is not None}
        return {"plans": plans, **super()._xcoms(report, place)}
