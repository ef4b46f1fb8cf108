"""Rewriting a table with other types or another partitioning, in one transaction of the engine."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.changes.step import RewriteTable
from airflow_delta_provider.domain.checks.data_files.rewritten import rewritten_otherwise
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.casting import recast
from airflow_delta_provider.domain.migrations.edit import edited
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.changes.column_values import row_sums
from airflow_delta_provider.jobs.changes.commit.engine_transaction import EngineTransaction
from airflow_delta_provider.jobs.changes.commit.errors import CommitRefusedError
from airflow_delta_provider.jobs.changes.migration.lost_values import find_lost
from airflow_delta_provider.jobs.changes.migration.metadata_commit import base_of
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.spark_settings import configured

#: Rows are brought together by partition before they are written: not every task writes a file of each.
_FEW_FILES = {"spark.databricks.delta.optimizeWrite.enabled": "true"}


def rewrite_table(
    session: SparkDeltaSession, table: OpenTable, since: TableState, step: RewriteTable
) -> tuple[int, tuple[Finding, ...]]:
    """Rewrite all rows of the newest version, once it is known that the casts lose none of their values.

    Whatever the casts do not concern stays as it is: names, ids, comments, defaults, constraints, properties. The
    engine checks the constraints, NOT NULL and generated columns for the new values.

    :param since: a state of the table from which on other writers may only add and remove files
    :returns: the version of the commit, and how its rows differ from what they should be
    :raises TableMovedError: if another writer changed protocol or metadata since
    :raises CommitRefusedError: if values would be lost
    :raises Py4JJavaError: if the engine refuses the change, or another writer committed in the meantime
    """
    transaction = EngineTransaction(session, table.location)
    transaction.bar_new_files()
    state = base_of(transaction, table, since).state
    rows: Any = session.spark.read.format("delta").option("versionAsOf", state.version).load(table.location)
    if lost := find_lost(rows, state, step.casts):
        raise CommitRefusedError(*lost)
    values = recast({field.name: field.data_type for field in state.metadata.schema.fields}, step.casts)
    transaction.update_metadata(edited(step, transaction.metadata))
    with configured(session.spark, _FEW_FILES):
        version = transaction.overwrite(rows.selectExpr(*values))
    before = row_sums(session, table.location, state.version, values)
    return version, tuple(rewritten_otherwise(before, row_sums(session, table.location, version), version))
