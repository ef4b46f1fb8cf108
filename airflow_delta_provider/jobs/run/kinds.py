"""What a job does to one table, by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.alter_columns import AlterColumnsOptions
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.check_paimon_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.check_row_tracking import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.column_mapping_usage import ColumnMappingUsageOptions
from airflow_delta_provider.domain.request.create_table import CreateTableOptions
from airflow_delta_provider.domain.request.detail import DetailOptions
from airflow_delta_provider.domain.request.disable_column_mapping import DisableColumnMappingOptions
from airflow_delta_provider.domain.request.drop_feature import DropFeatureOptions
from airflow_delta_provider.domain.request.enable_feature import EnableFeatureOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from airflow_delta_provider.jobs.audit.protocol_audit import ProtocolAudit
from airflow_delta_provider.jobs.changes.alter_columns import AlterColumns
from airflow_delta_provider.jobs.changes.column_mapping.disable import DisableColumnMapping
from airflow_delta_provider.jobs.changes.column_mapping.usage import ColumnMappingUsage
from airflow_delta_provider.jobs.changes.create_table import create_table
from airflow_delta_provider.jobs.changes.drop_feature import DropFeatures
from airflow_delta_provider.jobs.changes.enable_feature import EnableFeature
from airflow_delta_provider.jobs.changes.table_change import Allowed, Change, TableChange
from airflow_delta_provider.jobs.changes.widen_types import WidenTypes
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.paimon.check import check_paimon_table
from airflow_delta_provider.jobs.row_tracking.check import RowTrackingCheck
from airflow_delta_provider.jobs.run.table_detail import TableDetail
from airflow_delta_provider.jobs.session.progress import Progress

#: Does what a request asks for to the table of a name and reports on it; raises TableError where there is none.
RunTable = Callable[[DeltaSession, str, JobRequest, Progress], TableReport]


@dataclass(frozen=True)
class Kind:
    """A kind of job.

    :param run: does it to one table
    :param overlaps: whether, by its options, several tables may be done at once: where it changes nothing, neither
        tables nor settings of the session
    """

    run: RunTable
    overlaps: Callable[[Any], bool] = lambda _: False


def _checking(check: Callable[[DeltaSession, OpenTable, Any, Progress], Any]) -> RunTable:
    """Return what runs a check of Delta tables, which takes its options and changes nothing."""

    def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
        report: TableReport = check(session, session.open_table(text), request.options, progress).run()
        return report

    return run


def _audit(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Audit one table."""
    options = request.options
    assert isinstance(options, AuditOptions)
    table = session.open_table(text)
    return ProtocolAudit(session, table, options, progress, request.receipt, request.received).run()


def _changing(change: Callable[[Any, DeltaSession], Change]) -> RunTable:
    """Return what carries out a change of Delta tables, which is made from its options."""

    def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
        table = session.open_table(text)
        planned = change(request.options, session)
        allowed = Allowed.by(request.options)
        changing = TableChange(session, table, planned, request.labels, progress, allowed, request.retry_since)
        return changing.run(dry_run=request.dry_run)

    return run


KINDS: Mapping[str, Kind] = {
    EnableFeatureOptions.kind: Kind(_changing(EnableFeature)),
    WidenTypesOptions.kind: Kind(_changing(WidenTypes)),
    AlterColumnsOptions.kind: Kind(_changing(AlterColumns)),
    CreateTableOptions.kind: Kind(create_table),
    CheckRowTrackingOptions.kind: Kind(_checking(RowTrackingCheck)),
    AuditOptions.kind: Kind(_audit, overlaps=lambda options: bool(options.level == "log")),
    DropFeatureOptions.kind: Kind(_changing(DropFeatures)),
    DetailOptions.kind: Kind(_checking(TableDetail)),
    ColumnMappingUsageOptions.kind: Kind(_checking(ColumnMappingUsage)),
    DisableColumnMappingOptions.kind: Kind(_changing(DisableColumnMapping)),
    PaimonCheckRowTrackingOptions.kind: Kind(check_paimon_table),
}
