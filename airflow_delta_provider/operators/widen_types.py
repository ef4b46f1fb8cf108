"""Widening column types."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Flag, Names, Types, VerifyValues
from airflow_delta_provider.operators.delta_change import DeltaChangeOperator


class DeltaWidenTypesOperator(DeltaChangeOperator):
    """Widen the types of columns of Delta tables, without rewriting data.

    Everything is checked before anything is changed. All columns change in one commit where the
    engine can (Spark 4.2). Afterwards the log is read again: each change is recorded, no earlier
    record is lost, and the columns read the same values as before.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Type Widening"

    :param columns: new SQL type by column path, for instance
        ``{"quantity": "bigint", "lines.element.price": "decimal(12,2)", "attrs.key": "int"}``. (templated)
    :param enable_type_widening: set ``delta.enableTypeWidening`` first where it is off. (templated)
    :param allow_protocol_upgrade: allow the table features that this needs to be added to the
        protocol first, in a commit of their own. (templated)
    :param verify: ``"data"`` reads the widened columns before and after and compares them, ``"log"``
        reads the log only. (templated)
    :param fleet: the engines that read and write tables, and which of them have to stay able to: a mapping, or the path
        of a YAML file, relative to the DAG's file, written so that it ends in ``.yaml`` or ``.yml``. What locks one
        of these out is refused. (templated)
    :param accept_unknown: engines of the fleet for which tables may be changed although no source says whether they
        support the result. By default such a table is UNDETERMINED, nothing is changed, and the task fails. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_change.DeltaChangeOperator`.
    """

    options_type = WidenTypesOptions

    def __init__(
        self,
        *,
        columns: Types,
        enable_type_widening: Flag = False,
        allow_protocol_upgrade: Flag = False,
        verify: VerifyValues = "data",
        fleet: Document = None,
        accept_unknown: Names = (),
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.columns = columns
        self.enable_type_widening = enable_type_widening
        self.allow_protocol_upgrade = allow_protocol_upgrade
        self.verify = verify
        self.fleet = fleet
        self.accept_unknown = accept_unknown
        self.check_literals()
