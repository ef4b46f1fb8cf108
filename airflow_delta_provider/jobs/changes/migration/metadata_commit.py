"""A commit that changes only metadata, through a transaction of the engine."""

from __future__ import annotations

import time
import uuid
from typing import Any

from airflow_delta_provider.domain.changes.commit.edit import lines_of
from airflow_delta_provider.domain.changes.commit.rule_check import check_commit
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.earlier_path import forbidden_nulls
from airflow_delta_provider.domain.migrations.edit import edited
from airflow_delta_provider.jobs.changes.commit.direct_commit import CommitRefusedError, TableMovedError
from airflow_delta_provider.jobs.changes.commit.engine_transaction import EngineTransaction
from airflow_delta_provider.jobs.changes.migration.lost_values import find_nulls
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.delta.log.kept_log import KeptLog
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession


def commit_metadata(session: SparkDeltaSession, table: OpenTable, since: TableState, step: Step) -> int | None:
    """Commit a step's changes of the metadata; return the version, or None if it changes nothing.

    Other writers may add and remove files in the meantime. If the step forbids NULL, they must not add any.

    :param since: state of the table after which other writers may only add and remove files
    :raises TableMovedError: if another writer changed protocol or metadata since
    :raises CommitRefusedError: if the commit would break a rule, or a column that shall forbid NULL contains it
    :raises Py4JJavaError: if the engine refuses the change, or another writer was faster
    """
    transaction = EngineTransaction(session, table.location)
    base = base_of(transaction, table, since)
    old = (transaction.protocol, transaction.metadata)
    if forbidden := list(forbidden_nulls(step)):
        transaction.bar_new_files()
        if found := find_nulls(session, table, base.state, forbidden):
            raise CommitRefusedError(*found)
    transaction.update_metadata(edited(step, transaction.metadata))
    if (transaction.protocol, transaction.metadata) == old:
        return None
    intended = _intended_actions(transaction, base, old)
    if broken := check_commit(table.name.text, base, lines_of(intended), KeptLog(table.log)):
        raise CommitRefusedError(*broken)
    return transaction.commit_metadata()


def base_of(transaction: EngineTransaction, table: OpenTable, since: TableState) -> CommitBase:
    """Return the version that a transaction reads.

    :raises TableMovedError: if its protocol or metadata differ from ``since``
    """
    base = table.log.read_commit_base(transaction.version)
    if (base.state.protocol, base.state.metadata) != (since.protocol, since.metadata):
        raise TableMovedError(
            f"Protocol or metadata of {table.name.text} in version {transaction.version} differ from version "
            f"{since.version}, on which this was planned. This step was not done."
        )
    return base


def _intended_actions(
    transaction: EngineTransaction, base: CommitBase, old: tuple[dict[str, Any], dict[str, Any]]
) -> list[Action]:
    """Return the actions of the commit, with the required fields of ``commitInfo``, which the engine writes itself."""
    now = int(time.time() * 1000)
    previous = base.previous.info.get("inCommitTimestamp") if base.previous is not None else None
    timestamp = max(now, previous + 1) if isinstance(previous, int) else now
    info = {
        "inCommitTimestamp": timestamp,
        "timestamp": timestamp,
        "operation": "UPDATE SCHEMA",
        "operationParameters": {},
        "engineInfo": "Delta-Lake",
        "txnId": str(uuid.uuid4()),
    }
    protocol, metadata = transaction.protocol, transaction.metadata
    actions: list[Action] = [{"commitInfo": info}]
    if protocol != old[0]:
        actions.append({"protocol": protocol})
    if metadata != old[1]:
        actions.append({"metaData": metadata})
    return actions
