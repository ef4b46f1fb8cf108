"""Repeated audits of one table, in this process and without Spark: each checks only new commits."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.watch.delta.head_reader import HeadReader
from airflow_delta_provider.watch.delta.object_storage_log import ObjectStorageLog

log = logging.getLogger(__name__)
#: Temporary folders of this process.
_folders: list[TemporaryDirectory[str]] = []


@dataclass(frozen=True)
class AuditScope:
    """Settings of an audit, and the folder for its state.

    :param fail_on: lowest severity that counts as a violation
    :param waivers: accepted findings, as JSON
    :param state_path: folder for incremental state; None to keep the state only as long as the auditor exists
    """

    fail_on: str = "error"
    waivers: str = "[]"
    state_path: str | None = None


class Auditor:
    """Audits a table if it has changed.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store, or None
    """

    def __init__(self, table: str, storage_conn_id: str | None, scope: AuditScope) -> None:
        self._table = table
        self._conn_id = storage_conn_id
        self._scope = scope
        self._head = HeadReader(ObjectStorageLog(table, storage_conn_id))
        self._folder: TemporaryDirectory[str] | None = None
        self._audited: tuple[TableHead, TableReport] | None = None
        self._said_once: tuple[Finding, ...] = ()

    def read(self) -> TableReport | None:
        """Return the report on the newest version, or None while there is no table.

        :raises Exception: errors of the filesystem; OSError if the audit met a fault
        """
        try:
            head = self._head.read()
        except BrokenLogError:  # the audit explains the damage
            return self._audit()
        if head is None:
            return None
        if self._audited is None or self._audited[0] is not head:
            self._audited = head, self._audit()
        return self._audited[1]

    def _audit(self) -> TableReport:
        scope = self._scope
        report = audit(
            self._table,
            self._conn_id,
            fail_on=scope.fail_on,
            waivers=tuple(json.loads(scope.waivers)),
            state_path=scope.state_path or self._memory,
        )
        if scope.state_path is not None:
            return report
        # A resumed audit does not repeat findings about parts that cannot be checked, but they remain true.
        from airflow_delta_provider.domain.audit.audit_state import REPORTED_ONCE

        said = [finding for finding in report.findings if finding.code in REPORTED_ONCE and finding.is_open]
        if said or not self._said_once:
            self._said_once = tuple(said)
            return report
        verdict = Verdict.UNDETERMINED if report.verdict is Verdict.PASS else report.verdict
        return replace(report, verdict=verdict, findings=(*report.findings, *self._said_once))

    @property
    def _memory(self) -> str:
        if self._folder is None or not os.path.isdir(self._folder.name):
            self._folder = TemporaryDirectory(prefix="delta-audit-", ignore_cleanup_errors=True)
            _folders.append(self._folder)
        return self._folder.name


def remove_folders() -> None:
    """Remove the temporary folders of all auditors: Airflow ends a task's process without running finalizers.

    An auditor that audits again creates a new folder, and begins with the whole history.
    """
    while _folders:
        _folders.pop().cleanup()


def audit(table: str, storage_conn_id: str | None, **options: Any) -> TableReport:
    """Audit a table here, at level ``log``.

    :param options: fields of :class:`~airflow_delta_provider.domain.request.audit.AuditOptions`
    :raises OSError: if the platform failed, so that the table's state is unknown
    """
    # Imported late: the code that reads tables is slow to load, so the thread that needs it loads it.
    from airflow_delta_provider.domain.request.audit import AuditOptions
    from airflow_delta_provider.domain.request.job_request import JobRequest
    from airflow_delta_provider.watch.python_engine import run_here

    report = run_here(JobRequest((table,), AuditOptions(**options)), storage_conn_id, log).tables[0]
    if report.verdict is Verdict.FAULT:
        raise OSError("; ".join(finding.message for finding in report.findings) or "the audit failed")
    return report
