"""Commits that no engine can write: through Delta's LogStore or put-if-absent, checked at every try."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError

from airflow_delta_provider.domain.changes.provider_commit import (
    CommitIdentity,
    actions_of,
    check_commit,
    check_log_store,
    check_timestamp,
    check_writable,
    lines_of,
)
from airflow_delta_provider.domain.changes.step import Edit
from airflow_delta_provider.domain.delta.commit import Action, changes_metadata, commit_info
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.delta.table_state import CommitBase, TableState
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.delta.kept_log import KeptLog
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.storage.errors import MissingFileError

#: Seconds before each further try after a failure of the storage.
_WAITS = (0.2, 1.0, 3.0)


class Store(Protocol):
    """Writes a commit only if that version does not exist yet: see :class:`LogStore`."""

    def put(self, version: int, lines: Sequence[str]) -> None:
        """Write the commit of ``version`` if it does not exist."""

    def refresh(self) -> None:
        """Let the engine read the log again."""


class PutIfAbsent:
    """Writes one commit, with retries. Recognizes it by ``txn_id``, which its ``commitInfo`` must contain."""

    def __init__(self, store: Store, log: TableLog) -> None:
        self._store = store
        self._log = log
        self._failures = 0
        self.txn_id = str(uuid.uuid4())

    def put(self, version: int, lines: Sequence[str]) -> bool:
        """Try to write the commit; return True if the commit of ``version`` is ours.

        If it returns False, build the commit again and retry. After a failure the version is read first, because it
        may have been written.

        :raises Exception: the storage's own error, if a retry cannot help
        """
        try:
            self._store.put(version, lines)
        except Exception as error:
            winner = self._winner(version)
            if winner is None:
                self._wait(error)
            return winner is not None and self.is_ours(winner)
        self.refresh()
        return True

    def is_ours(self, actions: Sequence[Action]) -> bool:
        """Return True if this object wrote the commit with ``actions``."""
        return commit_info(actions).get("txnId") == self.txn_id

    def refresh(self) -> None:
        """Let the engine read the log again. Errors are ignored: they do not affect the commit."""
        with suppress(Exception):
            self._store.refresh()

    def _winner(self, version: int) -> list[Action] | None:
        self.refresh()
        try:
            return self._log.read_commit(commit_name(version))
        except MissingFileError:
            return None

    def _wait(self, error: Exception) -> None:
        if self._failures == len(_WAITS) or not understand(error).retryable:
            raise error
        time.sleep(_WAITS[self._failures])
        self._failures += 1


def refuse_unsafe_store(session: SparkDeltaSession, table: str, location: str, *, allow_unsafe: bool) -> Finding | None:
    """Return a refusal if a commit, by this provider or the engine, may overwrite another writer's commit.

    :param allow_unsafe: True if the user asserts that no other process writes to the table
    """
    if allow_unsafe:
        return None
    store = LogStore(session, location)
    return check_log_store(table, store.location, store.name)


class LogStore:
    """The log store that a session's Delta uses for a table.

    :param location: location of the table, as a URI
    """

    def __init__(self, session: SparkDeltaSession, location: str) -> None:
        self._jvm: Any = session.spark._jvm
        spark = session.spark._jsparkSession
        self._configuration: Any = spark.sessionState().newHadoopConf()
        self._directory = f"{location.rstrip('/')}/_delta_log"
        self._log: Any = None
        try:
            self._log = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark, location)
            self._store: Any = self._log.store()
        except Py4JJavaError:  # Delta does not open a damaged table
            self._store = self._jvm.org.apache.spark.sql.delta.storage.LogStore.apply(spark)

    @property
    def name(self) -> str:
        """The class that writes to this location."""
        store = self._store
        if store.getClass().getSimpleName() == "DelegatingLogStore":
            store = store.getDelegate(self._path(self._directory))
        if store.getClass().getSimpleName() == "LogStoreAdaptor":
            store = store.logStoreImpl()
        return str(store.getClass().getName())

    @property
    def location(self) -> str:
        """The real location of the table: ``viewfs`` and similar schemes are mounts of other file systems."""
        path = self._path(self._directory).getParent()
        while path.getParent() is not None:
            try:
                return str(path.getFileSystem(self._configuration).resolvePath(path).toUri().toString())
            except Py4JJavaError as error:
                if error.java_exception.getClass().getName() != "java.io.FileNotFoundException":
                    raise
                path = path.getParent()  # the directory of a new table does not exist yet, but its parent does
        return self._directory

    def put(self, version: int, lines: Sequence[str]) -> None:
        """Write the commit of ``version`` if it does not exist. After any error it may still have been written.

        :raises Py4JJavaError: if it exists (``FileAlreadyExistsException``), or the storage failed
        :raises OSError: if its directory cannot be created
        """
        texts = self._jvm.java.util.ArrayList()
        for line in lines:
            texts.add(line)
        actions = self._jvm.scala.Predef.genericWrapArray(texts.toArray()).iterator()
        path = self._path(f"{self._directory}/{commit_name(version)}")
        if version == 0 and not path.getFileSystem(self._configuration).mkdirs(path.getParent()):
            raise OSError(f"{self._directory} could not be created. Is there a file in its way, or is it read-only?")
        self._store.write(path, actions, False, self._configuration)

    def refresh(self) -> None:
        """Let Delta read the log again. It completes half-done writes there, and drops its cached snapshot."""
        if self._log is None:
            return
        none = getattr(getattr(self._jvm.scala, "None$"), "MODULE$")
        self._log.update(False, none, none)

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)


class TableMovedError(Exception):
    """Another writer changed protocol or metadata, so the plan no longer holds."""


class CommitRefusedError(Exception):
    """The step must not be done. Carries the refusals that explain why."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(" ".join(finding.message for finding in findings))
        self.findings = findings


#: Makes the edit for the version that the commit follows, and proves it again on that version. Raises
#: CommitRefusedError or TableMovedError if the edit must not be made there.
MakeEdit = Callable[[CommitBase], Edit]

#: Number of tries if other writers are faster.
_TRIES = 10


class DirectCommit:
    """Writes one commit to a table.

    :param planned_on: state that the plan is based on; later commits may add and remove files, nothing else
    :param user_metadata: labels of the run, as JSON: see ``SparkDeltaSession.user_metadata``
    """

    def __init__(self, table: OpenTable, store: Store, planned_on: TableState, user_metadata: str | None) -> None:
        self._table = table
        self._name = table.name.text
        self._store = store
        self._planned_on = planned_on
        self._user_metadata = user_metadata
        self._put = PutIfAbsent(store, table.log)

    @classmethod
    def in_session(cls, session: SparkDeltaSession, table: OpenTable, planned_on: TableState) -> DirectCommit:
        """Return a commit through the log store of a session, with the session's current labels."""
        return cls(table, LogStore(session, table.location), planned_on, session.user_metadata)

    def write(self, make: MakeEdit) -> int:
        """Write the commit, and return its version.

        A failed try may still have written the commit. It is recognized by its ``txnId``.

        :raises CommitRefusedError: if it must not be written
        :raises TableMovedError: if another writer changed protocol or metadata, or was faster too often
        """
        for _ in range(_TRIES):
            base = self._table.log.read_commit_base()
            written = self._latest_equal_version(base.state)
            if written is not None:
                self._put.refresh()
                return written
            version = base.state.version + 1
            if self._put.put(version, self._lines(base, make)):
                return version
        raise TableMovedError(f"Other writers were faster {_TRIES} times on {self._name}. This step was not done.")

    def _lines(self, base: CommitBase, make: MakeEdit) -> list[str]:
        refusals = check_writable(self._name, base.state) or check_timestamp(self._name, base)
        if refusals:
            raise CommitRefusedError(*refusals)
        stamp = CommitIdentity(int(time.time() * 1000), self._put.txn_id, self._user_metadata)
        lines = lines_of(actions_of(make(base), base, stamp))
        broken = check_commit(self._name, base, lines, KeptLog(self._table.log))
        if broken:
            raise CommitRefusedError(*broken)
        return lines

    def _latest_equal_version(self, state: TableState) -> int | None:
        """Return the version of this commit if an earlier try wrote it.

        :raises TableMovedError: if another writer changed protocol or metadata since the plan was made
        """
        if state.metadata.id != self._planned_on.metadata.id:
            raise TableMovedError(
                f"{self._name} is now another table than the one that was planned on: its id was "
                f"{self._planned_on.metadata.id} and is {state.metadata.id}. Nothing was done."
            )
        for version, actions in self._table.log.commits_after(self._planned_on.version):
            if self._put.is_ours(actions):
                return version
            if changes_metadata(actions):
                raise TableMovedError(
                    f"Another writer changed protocol or metadata of {self._name} in version {version}, after this "
                    f"was planned on version {self._planned_on.version}. This step was not done."
                )
        planned = self._planned_on
        if (state.protocol, state.metadata) != (planned.protocol, planned.metadata):
            raise TableMovedError(
                f"Protocol or metadata of {self._name} differ from version {planned.version}, on which this was "
                "planned. This step was not done."
            )
        return None
