"""Operator that drops, renames and adds columns."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Names, Types
from airflow_delta_provider.operators.delta_task import DeltaChangeOperator


class DeltaAlterColumnsOperator(DeltaChangeOperator):
    """Drop, rename and add columns of Delta tables, in this order, without rewriting data.

    Everything is checked before anything is changed. No engine can alter a table whose protocol lists
    ``columnMappingUsageTracking``: the operator writes that commit itself, and keeps the tracking. Other tables are
    changed by SQL, one commit per statement, and a rerun resumes after a failure. A second run changes nothing, unless
    it drops a column and adds it again.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Column Mapping", and its RFC "Column Mapping Usage Tracking"

    :param add: SQL type by column path, for instance ``{"note": "string", "lines.element.tax": "decimal(12,2)"}``. A
        column is added last in its struct, and is nullable. Paths are written as they are after drops and renames. In a
        template or an XCom, pass a list instead, ``[{"name": "note", "type": "string"}]``. (templated)
    :param rename: new name by column path, for instance ``{"qty": "quantity"}``. (templated)
    :param drop: paths of columns to drop. (templated)
    :param fleet: engines that read and write the tables, and which of them must keep their access: a mapping, or the
        path of a YAML file relative to the DAG's file. The path, as written in the DAG, must end in ``.yaml`` or
        ``.yml``. A change that locks out one of these engines is refused. (templated)
    :param accept_unknown: engines of the fleet that do not block a change although no source says whether they support
        the result. Any other such engine makes the table UNDETERMINED: it is not changed, and the task fails.
        (templated)

    In a path, write a name that contains a dot between backticks.

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaChangeOperator`.
    """

    options_type = AlterColumnsOptions

    def __init__(
        self,
        *,
        add: Types | None = None,
        rename: Types | None = None,
        drop: Names | None = None,
        fleet: Document = None,
        accept_unknown: Names = (),
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.add = add
        self.rename = rename
        self.drop = drop
        self.fleet = fleet
        self.accept_unknown = accept_unknown
        self.check_literals()
