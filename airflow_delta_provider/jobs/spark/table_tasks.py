"""Audits of many tables, shared among Spark's tasks.

A task audits some tables as the engine Python does, and returns their reports and the states to save. The driver saves
these states, and audits all tables that a task cannot decide exactly as the driver would: a table is left to the driver
if its task meets any error, an unusual checkpoint, or more of a checkpoint than a Python process beside an executor
should read. So the result does not depend on the place where a table is audited.

Tasks read files without the JVM, with the packages and credentials of their own process. They audit tables of an object
store only if one of them has read a commit there exactly as the driver did, and local tables only on the driver's
machine.

If a task is lost with its process, each of its tables gets a task of its own. If that is lost again, the table's report
says so: the driver does not repeat the work that ended another process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Any

from airflow_delta_provider import __version__
from airflow_delta_provider.domain.checks import faults
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    UnreadCheckpointError,
    commit_name,
    newest_version,
)
from airflow_delta_provider.domain.delta.snapshot import ActionBatch
from airflow_delta_provider.domain.engine.spark_library import is_local as is_local_master
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.audit import protocol_audit
from airflow_delta_provider.jobs.delta.checkpoint_files import CheckpointColumns, CheckpointFiles
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, silent
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.spark.table_session import SparkTableSession
from airflow_delta_provider.jobs.storage.errors import EngineError
from airflow_delta_provider.jobs.storage.local_storage import local_path
from airflow_delta_provider.jobs.storage.remote_storage import StoreUri
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.storage.storages import Storages
from airflow_delta_provider.jobs.tables.session import AccessLimits
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

#: Setting of the session, and its default: number of tables of an audit above which tasks share them.
TABLES_ON_DRIVER, _MOST_TABLES = "spark.airflow_delta_provider.tablesOnDriver", 1000
#: Number of tables of a task: a task takes some 20 ms besides its work.
_TOGETHER = 25
#: Number of tasks that are submitted before the first one ends. Spark runs as many at once as it has cores.
_AHEAD = 64
#: Bytes of checkpoint files that a task reads for one table: some 200,000 files of the table.
_MOST_BYTES = 32 * 1024 * 1024
_LOST = "The task of Spark that audited {table} ended before it answered: {reason}"
_REMEDY = (
    "See the log of the executors. If they have too little memory, raise spark.executor.memoryOverhead; to audit all "
    f"tables in the driver, set {TABLES_ON_DRIVER} above the number of tables."
)


class _StaysOnDriverError(Exception):
    """A table that only the driver audits."""


@dataclass(frozen=True)
class _Outcome:
    """The result of a table's audit in a task.

    :param location: location of the table
    :param state: state to save, and the stamp of the state that it replaces; None if there is nothing to save
    """

    report: TableReport
    location: str
    state: tuple[bytes, str | None] | None


@dataclass(frozen=True)
class _Work:
    """The data that a task needs.

    :param folder: base folder of relative local paths
    :param limits: see :attr:`AccessLimits.limits`
    """

    request: JobRequest
    folder: str
    limits: tuple[Any, ...]

    def outcomes(self, located: Mapping[str, str]) -> list[_Outcome | None]:
        """Audit tables; None for each table that stays on the driver. Runs in a task.

        :param located: location of each table by its name
        """
        storages = Storages(folder=self.folder)
        reach = AccessLimits(storages, *self.limits)
        return [self._outcome(text, location, storages, reach) for text, location in located.items()]

    def _outcome(self, text: str, location: str, storages: Storages, reach: AccessLimits) -> _Outcome | None:
        try:
            if storages.qualify(location) != location:
                return None
            session = _TaskSession(_StateCatcher(storages), location)
            session.reach = reach
            report = protocol_audit.run(session, text, self.request, silent)
        except Exception:  # the driver finds out the cause
            return None
        return None if session.is_unsure else _Outcome(report, location, session.storage.state)


class _StateCatcher(Storages):
    """Storages that keep the state of a table, instead of writing it."""

    def __init__(self, storages: Storages) -> None:
        self._storages = storages
        self.state: tuple[bytes, str | None] | None = None

    def of(self, location: str) -> Storage:
        return self._storages.of(location)

    #: All storages of the driver know this stamp.
    read_stamped = Storage.read_stamped

    def replace(self, location: str, content: bytes, stamp: str | None) -> bool:
        del location
        self.state = content, stamp
        return True


class _TaskSession(DeltaSession):
    """A session in a task, for one table."""

    storage: _StateCatcher

    def __init__(self, storage: _StateCatcher, location: str) -> None:
        super().__init__(storage)
        self._location = location
        self._left = _MOST_BYTES
        self.is_unsure = False
        """True if the driver may come to another result."""

    def locate(self, name: TableName) -> str:
        """Return the table's location, which the driver looked up."""
        del name
        return self._location

    def open_log(self, location: str) -> TableLog:
        files = self.files_of(location)
        return TableLog(files, location, _SmallCheckpoints(files, self))

    def understand(self, error: Exception) -> EngineError:
        """Return the meaning of an error. The driver may not meet it, or describe it in other words."""
        self.is_unsure = True
        return super().understand(error)

    def stay(self, reason: str) -> _StaysOnDriverError:
        """Return the error for a table that only the driver audits."""
        self.is_unsure = True
        return _StaysOnDriverError(reason)

    def take(self, size: int) -> None:
        """Count the bytes of a checkpoint file that is read.

        :raises _StaysOnDriverError: if they are too many
        """
        self._left -= size
        if self._left < 0:
            raise self.stay("its checkpoints are large")


class _SmallCheckpoints(CheckpointFiles):
    """Reads checkpoints that are not large. The driver has another reader for those that are not read here."""

    def __init__(self, storage: TableStorage, session: _TaskSession) -> None:
        super().__init__(storage)
        self._session = session

    def _read(self, path: str, wanted: CheckpointColumns, budget: Budget) -> Iterator[ActionBatch]:
        self._session.take(self._storage.size(path))
        yield from super()._read(path, wanted, budget)

    def _read_with_python(
        self, path: str, wanted: CheckpointColumns, budget: Budget, refused: Sequence[str]
    ) -> Iterator[ActionBatch]:
        try:
            yield from super()._read_with_python(path, wanted, budget, refused)
        except (BrokenLogError, UnreadCheckpointError) as error:
            raise self._session.stay("a checkpoint cannot be read") from error


class _Stores:
    """The stores that tasks read as the driver does.

    :param state_path: folder of saved states; None if none are saved
    :param progress: receives a line about each store that tasks cannot read
    """

    def __init__(self, session: SparkTableSession, state_path: str | None, progress: Progress) -> None:
        self._session = session
        self._progress = progress
        self._state = None if state_path is None else session.storage.qualify(state_path)
        self._on_one_machine = is_local_master(session.spark.sparkContext.master)
        self._known: dict[str, bool] = {}
        self._trying = Lock()

    @property
    def can_save(self) -> bool:
        """Return True if tasks can read the saved states of any table."""
        return self._state is None or self._on_one_machine or not self._session.storage.is_local(self._state)

    def has(self, location: str) -> bool:
        """Return True if tasks read the table at a location, and its saved state.

        :raises Exception: error of the driver's storage
        """
        is_local = self._session.storage.is_local
        if is_local(location):
            return self._on_one_machine and (self._state is None or is_local(self._state))
        store = StoreUri.of(location).root
        if self._state is not None and not is_local(self._state) and StoreUri.of(self._state).root != store:
            return False
        with self._trying:
            if store not in self._known:
                self._known[store] = self._is_read(store, location)
            return self._known[store]

    def _is_read(self, store: str, location: str) -> bool:
        """Return True if a task reads the newest commit of a table as the driver does."""
        log = f"{location}/_delta_log"
        path = f"{log}/{commit_name(newest_version(self._session.storage.list_names(log)))}"
        digest, problem = _digest_of(self._session.storage.read(path)), "they read another file there"
        try:
            if in_task(self._session, partial(_digest, path)) == digest:
                return True
        except Exception as error:
            problem = _short(error)
        self._progress(f"The driver audits the tables in {store}, as Spark's tasks cannot read it: {problem}")
        return False


def _digest(path: str, _: object) -> str:
    """Return the digest of a file, as a task reads it."""
    return _digest_of(Storages().read(path))


def _digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()


class TableTasks:
    """The tasks of an audit.

    :param pool: submits the tasks
    :param progress: receives lines about states that cannot be used
    """

    def __init__(
        self,
        session: SparkTableSession,
        work: _Work,
        stores: _Stores,
        pool: ThreadPoolExecutor,
        tables: Sequence[str],
        progress: Progress,
    ) -> None:
        self._session = session
        self._work = work
        self._stores = stores
        self._store = protocol_audit.memory_store(session, work.request.options, progress)  # type: ignore[arg-type]
        self._reported = self._lost = 0
        self._found: dict[str, Future[Mapping[str, _Outcome | TableReport | None]]] = {}
        for start in range(0, len(tables), _TOGETHER):
            some = tables[start : start + _TOGETHER]
            self._found.update(dict.fromkeys(some, pool.submit(self._run, some)))

    def report(self, text: str) -> TableReport | None:
        """Return the report of a table, and save its state; None if the driver audits it.

        Waits for the table's task.
        """
        if text not in self._found:
            return None
        found = self._found[text].result().get(text)
        self._reported += found is not None
        if not isinstance(found, _Outcome) or found.state is None or self._store is None:
            return found.report if isinstance(found, _Outcome) else found
        try:
            self._store.write(found.location, *found.state)
        except Exception as failure:
            unsaved = self._session.understand(failure).not_saved()
            return replace(found.report, receipt=None, findings=(*found.report.findings, unsaved))
        return found.report

    @property
    def summary(self) -> str:
        """The number of tables that tasks reported on, in a sentence."""
        lost = f" Tasks that were lost, and then repeated for each table: {self._lost:,}." if self._lost else ""
        return f"Spark's tasks audited {self._reported:,} of {len(self._found):,} tables.{lost}"

    def _run(self, tables: Sequence[str]) -> Mapping[str, _Outcome | TableReport | None]:
        located = {text: location for text in tables if (location := self._location(text)) is not None}
        try:
            return self._in_task(located)
        except Exception:
            if self._session.has_ended:
                return {}
            self._lost += 1
        return {text: self._alone(text, location) for text, location in located.items()}

    def _alone(self, text: str, location: str) -> _Outcome | TableReport | None:
        try:
            return self._in_task({text: location})[text]
        except Exception as lost:
            if self._session.has_ended or ModuleNotFoundError.__name__ in str(lost):  # some executors have no package
                return None
            ended = faults.ENGINE.found(_LOST, remedy=_REMEDY, table=text, reason=_short(lost))
            return TableReport(text, Verdict.FAULT, retryable=True, findings=(ended,))

    def _in_task(self, located: Mapping[str, str]) -> Mapping[str, _Outcome | TableReport | None]:
        return dict(zip(located, in_task(self._session, partial(_outcomes, self._work, located)))) if located else {}

    def _location(self, text: str) -> str | None:
        """Return the location of a table that tasks can read; None if only the driver can."""
        with suppress(Exception):  # the driver reports it
            name = TableName.parse(text)
            if name.location is None:
                location = self._session.locate(name)
            else:
                location = self._session.storage.qualify(name.location)
            if self._stores.has(location):
                return location
        return None


def _outcomes(work: _Work, located: Mapping[str, str], _: object) -> list[_Outcome | None]:
    return work.outcomes(located)


def in_task(session: SparkTableSession, function: Callable[[object], Any]) -> Any:
    """Return the result of a function that runs in a task of Spark.

    :param function: a function of this package with its first arguments
    :raises Exception: error of Spark if the task failed
    """
    return session.spark.sparkContext.parallelize([None], 1).map(function).collect()[0]


@contextmanager
def table_tasks(
    session: SparkTableSession, request: JobRequest, tables: Sequence[str], progress: Progress
) -> Iterator[TableTasks | None]:
    """Yield the tasks that audit tables; None if the driver audits all of them.

    :param tables: names of tables, without patterns
    """
    options = request.options
    if (
        not isinstance(options, AuditOptions)
        or options.needs_rows
        or options.show_hidden_rows
        or len(tables) <= _most_tables(session)
        or not _has_tasks(session, progress)
        or not (stores := _Stores(session, options.state_path, progress)).can_save
    ):
        yield None
        return
    folder = local_path(session.storage.qualify(".")) or ""
    pool = ThreadPoolExecutor(_AHEAD)
    try:
        tasks = TableTasks(session, _Work(request, folder, session.reach.limits), stores, pool, tables, progress)
        yield tasks
        progress(tasks.summary)
    finally:
        pool.shutdown(cancel_futures=True)


def _most_tables(session: SparkTableSession) -> int:
    """Return the number of tables above which tasks share them.

    :raises RequestError: if the session's setting is not a number
    """
    text = session.spark.conf.get(TABLES_ON_DRIVER, None) or str(_MOST_TABLES)
    if not text.isdecimal():
        raise RequestError("{setting} is {text!r}. Set it to a number of tables.", setting=TABLES_ON_DRIVER, text=text)
    return int(text)


def _has_tasks(session: SparkTableSession, progress: Progress) -> bool:
    """Return True if tasks can audit tables: several at once, with this package."""
    try:
        if session.spark.sparkContext.defaultParallelism < 2:
            return False
        found = in_task(session, _version_there)
        problem = f"they have its version {found}, and this is {__version__}"
    except Exception as error:
        found, problem = None, _short(error)
    if found != __version__:
        progress(f"The driver audits all tables, as Spark's tasks cannot run this package: {problem}")
    return bool(found == __version__)


def _version_there(_: object) -> str:
    """Return the version of this package in a task."""
    return __version__


def _short(error: Exception) -> str:
    return understand(error).evidence
