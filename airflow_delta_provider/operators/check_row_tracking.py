"""Checking row tracking."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.check_row_tracking import CheckRowTrackingOptions
from airflow_delta_provider.operators.arguments import Level, Names, Version
from airflow_delta_provider.operators.delta_read import DeltaReadOperator, ReadArguments


class DeltaCheckRowTrackingOperator(DeltaReadOperator):
    """Check that the row ids of Delta tables are unique, and stable since a version.

    Changes nothing, and reads no table data but the columns in which rewritten files keep their row
    ids. A table that breaks a rule is VIOLATED, and the finding says which files and ids.

    What each level proves of the latest version:

    - ``"log"``: what the log alone shows. Every live file has its ids, the ids of freshly written
      rows do not overlap and stay below the high water mark, as far as the log counts the rows.
    - ``"footers"``: the same on the row counts that the Parquet footers of the files have, and the
      lowest and highest id that they give for ids kept in a column.
    - ``"data"``: that no two rows have the same id. Only this level reads ids kept in a column, so
      only this one proves anything of rows that UPDATE, MERGE, DELETE or OPTIMIZE has moved.

    UNDETERMINED means that there was nothing to prove, or no way to: the table has no row tracking,
    supports it but has not enabled it, or has suspended it. Each has its own code and remedy, as
    has a file whose rows cannot be counted. See ``on_undetermined``.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Row Tracking"

    :param level: ``"log"``, ``"footers"`` or ``"data"``. (templated)
    :param compare_to_version: also check that rows kept their ids from this version to the latest;
        needs level ``"data"``. A template that renders to ``None`` leaves this out. (templated)
    :param key_columns: columns whose values name a row: a key keeps its row id from
        ``compare_to_version`` to the latest version. These columns are read. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_read.DeltaReadOperator`.
    """

    options_type = CheckRowTrackingOptions

    def __init__(
        self,
        *,
        level: Level = "data",
        compare_to_version: Version = None,
        key_columns: Names | None = None,
        **kwargs: Unpack[ReadArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.level = level
        self.compare_to_version = compare_to_version
        self.key_columns = key_columns
        self.check_literals()
