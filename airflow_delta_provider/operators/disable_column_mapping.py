"""Operator that disables column mapping."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.change_options import DisableColumnMappingOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Flag, Strategy, VerifyMapping
from airflow_delta_provider.operators.delta_task import DeltaChangeOperator


class DeltaDisableColumnMappingOperator(DeltaChangeOperator):
    """Disable the column mapping of Delta tables, without rewriting data if that is proven to be safe.

    It is safe if every column is stored under its own name and no live file holds a dropped column, whose values would
    reappear in the next column of that name. The history proves it if no column was dropped since mapping was first
    enabled; otherwise the footers of all live files can prove it. The proof is repeated on the version that the commit
    follows. One commit changes the metadata and nothing else. Afterwards the schema, the files and the null counts of
    every column are compared. If the proof fails, the table is refused, and the refusal names the remedy.

    These tables are refused: tables in mode ``id``, with Iceberg compatibility or UniForm, with names that are illegal
    without mapping, or managed by a catalog. The protocol keeps ``columnMapping``.

    Afterwards, running streams that read the table fail, and so do readers of its change data feed across this version;
    the plan names the errors. A write that starts before the commit and commits after it fails once.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Column Mapping"; delta-io/delta#2481

    :param strategy: ``"metadata-only"`` never rewrites; ``"rewrite"`` lets the engine rewrite every file; ``"auto"``
        changes only metadata if that is proven to be safe, and otherwise rewrites if that is allowed. (templated)
    :param allow_rewrite: permission to rewrite all data files. Without it, the refusal gives the number of files and
        bytes. (templated)
    :param verify: ``"footers"`` compares the null counts in the footers of all files; ``"full"`` also reads all rows
        before and after. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaChangeOperator`.
    """

    options_type = DisableColumnMappingOptions

    def __init__(
        self,
        *,
        strategy: Strategy = "auto",
        allow_rewrite: Flag = False,
        verify: VerifyMapping = "footers",
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.strategy = strategy
        self.allow_rewrite = allow_rewrite
        self.verify = verify
        self.check_literals()
