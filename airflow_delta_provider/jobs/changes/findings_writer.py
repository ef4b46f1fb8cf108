"""Appends findings to a table by Delta Lake for Spark."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from airflow_delta_provider.domain.delta.log_files import has_log
from airflow_delta_provider.domain.report.findings_table import (
    COLUMNS,
    PROPERTIES,
    TRANSACTION_VERSION,
    FindingsTableError,
    Row,
    Run,
    missing_columns,
)
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.changes.commit import refuse_unsafe_store
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import configured
from airflow_delta_provider.jobs.storage.errors import MissingFileError

#: Tries if other writers commit at the same moment, and seconds before each further one.
_TRIES, _WAIT = 8, 0.5
#: Parts of messages and conditions of conflicts. The last one is of two runs that create the table.
_CONFLICTS = ("CONCURRENT", "CONFLICT", "MetadataChanged", "ProtocolChanged", "AlreadyExists", "ALREADY_EXISTS")
#: Delta's own options of a write that is done once.
_APPLICATION, _VERSION = "txnAppId", "txnVersion"
_TYPES: Mapping[str, DataType] = {
    "string": StringType(),
    "integer": IntegerType(),
    "long": LongType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "timestamp": TimestampType(),
}


def append(session: SparkDeltaSession, table: TableName, location: str | None, rows: Sequence[Row], run: Run) -> None:
    """Append rows by one commit, unless the run's transaction is in the table.

    Delta compares the transaction with the table when the write begins, and again with each commit that it conflicts
    with.

    :raises FindingsTableError: if it is not a table of findings, or concurrent writers are not safe there
    """
    try:
        session.require_delta()
    except RuntimeError as error:
        raise FindingsTableError(str(error)) from error
    if location is not None:
        refusal = refuse_unsafe_store(session, table.text, location, allow_unsafe=False)
        if refusal is not None:
            raise FindingsTableError(
                f"{refusal.message.rstrip('.')}. Or read the tables with the engine python, whose writer is safe there"
            )
    for tried in range(1, _TRIES + 1):
        there = location is not None and _is_there(session, location)
        try:
            _write(session, table, rows, run, location if there or table.identifier is None else None, there=there)
        except (PySparkException, Py4JJavaError) as error:
            if tried == _TRIES or not any(part in str(error) for part in _CONFLICTS):
                raise
            time.sleep(_WAIT * tried)
        else:
            return


def _write(
    session: SparkDeltaSession, table: TableName, rows: Sequence[Row], run: Run, location: str | None, *, there: bool
) -> None:
    lacking = missing_columns(_types(session, location)) if there and location is not None else ()
    options = {_APPLICATION: run.application, _VERSION: str(TRANSACTION_VERSION)}
    if lacking:
        options["mergeSchema"] = "true"
    writer = _frame(session, rows).write.format("delta").mode("append")
    # New tables of names have their properties from the session: options of saveAsTable are not kept.
    defaults = {f"spark.databricks.delta.properties.defaults.{key[6:]}": value for key, value in PROPERTIES.items()}
    with session.labelled(run.labels), configured(session.spark, {} if there else defaults):
        if location is None:
            writer.options(**options).saveAsTable(table.sql)
        else:
            writer.options(**options).save(location)


def _frame(session: SparkDeltaSession, rows: Sequence[Row]) -> DataFrame:
    fields = [StructField(column.name, _TYPES[column.type], nullable=True) for column in COLUMNS]
    values = [tuple(row.get(column.name) for column in COLUMNS) for row in rows]
    return session.spark.createDataFrame(values, StructType(fields), verifySchema=False).coalesce(1)


def _types(session: SparkDeltaSession, location: str) -> dict[str, str]:
    """Return the types of a table's columns, as in its schema; a nested type is its first word."""
    schema: Any = session.spark.read.format("delta").load(location).schema
    return {field.name: field.dataType.typeName() for field in schema.fields}


def _is_there(session: SparkDeltaSession, location: str) -> bool:
    try:
        return has_log(session.open_log(location).list_names())
    except MissingFileError:
        return False
