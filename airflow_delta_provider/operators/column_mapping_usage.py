"""Operator that finds renamed and dropped columns."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.options import ColumnMappingUsageOptions
from airflow_delta_provider.operators.delta_task import DeltaReadOperator, ReadArguments


class DeltaColumnMappingUsageOperator(DeltaReadOperator):
    """Find out if any column of Delta tables was ever renamed or dropped, at any depth.

    Changes nothing, and needs no table feature: the answer is derived from the history of the table, and from the
    footers of its live files if the history is incomplete. The answer is ``usage`` in the table's report, and ``usage``
    of the table in the XCom summary:

    - ``USED``: a commit renamed or dropped a column. The evidence names column, version, engine and operation.
    - ``UNUSED``: every column is stored in data files under its own name, every id belongs to a column, and the
      history, or the footers of all live files, show no other column. A table that never had column mapping is also
      UNUSED.
    - ``UNDETERMINED``: anything else, with the evidence for and against, and the version before which nothing can be
      known. Names that engines made up for columns, and ids that belong to no column, are evidence but no proof. See
      ``on_undetermined``.

    .. seealso:: RFC "Column Mapping Usage Tracking", delta-io/delta#2682

    For the arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaReadOperator`.
    """

    options_type = ColumnMappingUsageOptions

    def __init__(self, **kwargs: Unpack[ReadArguments]) -> None:
        super().__init__(**kwargs)
        self.check_literals()
