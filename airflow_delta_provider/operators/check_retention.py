"""Operator that checks what clean-ups have deleted, and would delete."""

from __future__ import annotations

from typing import Literal

from airflow.sdk import XComArg
from typing_extensions import Unpack

from airflow_delta_provider.domain.request.check_options import CheckRetentionOptions
from airflow_delta_provider.operators.arguments import Names, Template, Text
from airflow_delta_provider.operators.delta_task import DeltaReadOperator, ReadArguments


class DeltaCheckRetentionOperator(DeltaReadOperator):
    """Report from which version on the history of Delta tables is complete, and what a clean-up would delete.

    Changes nothing and deletes nothing. The report has the first version from which on time travel and the change data
    feed are complete, and the files that a VACUUM would delete, with their number and size. A table is VIOLATED if a
    VACUUM or a log clean-up breaks one of the consumers, or if one is broken already.

    :param level: ``"log"`` reads only the log, which records some VACUUMs but not all; ``"files"`` also lists the
        table's folder, and so knows which files are gone and which the log does not name. (templated)
    :param vacuum_retain: retention of a planned VACUUM, such as ``"168h"`` or ``"7d"``; by default the table's
        ``delta.deletedFileRetentionDuration``. (templated)
    :param log_retain: retention of commits in a planned log clean-up; by default the table's
        ``delta.logRetentionDuration``. (templated)
    :param consumers: checkpoint folders of Structured Streaming queries that read the table. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaReadOperator`.
    """

    options_type = CheckRetentionOptions

    def __init__(
        self,
        *,
        level: Literal["log", "files"] | Template | XComArg = "log",
        vacuum_retain: Text | None = None,
        log_retain: Text | None = None,
        consumers: Names = (),
        **kwargs: Unpack[ReadArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.level = level
        self.vacuum_retain = vacuum_retain
        self.log_retain = log_retain
        self.consumers = consumers
        self.check_literals()
