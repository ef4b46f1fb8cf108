"""Operator that creates tables with usage tracking of column mapping."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.change_options import CreateTableOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Flag, Names, Types
from airflow_delta_provider.operators.delta_task import DeltaChangeOperator


class DeltaCreateTableOperator(DeltaChangeOperator):
    """Create an empty Delta table with ``columnMappingUsageTracking`` and column mapping by name.

    Experimental: no engine implements the RFC yet, so none can write to the table. Create other tables with SQL. A
    second run changes nothing; an existing table with other columns is refused.

    .. seealso:: RFC "Column Mapping Usage Tracking" of delta-io/delta

    :param columns: SQL type by name, in their order, for instance ``{"id": "bigint", "tags": "array<string>"}``; all
        are nullable. In a template or an XCom, pass a list instead, ``[{"name": "id", "type": "bigint"}]``: databases
        may sort the keys of a mapping. (templated)
    :param partition_by: names of the partition columns. (templated)
    :param acknowledge_writer_lockout: confirmation that no engine will be able to write to the table. (templated)

    ``table`` is a path or a URI. To give the table a catalog name, use ``CREATE TABLE … USING delta LOCATION``.

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaChangeOperator`.
    """

    options_type = CreateTableOptions

    def __init__(
        self,
        *,
        columns: Types,
        partition_by: Names | None = None,
        acknowledge_writer_lockout: Flag = False,
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.columns = columns
        self.partition_by = partition_by
        self.acknowledge_writer_lockout = acknowledge_writer_lockout
        self.check_literals()
