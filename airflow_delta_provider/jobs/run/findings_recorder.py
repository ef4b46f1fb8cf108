"""Records the findings of a run in a table: at the end, by one commit, and without effect on the result."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from airflow_delta_provider.domain.report.findings_table import FindingsTableError, Row, Run, rows_of
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import load
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.process import Progress
from airflow_delta_provider.jobs.run.tables import DELTA_MARKS
from airflow_delta_provider.jobs.storage.storage import MissingFileError
from airflow_delta_provider.jobs.tables.session import TableError

#: Appends rows to a table, unless the run's transaction is in it: session, table, its location (None for a name that
#: a catalog does not have yet), rows, run. Raises FindingsTableError.
Writer = Callable[[DeltaSession, TableName, "str | None", Sequence[Row], Run], None]

#: Colours, and the starts of lines, in the errors of ``deltalake``.
_COLOUR, _TREE = re.compile(r"\x1b\[[0-9;]*m"), re.compile(r":?\s*↳\s*")
#: The writers with and without Spark.
_WITH_SPARK, _WITHOUT = "jobs.changes.findings_writer:append", "jobs.delta.findings_writer:append"


def location_of_findings(request: JobRequest, session: DeltaSession) -> str | None:
    """Return the location of a request's table of findings; None if there is none, or a catalog has none yet."""
    if request.options.findings_table is None:
        return None
    name = TableName.parse(request.options.findings_table)
    if name.location is not None:
        return name.location
    try:
        return session.locate(name)
    except Exception:  # the writer reports it
        return None


class FindingsRecorder:
    """Collects the rows of tables, and appends them once all tables are done.

    :param started: start of the job, ISO 8601
    """

    def __init__(self, request: JobRequest, session: DeltaSession, started: str) -> None:
        self._request = request
        self._session = session
        self._started = started
        self._rows: list[Row] = []
        named = request.options.findings_table
        self._table = None if named is None else TableName.parse(named)
        run = request.attempt or request.receipt or os.urandom(16).hex()
        self._run = Run(run, request.try_number, request.labels)

    def take(self, report: TableReport) -> None:
        """Collect the rows of a table."""
        if self._table is not None:
            self._rows += rows_of(report, self._request.kind, self._started, self._run)

    def write(self, progress: Progress) -> tuple[str, ...]:
        """Append the rows. Return a warning if that failed: no problem of this table changes a result."""
        if self._table is None or not self._rows or self._session.reach.written_refusal is not None:
            return ()
        try:
            self._write(self._table)
        except FindingsTableError as error:
            return (_warning(self._table, str(error)),)
        except TableError as error:
            return (_warning(self._table, error.finding.message),)
        except Exception as failure:
            return (_warning(self._table, self._session.understand(failure).message),)
        progress(f"findings recorded in {self._table.text}: {len(self._rows):,} rows")
        return ()

    def _write(self, table: TableName) -> None:
        location = table.location
        if location is None:
            location = location_of_findings(self._request, self._session)
        else:
            location = self._session.storage.qualify(location)
            self._check_folder(location)
        writer: Writer = load(_WITH_SPARK if self._session.runs_sql else _WITHOUT)
        writer(self._session, table, location, self._rows, self._run)

    def _check_folder(self, location: str) -> None:
        """Check that a new table gets a folder of its own: as a table, a folder of tables would lose them to VACUUM.

        :raises FindingsTableError: if the folder has files, and is no Delta table
        """
        try:
            names = self._session.storage.list_names(location)
        except MissingFileError:
            return
        if names and not DELTA_MARKS.intersection(names):
            raise FindingsTableError(
                f"the folder has other files ({names[0]}, …) and is no Delta table. Name a folder of its own, such as "
                f"{location.rstrip('/')}/findings"
            )


def _warning(table: TableName, why: Any) -> str:
    text = " ".join(_TREE.sub(": ", _COLOUR.sub("", str(why))).split())
    return f"The findings were not recorded in {table.text}: {text.rstrip('.')}."
