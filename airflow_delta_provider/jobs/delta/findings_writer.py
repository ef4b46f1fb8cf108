"""Appends findings to a table without Spark, by the package ``deltalake``."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.report.findings_table import (
    COLUMNS,
    PROPERTIES,
    TRANSACTION_VERSION,
    Column,
    FindingsTableError,
    Row,
    Run,
    missing_columns,
)
from airflow_delta_provider.domain.table_name import TableName, normal_location
from airflow_delta_provider.jobs.delta.session import DeltaSession

#: Tries if other writers commit at the same moment, and seconds before each further one.
_TRIES, _WAIT = 8, 0.2
_LOCAL = "file://"
#: Class of the errors of Rust, which is no Exception: for instance in a fork of a process that used the package.
_PANIC = "PanicException"
#: The error for conflicts whose class is not exported: another run added columns, or this run committed already.
_CONFLICT = re.compile(r"transaction|conflict|concurrent|already exists|version \d+", re.IGNORECASE)
_MISSING = (
    "the package deltalake is not installed where the job runs. Install airflow-delta-provider[findings], or use the "
    "engine spark"
)


def append(session: DeltaSession, table: TableName, location: str | None, rows: Sequence[Row], run: Run) -> None:
    """Append rows by one commit, unless the run's transaction is in the table.

    The package does not compare transactions by itself; it only refuses a commit if another writer has committed the
    same application id since the table was loaded. So each try loads the table first.

    :raises FindingsTableError: if it is not a table of findings, or ``deltalake`` is missing
    """
    if location is None:
        raise FindingsTableError(
            "it is a name in a catalog, and there is no catalog without Spark. Name its path or URI"
        )
    try:
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
        from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    except ImportError as error:
        raise FindingsTableError(_MISSING) from error
    del table
    place, options = _place(location), dict(session.delta_options(normal_location(location)))
    now = int(time.time() * 1000)
    transaction = Transaction(run.application, TRANSACTION_VERSION, now)
    for tried in range(1, _TRIES + 1):
        try:
            try:
                found = DeltaTable(place, storage_options=options)
            except TableNotFoundError:
                # Created without rows: the package compares no transactions with those of a table that is new to it.
                # Without retries: the second of two writers would commit its metadata once more.
                DeltaTable.create(
                    place,
                    _schema(COLUMNS),
                    configuration=dict(PROPERTIES),
                    storage_options=options,
                    commit_properties=CommitProperties(max_commit_retries=0),
                )
                found = DeltaTable(place, storage_options=options)
            if (found.transaction_version(run.application) or 0) >= TRANSACTION_VERSION:
                return
            known = _types(found)
            columns = _wanted(known)
            write_deltalake(
                found,
                _arrow_table(rows, columns),
                mode="append",
                # "merge" adds columns, and is also needed if the table has columns of its own.
                schema_mode=None if [column.name for column in columns] == [*known] else "merge",
                commit_properties=CommitProperties(app_transactions=[transaction]),
            )
        except (DeltaError, OSError) as error:
            # A commit whose answer was lost counts: the next try finds its transaction.
            is_conflict = isinstance(error, CommitFailedError) or _CONFLICT.search(str(error))
            if tried == _TRIES or not is_conflict:
                raise
            time.sleep(_WAIT * tried * random.uniform(0.5, 1.5))
        except BaseException as error:
            if type(error).__name__ != _PANIC:
                raise
            raise FindingsTableError(f"deltalake failed: {error}") from None
        else:
            return


def _place(location: str) -> str:
    """Return a location as the package accepts it: a path, or a URI with the usual scheme."""
    return normal_location(location).removeprefix(_LOCAL)


def _types(table: Any) -> dict[str, str]:
    """Return the types of a table's columns, as in its schema; a nested type is its first word."""
    return {field.name: getattr(field.type, "type", "") for field in table.schema().fields}


def _wanted(types: Mapping[str, str]) -> tuple[Column, ...]:
    """Return the columns to write: those of the table in its order and spelling, then the missing ones.

    :param types: types of the table's columns by name
    :raises FindingsTableError: if it is not a table of findings
    """
    lacking, known = missing_columns(types), {column.name: column for column in COLUMNS}
    there = (replace(known[name.casefold()], name=name) for name in types if name.casefold() in known)
    return (*there, *lacking)


def _arrow_types() -> Mapping[str, Any]:
    from arro3.core import DataType

    return {
        "string": DataType.string(),
        "integer": DataType.int32(),
        "long": DataType.int64(),
        "double": DataType.float64(),
        "boolean": DataType.bool(),
        "timestamp": DataType.timestamp("us", tz="UTC"),
    }


def _schema(columns: Sequence[Column]) -> Any:
    from arro3.core import Field, Schema

    types = _arrow_types()
    return Schema([Field(column.name, types[column.type], nullable=True) for column in columns])


def _arrow_table(rows: Sequence[Row], columns: Sequence[Column]) -> Any:
    """Return rows as an Arrow table."""
    from arro3.core import Array, Table

    types, arrays = _arrow_types(), []
    for column in columns:
        values = [row.get(column.name.casefold()) for row in rows]
        if column.type == "timestamp":  # arro3 makes no timestamps of values
            micros = [None if value is None else round(value.timestamp() * 1_000_000) for value in values]
            arrays.append(Array(micros, type=types["long"]).cast(types[column.type]))
        else:
            arrays.append(Array(values, type=types[column.type]))
    return Table.from_arrays(arrays, schema=_schema(columns))
