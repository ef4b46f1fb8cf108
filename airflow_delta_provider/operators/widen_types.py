"""Widening column types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Flag, Types, VerifyValues
from airflow_delta_provider.operators.delta_change import DeltaChangeOperator
from airflow_delta_provider.operators.rendered import as_flag, as_mapping


class DeltaWidenTypesOperator(DeltaChangeOperator):
    """
    Widen the types of columns of Delta tables, without rewriting data.

    Everything is checked before anything is touched. All columns change in one commit where the
    engine can (Spark 4.2). Afterwards the log is read again: each change is recorded, no earlier
    record is lost, and the columns read the same values as before.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Type Widening"

    :param columns: new SQL type by column path, for instance
        ``{"quantity": "bigint", "lines.element.price": "decimal(12,2)", "attrs.key": "int"}``. (templated)
    :param enable_type_widening: set ``delta.enableTypeWidening`` first where it is off. (templated)
    :param allow_protocol_upgrade: allow the table features that this needs to be added to the
        protocol, in a commit of their own before. (templated)
    :param verify: ``"data"`` reads the widened columns before and after and compares them, ``"log"``
        reads the log only. (templated)
    :param allow_unsafe_log_store: say that no other process writes to the table meanwhile, where Delta's
        log store does not keep writers apart, as on S3 by default. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_change.DeltaChangeOperator`.
    """

    kind: ClassVar[str] = WidenTypesOptions.kind
    template_fields: Sequence[str] = (
        *DeltaChangeOperator.template_fields,
        "columns",
        "enable_type_widening",
        "allow_protocol_upgrade",
        "verify",
        "allow_unsafe_log_store",
    )

    def __init__(
        self,
        *,
        columns: Types,
        enable_type_widening: Flag = False,
        allow_protocol_upgrade: Flag = False,
        verify: VerifyValues = "data",
        allow_unsafe_log_store: Flag = False,
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.columns = columns
        self.enable_type_widening = enable_type_widening
        self.allow_protocol_upgrade = allow_protocol_upgrade
        self.verify = verify
        self.allow_unsafe_log_store = allow_unsafe_log_store
        self.check_literals(columns, enable_type_widening, allow_protocol_upgrade, verify, allow_unsafe_log_store)

    def options(self) -> WidenTypesOptions:
        """Return the options, from the rendered arguments."""
        return WidenTypesOptions(
            columns=as_mapping("columns", self.columns),
            enable_type_widening=as_flag("enable_type_widening", self.enable_type_widening),
            allow_protocol_upgrade=as_flag("allow_protocol_upgrade", self.allow_protocol_upgrade),
            verify=self.verify,
            allow_unsafe_log_store=as_flag("allow_unsafe_log_store", self.allow_unsafe_log_store),
        )
