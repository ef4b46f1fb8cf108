"""A scratch table: an empty copy of a table, on which an engine tries statements. It is removed afterwards."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from airflow_delta_provider.domain.changes.commit.edit import lines_of
from airflow_delta_provider.domain.changes.rehearsal import empty_copy
from airflow_delta_provider.domain.engine.spark_master import is_local
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.changes.commit.engine_transaction import EngineTransaction
from airflow_delta_provider.jobs.changes.commit.log_store import LogStore
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession

#: Folder within the folder of a table. Readers, VACUUM and searches for tables skip folders with this prefix.
FOLDER = "_delta_provider_rehearsals"
#: Age in seconds after which folders of killed processes are removed.
_LEFT_FOR_SECONDS = 24 * 60 * 60


@contextmanager
def scratch_table(session: SparkDeltaSession, location: str, domains: Mapping[str, str]) -> Iterator[OpenTable]:
    """Create an empty table with the protocol and metadata of another one; remove it afterwards.

    If Spark runs only on this machine, it lies in a local temporary folder. Otherwise it lies within the table's
    folder, because the machines of a cluster can read and write there, and this job may do so.

    :param location: the other table's location
    :param domains: configuration of its domains, by name
    """
    if _runs_here(session):
        folder = tempfile.mkdtemp(prefix="delta-provider-rehearsal-")
        try:
            with _table_at(session, location, domains, session.storage.qualify(f"file:{folder}/t")) as table:
                yield table
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    parent = f"{location.rstrip('/')}/{FOLDER}"
    scratch = f"{parent}/{int(time.time())}-{uuid.uuid4().hex}"
    try:
        with _table_at(session, location, domains, scratch) as table:
            yield table
    finally:
        with suppress(Exception):
            _remove(session, parent, scratch)


def _runs_here(session: SparkDeltaSession) -> bool:
    """Return True if tasks run in the process of the driver, on its files."""
    return is_local(session.spark.sparkContext.master)


@contextmanager
def _table_at(
    session: SparkDeltaSession, original: str, domains: Mapping[str, str], location: str
) -> Iterator[OpenTable]:
    transaction = EngineTransaction(session, original)
    actions = empty_copy(transaction.protocol, transaction.metadata, domains)
    LogStore(session, location).put(0, lines_of(actions))
    try:
        yield OpenTable(TableName(location, location=location), location, session.open_log(location))
    finally:
        with suppress(Exception):
            _forget(session, location)


def _forget(session: SparkDeltaSession, location: str) -> None:
    """Let Delta drop its cached state of a table."""
    jvm: Any = session.spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(location)
    jvm.org.apache.spark.sql.delta.DeltaLog.invalidateCache(session.spark._jsparkSession, path)


def _remove(session: SparkDeltaSession, parent: str, scratch: str) -> None:
    """Remove a scratch table and leftovers of killed processes, and the folder if it is empty then."""
    jvm: Any = session.spark._jvm
    path = jvm.org.apache.hadoop.fs.Path
    files = path(parent).getFileSystem(session.spark._jsparkSession.sessionState().newHadoopConf())
    files.delete(path(scratch), True)
    old = time.time() - _LEFT_FOR_SECONDS
    left = [status.getPath() for status in files.listStatus(path(parent))]
    for each in left:
        began = each.getName().partition("-")[0]
        if began.isdigit() and int(began) < old:
            files.delete(each, True)
    if not files.listStatus(path(parent)):
        files.delete(path(parent), False)
