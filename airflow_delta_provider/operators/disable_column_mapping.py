"""Leaving column mapping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from airflow_delta_provider.domain.request.disable_column_mapping import DisableColumnMappingOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Flag, Strategy, VerifyMapping
from airflow_delta_provider.operators.delta_change import DeltaChangeOperator


class DeltaDisableColumnMappingOperator(DeltaChangeOperator):
    """
    Take the column mapping of Delta tables away, without rewriting data where that is proven to be safe.

    Safe it is where every column lies in data files under its own name, and no column that was ever
    dropped can lie in a live file: its values would come back in the next column of that name. The
    history proves it where no column was dropped since mapping was first enabled; else the footers of
    all live files do. The proof is made again on the version that the commit follows; one commit
    changes the metadata and nothing else. Afterwards schema, files and the nulls of every column are
    compared. Whatever the proof lacks is a refusal that says what to do.

    Tables in mode ``id``, with Iceberg compatibility or UniForm, with names that are illegal without
    mapping, or managed by a catalog are refused. The protocol keeps ``columnMapping``.

    Afterwards running streams that read the table, and readers of its change data feed across this
    version, fail: the plan names the errors. A write that began before and commits after fails once.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Column Mapping"; delta-io/delta#2481

    :param strategy: ``"metadata-only"`` never rewrites; ``"rewrite"`` lets the engine rewrite every
        file; ``"auto"`` does the first where it is proven to be safe, else, if that is allowed, the
        second. (templated)
    :param allow_rewrite: allow that every data file is rewritten. Without, the refusal says how many
        files and bytes that is. (templated)
    :param verify: ``"footers"`` compares what the footers of all files say of nulls; ``"full"`` also
        reads all rows before and after. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_change.DeltaChangeOperator`.
    """

    options_type = DisableColumnMappingOptions
    template_fields: Sequence[str] = (*DeltaChangeOperator.template_fields, *DisableColumnMappingOptions.templated())

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
