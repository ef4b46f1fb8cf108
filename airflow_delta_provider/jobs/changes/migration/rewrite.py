"""Rewrite of a table with other types or another partitioning, in one transaction of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from posixpath import basename

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import StructType

from airflow_delta_provider.domain.changes.step import RewriteTable
from airflow_delta_provider.domain.checks.data_files.files import rewritten_otherwise
from airflow_delta_provider.domain.delta.column_mapping import file_schema, physical_name
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.migrations.casting import recast
from airflow_delta_provider.domain.migrations.edit import edited
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.changes.column_values import row_sums, rows_of
from airflow_delta_provider.jobs.changes.commit.direct_commit import CommitRefusedError
from airflow_delta_provider.jobs.changes.commit.engine_transaction import EngineTransaction, WrittenFile
from airflow_delta_provider.jobs.changes.migration.lost_values import find_lost
from airflow_delta_provider.jobs.changes.migration.metadata_commit import base_of
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.shipped_rows import ship
from airflow_delta_provider.jobs.spark.session.sql_settings import configured
from airflow_delta_provider.jobs.spark.storage.hadoop_storage import literal

#: Rows are grouped by partition before they are written, so that not every task writes a file for each partition.
_FEW_FILES = {"spark.databricks.delta.optimizeWrite.enabled": "true"}
_TIME_ZONE = "spark.sql.session.timeZone"


@contextmanager
def in_zone_of(session: SparkDeltaSession, step: RewriteTable) -> Iterator[None]:
    """Set the time zone of a step for expressions. Spark reads the zone when it resolves an expression, not later."""
    with configured(session.spark, {_TIME_ZONE: step.time_zone} if step.time_zone else {}):
        yield


def rewrite_table(session: SparkDeltaSession, table: OpenTable, since: TableState, step: RewriteTable) -> int:
    """Rewrite all rows of the newest version, after a check that the casts lose no values.

    Everything else stays as it is: names, ids, comments, defaults, constraints, properties. The engine checks the
    constraints, NOT NULL and generated columns for the new values. The new files are compared with the rows before
    they are committed, so a run that dies never leaves unchecked rows.

    :param since: state of the table after which other writers may only add and remove files
    :returns: the version of the commit
    :raises TableMovedError: if another writer changed protocol or metadata since
    :raises CommitRefusedError: if values would be lost, or the files do not contain the expected rows
    :raises Py4JJavaError: if the engine refuses the change, or another writer committed in the meantime
    """
    transaction = EngineTransaction(session, table.location)
    transaction.bar_new_files()
    state = base_of(transaction, table, since).state
    with in_zone_of(session, step):
        rows = rows_of(session, table.location, state.version)
        if lost := find_lost(rows, state, step.casts):
            raise CommitRefusedError(*lost)
        types = {field.name: field.data_type for field in state.metadata.schema.fields}
        rows = rows.selectExpr(*recast(types, step.casts))
    transaction.update_metadata(edited(step, transaction.metadata))
    with configured(session.spark, _FEW_FILES):
        files = transaction.write(rows)
    written = Metadata.from_json(transaction.metadata)
    if differing := tuple(_differing(session, table, rows, written, files)):
        raise CommitRefusedError(*differing)
    return transaction.replace_all(files)


def _differing(
    session: SparkDeltaSession, table: OpenTable, rows: DataFrame, metadata: Metadata, files: Sequence[WrittenFile]
) -> Iterator[Finding]:
    """Yield differences between the rows of uncommitted files and the rows that should have been written."""
    expected = row_sums(rows)
    found = 0, dict.fromkeys(expected[1], 0)
    if files:
        with session.reading_files():
            found = row_sums(written_rows(session, table.location, metadata, files))
    yield from rewritten_otherwise(table.name.text, expected, found)


_FILE, _PARTITION = "file of the row", "partition value "


def written_rows(
    session: SparkDeltaSession, location: str, metadata: Metadata, files: Sequence[WrittenFile]
) -> DataFrame:
    """Return the rows with the columns of the table, as readers will see them once the files are committed.

    The session must be :meth:`reading files <SparkDeltaSession.reading_files>` as long as the rows are read.

    :param metadata: metadata that will be committed with the files
    :param files: at least one file
    """
    mode, partitions = metadata.properties.mapping_mode, metadata.partition_columns
    fields = metadata.schema.fields
    inside = frozenset(field.name for field in fields if field.name not in partitions)
    schema: StructType = StructType.fromJson(file_schema(metadata, inside))
    paths = session.data_files(location).uris(file.path for file in files)
    rows: DataFrame = session.spark.read.schema(schema).parquet(*literal(paths))
    stored = {field.name: physical_name(field, mode) for field in fields}
    if partitions:
        known = [{"f": basename(f.path), **_numbered(f, [stored[name] for name in partitions])} for f in files]
        columns = ", ".join(f"p{index}: string" for index in range(len(partitions)))
        values = ship(session.spark, known, f"f: string, {columns}")
        named = [sql.col(f"p{index}").alias(f"{_PARTITION}{stored[name]}") for index, name in enumerate(partitions)]
        rows = rows.select("*", sql.col("_metadata.file_name").alias(_FILE))
        rows = rows.join(sql.broadcast(values.select(sql.col("f").alias(_FILE), *named)), _FILE)
        stored |= {name: f"{_PARTITION}{stored[name]}" for name in partitions}
    return rows.selectExpr(
        *(f"CAST({quote(stored[f.name])} AS {render_sql_type(f.data_type)}) AS {quote(f.name)}" for f in fields)
    )


def _numbered(file: WrittenFile, names: Sequence[str]) -> dict[str, str | None]:
    return {f"p{index}": file.partition_values[name] for index, name in enumerate(names)}
