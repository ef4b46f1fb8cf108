"""Runs a request table by table. A failure of one table does not hide the results of others.

The findings are recorded in a table at the end, by one commit, and without effect on the result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.findings_table import FindingsTableError, Row, Run, rows_of
from airflow_delta_provider.domain.report.report import JobReport, TableReport, Verdict
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS, load
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.delta.session import DeltaSession, TableTasks
from airflow_delta_provider.jobs.process import Progress, TableCount, silent
from airflow_delta_provider.jobs.run.tables import DELTA_MARKS, FolderNotListedError, NamedTables, expand
from airflow_delta_provider.jobs.storage.errors import EngineError, MissingFileError
from airflow_delta_provider.jobs.tables.session import AccessLimits, TableError

#: A job: processes one table, given by name, as the request asks, and returns its report. It raises TableError if
#: there is no such table, and BrokenLogError if its log is damaged.
Job = Callable[[DeltaSession, str, JobRequest, Progress], TableReport]


def run(
    request: JobRequest,
    session: DeltaSession,
    progress: Progress = silent,
    take: Callable[[TableReport], TableReport] | None = None,
    errors: Mapping[str, Exception] | None = None,
) -> JobReport:
    """Run ``request`` and report on every table.

    :param take: receives each table's report as soon as it is complete, and returns the part of it to keep
    :param errors: errors met while tables were looked up, keyed by the name of a table or folder
    :raises RuntimeError: if the job needs Delta and the session does not have it: no table can be reported on
    :raises RequestError: if the request needs Spark and the session does not have it
    :raises SubmitterGoneError: if the process that waits for the report has ended
    """
    started = _now()
    before = session.reach
    session.reach = AccessLimits(
        session.storage, request.allowed_locations, request.options.state_path, location_of_findings(request, session)
    )
    try:
        with session.working():
            return _run(request, session, progress, started, take, errors or {})
    finally:
        session.reach = before


def _run(
    request: JobRequest,
    session: DeltaSession,
    progress: Progress,
    started: str,
    take: Callable[[TableReport], TableReport] | None,
    errors: Mapping[str, Exception],
) -> JobReport:
    if request.options.needs_delta(by_name=False):
        session.require_delta()
    engine = session.versions
    named = _named(request, session, progress)
    named = replace(named, errors={**named.errors, **errors})
    count = TableCount(len(named.tables), progress)
    recorder = FindingsRecorder(request, session, started)
    tables = []
    present = [text for text in named.tables if text not in named.errors]
    with session.in_tasks(request, present, progress) as tasks:
        for report in _run_tables(named, request, session, tasks, count.each_step):
            count.count(report)
            recorder.take(report)
            tables.append(report if take is None else take(report))
    return JobReport(request.kind, started, _now(), tuple(tables), engine, recorder.write(progress))


def _named(request: JobRequest, session: DeltaSession, progress: Progress) -> NamedTables:
    """Return the tables that a request names, with schemas and patterns expanded."""
    if not request.options.takes_patterns:
        return NamedTables(request.tables, {})
    return expand(session, request.tables, request.exclude, progress)


def _run_tables(
    named: NamedTables, request: JobRequest, session: DeltaSession, tasks: TableTasks | None, progress: Progress
) -> Iterator[TableReport]:

    job: Job = load(_job_of(request, session))

    def run_one(text: str) -> TableReport:
        session.submitter.check()
        report = None if tasks is None else tasks.report(text)
        return report or _run_table(job, text, request, session, progress, named.errors.get(text))

    if tasks is None and not (request.options.overlaps and _wait(named.tables, session)):
        yield from map(run_one, named.tables)
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    with ThreadPoolExecutor(session.tables_at_once) as pool:
        yield from pool.map(run_one, named.tables)


def _job_of(request: JobRequest, session: DeltaSession) -> str:
    """Return the import path of the job for a request, for the session's engine.

    :raises RequestError: if the engine cannot run it
    """
    kind = KINDS[request.kind]
    if session.runs_sql:
        return kind.job
    if kind.reading_job is None or request.options.needs_rows:
        does = "changes tables" if request.options.changes else "reads rows or asks a catalog with these options"
        raise RequestError("{kind} {does}, which needs Spark. Use the engine spark.", kind=kind.name, does=does)
    return kind.reading_job


def _wait(named: Sequence[str], session: DeltaSession) -> bool:
    """Return True if tables are likely to wait for their storage. Only the first table is checked."""
    try:
        return len(named) > 1 and not session.is_here(named[0])
    except Exception:  # reported when that table is run
        return False


def _run_table(
    job: Job, text: str, request: JobRequest, session: DeltaSession, progress: Progress, wrong: Exception | None
) -> TableReport:
    if session.has_ended:
        ended = faults.ENGINE.found("Spark's JVM ended before {table} was begun: nothing was done to it.", table=text)
        return TableReport(text, Verdict.FAULT, retryable=True, findings=(ended,))
    try:
        if wrong is not None:
            raise wrong
        return job(session, text, request, progress)
    except TableError as error:
        return TableReport.refused(text, error.finding)
    except BrokenLogError as error:
        return TableReport.refused(text, requests.broken_log(text, error))
    except Exception as failure:
        meaning = _meaning(failure, session)
        if meaning.rule is faults.UNEXPECTED:
            import traceback  # slow to import

            progress(masked_text(f"{text}: {''.join(traceback.format_exception(failure))}"))
        return TableReport(text, meaning.verdict, retryable=meaning.retryable, findings=(meaning.finding(),))


def _meaning(failure: Exception, session: DeltaSession) -> EngineError:
    cause = failure.__cause__
    if not isinstance(failure, FolderNotListedError) or not isinstance(cause, Exception):
        return session.understand(failure)
    meaning = session.understand(cause)
    if meaning.verdict is not Verdict.FAULT:
        meaning = replace(meaning, rule=faults.STORAGE, verdict=Verdict.FAULT)
    return replace(meaning, evidence=f"{failure}. {meaning.evidence}")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


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
