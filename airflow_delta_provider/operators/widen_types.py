"""Operator that widens column types."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Flag, Names, Types, VerifyValues
from airflow_delta_provider.operators.delta_task import DeltaChangeOperator


class DeltaWidenTypesOperator(DeltaChangeOperator):
    """Widen the types of columns of Delta tables, without rewriting data.

    Everything is checked before anything is changed. All columns change in one commit if the engine supports that
    (Spark 4.2). Afterwards the log is read again, to verify that each change is recorded, no earlier record is lost,
    and the columns still have the same values.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Type Widening"

    :param columns: new SQL type by column path, for instance
        ``{"quantity": "bigint", "lines.element.price": "decimal(12,2)", "attrs.key": "int"}``. (templated)
    :param enable_type_widening: True to set ``delta.enableTypeWidening`` first if it is off. (templated)
    :param allow_protocol_upgrade: permission to add the required table features to the protocol first, in a commit of
        their own. (templated)
    :param verify: ``"data"`` reads the widened columns before and after and compares them; ``"log"`` reads only the
        log. (templated)
    :param fleet: engines that read and write the tables, and which of them must keep their access: a mapping, or the
        path of a YAML file relative to the DAG's file. The path, as written in the DAG, must end in ``.yaml`` or
        ``.yml``. A change that locks out one of these engines is refused. (templated)
    :param accept_unknown: engines of the fleet that do not block a change although no source says whether they support
        the result. Any other such engine makes the table UNDETERMINED: it is not changed, and the task fails.
        (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaChangeOperator`.
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
