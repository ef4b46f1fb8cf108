"""The schema and the rows of the table of findings, which checks append to.

The table has a row for each checked table of a run, and a row for each of its findings. Rows are appended and never
changed. A later release may add columns, and never changes or removes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from airflow_delta_provider.domain.report.confirmation import identity
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport

#: Values of the column ``record``.
TABLE, FINDING = "table", "finding"
#: Properties of a new table. Delta forgets the transactions of runs after this time; without it, their number grows.
PROPERTIES: Mapping[str, str] = {"delta.setTransactionRetentionDuration": "interval 90 days"}
#: Version of the transaction of a run. Each run has an application id of its own, so that it is always the same.
TRANSACTION_VERSION = 1
_APPLICATION = "airflow-delta-provider"

Row = Mapping[str, Any]


class FindingsTableError(Exception):
    """Rows that cannot be written. The message gives the reason and the remedy."""


@dataclass(frozen=True)
class Column:
    """A column of the table.

    :param type: name of its type in the schema of a Delta table
    :param record: kind of row that has a value; None for both
    """

    name: str
    type: str
    about: str
    record: str | None = None


_STRING, _TIME, _INT, _LONG = "string", "timestamp", "integer", "long"
#: All columns, in order. All may be null.
COLUMNS: tuple[Column, ...] = (
    Column("record", _STRING, "`table` for a checked table, `finding` for one of its findings"),
    Column("run", _STRING, "id of the run, unique for each try of a task and for each call of the command line"),
    Column("checked_at", _TIME, "start of the job"),
    Column("job", _STRING, "kind of the job, such as `audit`"),
    Column("table_name", _STRING, "name of the table, as the request has it"),
    Column("table_version", _LONG, "version that was checked; null if the table could not be read"),
    Column("verdict", _STRING, "verdict of the table: `PASS`, `UNDETERMINED`, `VIOLATED`, `REFUSED` or `FAULT`"),
    Column("owner", _STRING, "owner of the table, from the request; null if it names none"),
    Column("dag_id", _STRING, "DAG of the task; null outside Airflow, like the next four"),
    Column("run_id", _STRING, "DAG run"),
    Column("task_id", _STRING, "task"),
    Column("map_index", _INT, "index of a mapped task; -1 if it is not mapped"),
    Column("try_number", _INT, "try of the task"),
    Column("open_errors", _INT, "number of open findings of severity `ERROR`", TABLE),
    Column("open_undecided", _INT, "number of open findings of severity `UNDECIDED`", TABLE),
    Column("open_warnings", _INT, "number of open findings of severity `WARNING`", TABLE),
    Column("accepted", _INT, "number of findings with a waiver", TABLE),
    Column("commits", _LONG, "number of commits that an audit checked", TABLE),
    Column("seconds", "double", "seconds that the job spent on the table", TABLE),
    Column("finding_key", _STRING, "identity of the finding within its table: the fingerprint if it has one", FINDING),
    Column("fingerprint", _STRING, "fingerprint; null for refusals and faults", FINDING),
    Column("code", _STRING, "code of the rule", FINDING),
    Column("severity", _STRING, "`ERROR`, `UNDECIDED` or `WARNING`", FINDING),
    Column("status", _STRING, "`NEW`, `KNOWN`, `CHANGED` or `RESOLVED`; null for jobs without saved state", FINDING),
    Column("is_open", "boolean", "true if the finding still applies and is not accepted", FINDING),
    Column("version", _LONG, "version that broke the rule", FINDING),
    Column("since", _TIME, "time of that version's commit; null if it is unknown", FINDING),
    Column("healed_version", _LONG, "version since which the rule holds again", FINDING),
    Column("healed_at", _TIME, "time of that version's commit; null if it is unknown", FINDING),
    Column("engine", _STRING, "writer of the commit, as it signed itself", FINDING),
    Column("writer", _STRING, "name and version of that engine, if the signature is known", FINDING),
    Column("operation", _STRING, "operation of the commit", FINDING),
    Column("user_name", _STRING, "user of the commit", FINDING),
    Column("file_path", _STRING, "data or log file, relative to the table", FINDING),
    Column("column_path", _STRING, "path of the column", FINDING),
    Column("subject", _STRING, "subject that is neither a file nor a column, such as a property", FINDING),
    Column("alike", _INT, "number of other files or commits with the same problem", FINDING),
    Column("message", _STRING, "problem, effect and remedy", FINDING),
    Column("waiver_owner", _STRING, "who accepted the finding", FINDING),
    Column("waiver_reason", _STRING, "why", FINDING),
    Column("waiver_expires", _STRING, "last day of the waiver, ISO 8601", FINDING),
)
#: Columns that a table must have to count as a table of findings.
_FIRST = ("record", "run", "checked_at", "table_name")


class Run(NamedTuple):
    """The run that the rows belong to.

    :param id: id that no other run, and no other try of a task, has
    :param try_number: try of the task; None outside Airflow
    :param labels: ``dag_id``, ``run_id``, ``task_id`` and ``map_index``; empty outside Airflow
    """

    id: str
    try_number: int | None
    labels: Mapping[str, Any]

    @property
    def application(self) -> str:
        """The application id of the run's transaction."""
        return f"{_APPLICATION}/{self.id}"

    @property
    def columns(self) -> dict[str, Any]:
        known = {name: self.labels.get(name) for name in ("dag_id", "run_id", "task_id", "map_index")}
        return {"run": self.id, "try_number": self.try_number, **known}


class OpenFinding(NamedTuple):
    """A finding that is open in the last run that could check its table, with its task if there was one."""

    table_name: str
    code: str
    severity: str
    owner: str | None
    since: datetime | None
    version: int | None
    engine: str | None
    message: str | None
    checked_at: datetime
    dag_id: str | None
    run_id: str | None
    task_id: str | None
    map_index: int | None


#: Largest number of findings that the query returns, the oldest first.
MAX_OPEN = 20_000
#: Query for the fields of :class:`OpenFinding`, in order, on a table ``findings``.
OPEN_FINDINGS = f"""
WITH latest AS (
  SELECT job, table_name, MAX(checked_at) AS checked_at
  FROM findings
  WHERE record = 'table' AND verdict IN ('PASS', 'VIOLATED', 'UNDETERMINED')
  GROUP BY job, table_name
)
SELECT f.table_name, f.code, f.severity, f.owner, f.since, f.version, COALESCE(f.writer, f.engine) AS engine,
  f.message, f.checked_at, f.dag_id, f.run_id, f.task_id, f.map_index
FROM findings f
JOIN latest l ON f.job = l.job AND f.table_name = l.table_name AND f.checked_at = l.checked_at
WHERE f.record = 'finding' AND f.is_open
ORDER BY f.since, f.table_name, f.code
LIMIT {MAX_OPEN}
"""


def rows_of(report: TableReport, job: str, started_at: str, run: Run) -> Iterator[Row]:
    """Yield the rows of a checked table: its own, then one for each finding. Columns without a value are left out.

    :param started_at: start of the job, ISO 8601
    """
    evidence = report.evidence or {}
    common = {
        **run.columns,
        "checked_at": _time(started_at),
        "job": job,
        "table_name": report.table,
        "table_version": report.version,
        "verdict": report.verdict.value,
        "owner": evidence.get("owner"),
    }
    still = [finding.severity for finding in report.findings if finding.is_open]
    yield {
        **common,
        "record": TABLE,
        "open_errors": still.count(Severity.ERROR),
        "open_undecided": still.count(Severity.UNDECIDED),
        "open_warnings": still.count(Severity.WARNING),
        "accepted": sum(finding.waiver is not None for finding in report.findings),
        "commits": evidence.get("commits"),
        "seconds": float(sum(report.timings.values())),
    }
    for finding in report.findings:
        yield {**common, "record": FINDING, **_columns(finding)}


def _columns(finding: Finding) -> dict[str, Any]:
    waiver = finding.waiver
    return {
        "finding_key": identity(finding),
        "fingerprint": finding.fingerprint,
        "code": finding.code,
        "severity": finding.severity.value,
        "status": None if finding.status is None else finding.status.value,
        "is_open": finding.is_open,
        "version": finding.version,
        "since": _time(finding.timestamp),
        "healed_version": finding.healed_version,
        "healed_at": _time(finding.healed_at),
        "engine": finding.engine,
        "writer": finding.writer,
        "operation": finding.operation,
        "user_name": finding.user,
        "file_path": finding.path,
        "column_path": finding.column,
        "subject": finding.subject,
        "alike": finding.alike,
        "message": finding.message,
        "waiver_owner": None if waiver is None else waiver.owner,
        "waiver_reason": None if waiver is None else waiver.reason,
        "waiver_expires": None if waiver is None else waiver.expires,
    }


def _time(text: str | None) -> datetime | None:
    """Return a time with its zone; None if it is unknown, or outside the years that engines can store."""
    try:
        time = None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:  # a writer may put any string into its commit
        return None
    return None if time is None or time.tzinfo is None else time


def missing_columns(found: Mapping[str, str]) -> tuple[Column, ...]:
    """Return the columns that an existing table lacks and that can be added.

    :param found: types of its columns by name, as in the schema of a Delta table
    :raises FindingsTableError: if it is not a table of findings
    """
    types = {name.casefold(): kind for name, kind in found.items()}
    if lacking := [name for name in _FIRST if name not in types]:
        raise FindingsTableError(
            f"it has no column {', '.join(lacking)}, so it is no table of findings"
            f"{_columns_of(found)}. Name a table of its own, which is created if it does not exist"
        )
    for column in COLUMNS:
        kind = types.get(column.name, column.type)
        if kind != column.type:
            raise FindingsTableError(
                f"its column {column.name} has the type {kind}, not {column.type}, so it is no table of findings. "
                "Name a table of its own, which is created if it does not exist"
            )
    return tuple(column for column in COLUMNS if column.name not in types)


def _columns_of(found: Mapping[str, str]) -> str:
    """Return a remark with the columns of a table; empty if there are none."""
    shown = ", ".join([*found][:5]) + (", …" if len(found) > 5 else "")
    return f" (its columns: {shown})" if found else ""
