"""Repeated audits of one table, in this process and without Spark: each checks only new commits."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from enum import Enum
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.domain.report.report import Finding, TableReport, Verdict
from airflow_delta_provider.watch.head_reader import HeadReader, ObjectStorageLog
from airflow_delta_provider.watch.metadata_folder import UnhealthyTableError
from airflow_delta_provider.watch.table_watch import TableWatch

log = logging.getLogger(__name__)
#: Temporary folders of this process.
_folders: list[TemporaryDirectory[str]] = []


@dataclass(frozen=True)
class AuditScope:
    """Settings of an audit, and the folder for its state.

    :param fail_on: lowest severity that counts as a violation
    :param waivers: accepted findings, as JSON
    :param state_path: folder for incremental state; None to keep the state only as long as the auditor exists
    :param level: ``log``, or ``footers`` to read also the footers of data files
    """

    fail_on: str = "error"
    waivers: str = "[]"
    state_path: str | None = None
    level: str = "log"


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
        self._reported_once: tuple[Finding, ...] = ()

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
            level=scope.level,
        )
        if scope.state_path is not None:
            return report
        # A resumed audit does not repeat findings about parts that cannot be checked, but they remain true.
        from airflow_delta_provider.domain.audit.saved_state import REPORTED_ONCE

        once = [finding for finding in report.findings if finding.code in REPORTED_ONCE and finding.is_open]
        if once or not self._reported_once:
            self._reported_once = tuple(once)
            return report
        verdict = Verdict.UNDETERMINED if report.verdict is Verdict.PASS else report.verdict
        return replace(report, verdict=verdict, findings=(*report.findings, *self._reported_once))

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
    """Audit a table here, by default at level ``log``.

    :param options: fields of :class:`~airflow_delta_provider.domain.request.check_options.AuditOptions`
    :raises OSError: if the platform failed, so that the table's state is unknown
    """
    # Imported late: the code that reads tables is slow to load, so the thread that needs it loads it.
    from airflow_delta_provider.domain.request.check_options import AuditOptions
    from airflow_delta_provider.domain.request.job_request import JobRequest
    from airflow_delta_provider.watch.python_engine import run_here

    report = run_here(JobRequest((table,), AuditOptions(**options)), storage_conn_id, log).tables[0]
    if report.verdict is Verdict.FAULT:
        raise OSError("; ".join(finding.message for finding in report.findings) or "the audit failed")
    return report


#: Most findings in a message.
_MOST_NAMED = 20


class Answer(str, Enum):
    """Reaction to a verdict."""

    WAIT = "wait"
    FAIL = "fail"
    PASS = "pass"


@dataclass(frozen=True)
class Gate:
    """Reactions to verdicts.

    :param on_violation: reaction to a table that breaks a rule or that the check refuses: not ``pass``
    :param on_undetermined: reaction to a table that could not be fully checked
    """

    on_violation: Answer
    on_undetermined: Answer

    def value(self, table: str, report: TableReport) -> tuple[dict[str, Any] | None, str]:
        """Return the value to push, None if the wait continues, and the verdict with its findings as a message.

        :raises UnhealthyTableError: if the reaction is to fail
        """
        answers = {Verdict.PASS: Answer.PASS, Verdict.UNDETERMINED: self.on_undetermined}
        answer = answers.get(report.verdict, self.on_violation)
        outcome = _outcome(table, report)
        if answer is Answer.FAIL:
            raise UnhealthyTableError(outcome)
        if answer is not Answer.PASS:
            return None, f"{outcome}\nWaiting for a later version."
        codes = sorted({finding.code for finding in report.findings if finding.is_open})
        return {"table": table, "version": report.version, "verdict": report.verdict.value, "codes": codes}, outcome


class HealthWatch(TableWatch):
    """Polls a table until its newest version passes an audit.

    :param table: path or URI of the table
    :param scope: settings of the audit
    :param gate: reactions to its verdicts
    :param storage_conn_id: Airflow connection of the store, or None
    """

    subject: ClassVar[str] = "the log"
    #: The first audit of a long history takes minutes.
    time_limit: ClassVar[float] = 3600.0
    patience: ClassVar[float | None] = 3600.0

    def __init__(self, table: str, scope: AuditScope, gate: Gate, storage_conn_id: str | None = None) -> None:
        super().__init__(table, storage_conn_id)
        self._scope = scope
        self._gate = gate
        self._log_key = ObjectStorageLog(table, storage_conn_id).key

    def _key(self) -> Hashable:
        return Auditor, self._log_key, self._scope

    def _reader(self) -> Callable[[], TableReport | None]:
        return Auditor(self._table, self._conn_id, self._scope).read

    def _evaluate(self, read: TableReport | None) -> dict[str, Any] | None:
        if read is None:
            self._say(f"There is no Delta table at {self._table} yet (no commit in _delta_log); waiting for it.")
            return None
        value, outcome = self._gate.value(self._table, read)
        self._say(outcome)
        return value


def _outcome(table: str, report: TableReport) -> str:
    """Return the verdict and its findings, as a message."""
    heading = f"{table} at version {report.version}: {report.verdict.value}"
    found = [f for f in report.findings if f.is_open]
    lines = [f"{heading}{'.' if not found else ':'}"]
    for finding in found[:_MOST_NAMED]:
        at = "" if finding.version is None else f" (version {finding.version})"
        lines.append(f"  {finding.code}{at}: {finding.message}")
    if len(found) > _MOST_NAMED:
        lines.append(f"  and {len(found) - _MOST_NAMED} more findings")
    return "\n".join(lines)
