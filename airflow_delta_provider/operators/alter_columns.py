"""Dropping, renaming and adding columns."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Names, Types
from airflow_delta_provider.operators.delta_change import DeltaChangeOperator


class DeltaAlterColumnsOperator(DeltaChangeOperator):
    """Drop, rename and add columns of Delta tables, in this order, without rewriting data.

    Everything is checked before anything is changed. No engine can alter a table whose protocol lists
    ``columnMappingUsageTracking``: the operator writes that commit itself, and keeps the tracking. Other
    tables are changed by SQL, one commit per statement, and a rerun resumes after a failure. A second run
    changes nothing, unless it drops a column and adds it again.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Column Mapping", and its RFC "Column Mapping Usage Tracking"

    :param add: SQL type by column path, for instance ``{"note": "string", "lines.element.tax": "decimal(12,2)"}``.
        A column is added last in its struct, and is nullable. Paths are those after drops and renames. Through a
        template or an XCom, pass a list instead, ``[{"name": "note", "type": "string"}]``. (templated)
    :param rename: new name by column path, for instance ``{"qty": "quantity"}``. (templated)
    :param drop: column paths. (templated)
    :param fleet: the engines that read and write tables, and which of them have to stay able to: a mapping, or the path
        of a YAML file, relative to the DAG's file, written so that it ends in ``.yaml`` or ``.yml``. What locks one
        of these out is refused. (templated)
    :param accept_unknown: engines of the fleet for which tables may be changed although no source says whether they
        support the result. By default such a table is UNDETERMINED, nothing is changed, and the task fails. (templated)

    In a path, put a name that holds a dot between backticks.

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_change.DeltaChangeOperator`.
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
