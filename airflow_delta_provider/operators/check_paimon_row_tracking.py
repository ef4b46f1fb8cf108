"""Operator that checks row tracking of Apache Paimon tables."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.engine.spark_library import PROVIDED
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.operators.arguments import (
    Flag,
    Names,
    PaimonLevel,
    PaimonSource,
    Text,
    Version,
)
from airflow_delta_provider.operators.delta_task import CheckArguments, DeltaCheckOperator


class PaimonCheckRowTrackingOperator(DeltaCheckOperator):
    """Check that ``_ROW_ID`` and ``_SEQUENCE_NUMBER`` of Apache Paimon tables can be relied upon.

    Changes nothing, and needs no jars of Paimon, and of Delta only for ``findings_table``: it reads a table's files on
    any store that Spark can read. A table that breaks a rule is VIOLATED. The finding names the commit that broke the
    rule, with its kind, operation and user. ``version`` of a report and of a finding is the id of a snapshot.

    - ``"metadata"``: options and schemas, snapshots, manifests and their entries for data files, for every snapshot
      that is kept. Data files are not read.
    - ``"data"``: also ids and sequence numbers of the rows.

    UNDETERMINED means that there is nothing to prove, or no way to prove it: rows of the table are not tracked, or its
    metadata has an unknown version. See ``on_undetermined``.

    .. seealso:: Apache Paimon, "Row Tracking"; ``docs/guides/paimon.md``

    :param level: ``"metadata"`` or ``"data"``. (templated)
    :param since_snapshot: snapshot after which commits are checked, such as the one before the snapshot found by
        ``PaimonRowTrackingSensor``. A template that renders to ``None`` leaves this out. (templated)
    :param key_columns: columns whose values identify a row, at level ``"data"``: a key must keep its row id.
        (templated)
    :param source: ``"native"`` reads files, ``"catalog"`` queries the table's Paimon catalog in Spark; ``"auto"`` uses
        the first for paths and the second for names. (templated)
    :param state_path: directory for incremental state, one file per table: the next check starts after the last
        snapshot that passed. After a rollback, new snapshots reuse ids, so the check starts over. (templated)
    :param fail_on_reassigned: True to report an error, not a warning, if Paimon itself gave unchanged rows new ids.
        Sort compaction and clustering do so. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaCheckOperator`.
    """

    options_type = PaimonCheckRowTrackingOptions

    def __init__(
        self,
        *,
        level: PaimonLevel = "metadata",
        since_snapshot: Version = None,
        key_columns: Names | None = None,
        source: PaimonSource = "auto",
        state_path: Text | None = None,
        fail_on_reassigned: Flag = False,
        **kwargs: Unpack[CheckArguments],
    ) -> None:
        if kwargs.get("findings_table") is None:
            kwargs.setdefault("delta_jars", PROVIDED)
        super().__init__(**kwargs)
        self.level = level
        self.since_snapshot = since_snapshot
        self.key_columns = key_columns
        self.source = source
        self.state_path = state_path
        self.fail_on_reassigned = fail_on_reassigned
        self.check_literals()
