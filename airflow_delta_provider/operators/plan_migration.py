"""Planning migrations."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.request.migration_options import PlanMigrationOptions
from airflow_delta_provider.operators.arguments import Document, Specs
from airflow_delta_provider.operators.delta_read import DeltaReadOperator, ReadArguments


class DeltaPlanMigrationOperator(DeltaReadOperator):
    """Plan what makes Delta tables what is declared of them, and say what is questionable about it.

    Changes nothing, and needs no rows. Pushes the plans as the XCom ``plans``, by table; each has its steps with their
    SQL, a diff, what rules find about it, whom it locks out, and whether somebody has to approve it. A plan
    without steps means that the table is what its spec says.

    :param spec: what tables should be: the path of a YAML or JSON file, or of a folder of them, relative to the DAG's
        file, written so that it ends in ``.yaml``, ``.yml``, ``.json`` or ``/``; or the same as Python values.
        ``docs/guides/declare-tables.md`` has the keys. Without ``table`` and ``tables``, all tables that it names are
        planned. (templated)
    :param policy: what rules about plans weigh, and which plans need no approval: a mapping, or the path of a YAML
        file. (templated)
    :param fleet: the engines that read and write tables, as for
        :class:`~airflow_delta_provider.operators.compatibility_check.DeltaCompatibilityCheckOperator`. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_read.DeltaReadOperator`.
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
