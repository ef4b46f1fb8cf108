"""Operator that checks row tracking."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from airflow_delta_provider.operators.arguments import Level, Names, Version
from airflow_delta_provider.operators.delta_task import CheckArguments, DeltaCheckOperator


class DeltaCheckRowTrackingOperator(DeltaCheckOperator):
    """Check that the row ids of Delta tables are unique, and stable since a version.

    Changes nothing. The only table data that it reads are ``key_columns`` and the row ids that rewritten files keep in
    a column. A table that breaks a rule is VIOLATED, and the finding names the files and ids.

    Each level proves the following about the latest version:

    - ``"log"``: the rules that the log alone can prove. Every live file has its ids, and the ids of freshly written
      rows do not overlap and stay below the high water mark, if the log counts the rows.
    - ``"footers"``: the same, with the row counts in the files' Parquet footers, and with the lowest and highest ids
      that the footers give for ids kept in a column.
    - ``"data"``: no two rows have the same id. Only this level reads ids kept in a column, so only this level proves
      anything about rows that UPDATE, MERGE, DELETE or OPTIMIZE has moved.

    UNDETERMINED means that there was nothing to prove, or no way to prove it: the table has no row tracking, supports
    it but has not enabled it, or has suspended it. Each case has its own code and remedy. So does a file whose rows
    cannot be counted. See ``on_undetermined``.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Row Tracking"

    :param level: ``"log"``, ``"footers"`` or ``"data"``. (templated)
    :param compare_to_version: version since which rows must have kept their ids, up to the latest; needs level
        ``"data"``. A template that renders to ``None`` leaves this out. (templated)
    :param key_columns: columns whose values identify a row: a key must keep its row id from ``compare_to_version`` to
        the latest version. These columns are read. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaCheckOperator`.
    """

    options_type = CheckRowTrackingOptions

    def __init__(
        self,
        *,
        level: Level = "data",
        compare_to_version: Version = None,
        key_columns: Names | None = None,
        **kwargs: Unpack[CheckArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.level = level
        self.compare_to_version = compare_to_version
        self.key_columns = key_columns
        self.check_literals()
