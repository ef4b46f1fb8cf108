"""Delta's log store, which writes a commit only if that version does not exist yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError

from airflow_delta_provider.domain.changes.commit.log_stores import check_log_store
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession


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
        self._log: Any = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark, location)

    @property
    def name(self) -> str:
        """The class that writes to this location."""
        store = self._log.store()
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
        self._log.store().write(path, actions, False, self._configuration)

    def refresh(self) -> None:
        """Let Delta read the log again. It completes half-done writes there, and drops its cached snapshot."""
        none = getattr(getattr(self._jvm.scala, "None$"), "MODULE$")
        self._log.update(False, none, none)

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)
