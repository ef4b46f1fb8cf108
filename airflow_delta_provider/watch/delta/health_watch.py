"""Watch for a table whose newest version passes an audit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from typing import Any, ClassVar

from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.watch.delta.auditor import Auditor, AuditScope
from airflow_delta_provider.watch.delta.object_storage_log import ObjectStorageLog
from airflow_delta_provider.watch.errors import UnhealthyTableError
from airflow_delta_provider.watch.table_watch import TableWatch

#: Most findings in a message.
_MOST_NAMED = 20


class Answer(str, Enum):
    """Reaction to a verdict."""

    WAIT = "wait"
    FAIL = "fail"
    PASS = "pass"


class HealthWatch(TableWatch):
    """Looks at a table until its newest version passes an audit.

    :param table: path or URI of the table
    :param scope: settings of the audit
    :param on_violation: reaction to a table that breaks a rule or that the audit refuses: not ``pass``
    :param on_undetermined: reaction to a table that could not be fully checked
    :param storage_conn_id: Airflow connection of the store, or None
    """

    subject: ClassVar[str] = "the log"
    #: The first audit of a long history takes minutes.
    time_limit: ClassVar[float] = 3600.0
    patience: ClassVar[float | None] = 3600.0

    def __init__(
        self,
        table: str,
        scope: AuditScope,
        on_violation: Answer,
        on_undetermined: Answer,
        storage_conn_id: str | None = None,
    ) -> None:
        super().__init__(table, storage_conn_id)
        self._scope = scope
        self._answers = {Verdict.PASS: Answer.PASS, Verdict.UNDETERMINED: on_undetermined}
        self._on_violation = on_violation
        self._log_key = ObjectStorageLog(table, storage_conn_id).key

    def _key(self) -> Hashable:
        return Auditor, self._log_key, self._scope

    def _reader(self) -> Callable[[], TableReport | None]:
        return Auditor(self._table, self._conn_id, self._scope).read

    def _judge(self, read: TableReport | None) -> dict[str, Any] | None:
        if read is None:
            self._say(f"There is no Delta table at {self._table} yet (no commit in _delta_log); waiting for it.")
            return None
        answer = self._answers.get(read.verdict, self._on_violation)
        said = _said(self._table, read)
        if answer is Answer.FAIL:
            raise UnhealthyTableError(said)
        self._say(said if answer is Answer.PASS else f"{said}\nWaiting for a later version.")
        if answer is not Answer.PASS:
            return None
        codes = sorted({finding.code for finding in read.findings if finding.is_open})
        return {"table": self._table, "version": read.version, "verdict": read.verdict.value, "codes": codes}


def _said(table: str, report: TableReport) -> str:
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
