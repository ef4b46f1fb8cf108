"""Operator that shows the metadata of tables."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.report.report import JobReport, ReportPlace
from airflow_delta_provider.domain.report.summary import details_of
from airflow_delta_provider.domain.request.options import DetailOptions
from airflow_delta_provider.operators.delta_task import DeltaReadOperator, ReadArguments


class DeltaTableDetailOperator(DeltaReadOperator):
    """Show the metadata of Delta tables for other tasks to branch on: one small job for any number of tables.

    Changes nothing, and reads the log itself, so tables that an engine refuses to open have a detail as well. The
    directory of a catalog-managed table may lack the newest commits: such a table is UNDETERMINED, with the detail as
    found in the directory.

    The XCom ``details`` holds, under ``tables``, a mapping from each table to its detail: ``location`` (also for a
    catalog name), ``id``, ``name``, ``description``, ``format``, ``columns`` (SQL types by name), ``schema``,
    ``data_schema`` (without partition columns), ``partition_columns``, ``configuration``, ``created_time``,
    ``column_mapping_mode``, ``protocol``, ``features`` (``enabled``, ``supported`` or ``suspended`` by name; one that
    is missing is absent), ``last_commit`` and ``version``. If the details exceed 48 KiB, ``truncated`` is true and
    parts are left out: first all schemas, which are then None, next all columns, and finally whole tables;
    ``report_path`` is the file that has everything. ``docs/reference/report.md`` has every key.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Change Metadata"

    :param tables: many tables, processed in one job, instead of ``table``; a path may be a pattern
        (``"s3a://lake/sales/*"``), and ``"sales.*"`` matches a catalog schema. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaReadOperator`.
    """

    options_type = DetailOptions

    def __init__(self, **kwargs: Unpack[ReadArguments]) -> None:
        super().__init__(**kwargs)
        self.check_literals()

    def _xcoms(self, report: JobReport, place: ReportPlace) -> dict[str, Any]:
        return {"details": details_of(report, place), **super()._xcoms(report, place)}
