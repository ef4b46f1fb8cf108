"""Creating tables with usage tracking of column mapping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

from airflow_delta_provider.domain.request.create_table import CreateTableOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Flag, Names, Types
from airflow_delta_provider.operators.delta_change import DeltaChangeOperator
from airflow_delta_provider.operators.rendered import as_flag, as_list, as_mapping


class DeltaCreateTableOperator(DeltaChangeOperator):
    """
    Create an empty Delta table with ``columnMappingUsageTracking`` and column mapping by name.

    Experimental: no engine implements the RFC yet, so that none can write to the table; all others are
    created with SQL. A second run changes nothing; a table with other columns at that place is refused.

    .. seealso:: RFC "Column Mapping Usage Tracking" of delta-io/delta

    :param columns: SQL type by name, in their order, for instance ``{"id": "bigint", "tags": "array<string>"}``;
        all are nullable. (templated)
    :param partition_by: names of those that the table is partitioned by. (templated)
    :param acknowledge_writer_lockout: say that it is meant that no engine can write to the table. (templated)
    :param allow_unsafe_log_store: say that no other process writes to the table meanwhile, where Delta's
        log store does not keep writers apart, as on S3 by default. (templated)

    ``table`` is a path or a URI: the table gets a catalog name by ``CREATE TABLE … USING delta LOCATION``.

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_change.DeltaChangeOperator`.
    """

    kind: ClassVar[str] = CreateTableOptions.kind
    template_fields: Sequence[str] = (
        *DeltaChangeOperator.template_fields,
        "columns",
        "partition_by",
        "acknowledge_writer_lockout",
        "allow_unsafe_log_store",
    )

    def __init__(
        self,
        *,
        columns: Types,
        partition_by: Names | None = None,
        acknowledge_writer_lockout: Flag = False,
        allow_unsafe_log_store: Flag = False,
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.columns = columns
        self.partition_by = partition_by
        self.acknowledge_writer_lockout = acknowledge_writer_lockout
        self.allow_unsafe_log_store = allow_unsafe_log_store
        self.check_literals(columns, partition_by, acknowledge_writer_lockout, allow_unsafe_log_store)

    def options(self) -> CreateTableOptions:
        """Return the options, from the rendered arguments."""
        return CreateTableOptions(
            columns=as_mapping("columns", self.columns),
            partition_by=tuple(as_list("partition_by", self.partition_by or ())),
            acknowledge_writer_lockout=as_flag("acknowledge_writer_lockout", self.acknowledge_writer_lockout),
            allow_unsafe_log_store=as_flag("allow_unsafe_log_store", self.allow_unsafe_log_store),
        )
