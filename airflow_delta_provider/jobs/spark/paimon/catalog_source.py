"""Snapshots, files and rows of a table, read through the user's own Paimon catalog in Spark SQL.

A thin adapter to the values and frames that the rules use, for tables whose files cannot be read directly: other
formats than Parquet, REST and Hive catalogs, encrypted stores. It is written from the columns of Paimon's connector,
and tested on tables and views with the same columns, not with a live connector. Other shapes are refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sql
from pyspark.sql import types as spark_types

from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.paimon.data_type import fields_of
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileSource
from airflow_delta_provider.domain.paimon.snapshot import ManifestListFile, Snapshot
from airflow_delta_provider.domain.paimon.table_history import ROW_ID, SEQUENCE_NUMBER
from airflow_delta_provider.domain.paimon.table_schema import KNOWN_VERSIONS, TableSchema
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.spark.paimon.row_frame import UserColumn, comparable_columns
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession

_WHOLE = (spark_types.LongType, spark_types.IntegerType)
_TEXT = (spark_types.StringType,)
#: Required columns, and their types.
_SNAPSHOTS: Mapping[str, tuple[type, ...]] = {
    "snapshot_id": _WHOLE,
    "schema_id": _WHOLE,
    "commit_kind": _TEXT,
    "total_record_count": _WHOLE,
    "next_row_id": _WHOLE,
}
_FILES: Mapping[str, tuple[type, ...]] = {
    "record_count": _WHOLE,
    "min_sequence_number": _WHOLE,
    "max_sequence_number": _WHOLE,
    "schema_id": _WHOLE,
    "first_row_id": _WHOLE,
    "write_cols": (spark_types.ArrayType,),
}
_SCHEMAS: Mapping[str, tuple[type, ...]] = {"schema_id": _WHOLE, "fields": _TEXT}
_ROWS: Mapping[str, tuple[type, ...]] = {ROW_ID: (spark_types.LongType,), SEQUENCE_NUMBER: (spark_types.LongType,)}
#: One of these columns has a file's name, depending on the version of the connector.
_NAMES = ("file_name", "file_path")
_NO_LIST = ManifestListFile("", None)
#: Identifier of a commit if the catalog does not show it. For ``sys.merge_branch`` the identifier is 0.
_UNKNOWN = -1


class UnknownShapeError(Exception):
    """The catalog returned data of an unknown shape. The message describes it."""


class CatalogSource:
    """A table of the user's Paimon catalog.

    :param name: name as in SQL, of one to three parts
    :param separator: text between the table's name and the name of a system table; Paimon's own works only in its
        catalogs
    """

    def __init__(self, session: SparkTableSession, name: TableName, separator: str = "$") -> None:
        self._session = session
        self._name = name
        self._separator = separator

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots that are kept, in order.

        :raises UnknownShapeError: if they do not have the expected columns
        """
        frame = self._session.spark.sql(f"SELECT * FROM {self._system_table('snapshots')}")
        _check(frame, _SNAPSHOTS, "$snapshots")
        return [_snapshot(row) for row in frame.orderBy("snapshot_id").collect()]

    def files(self) -> list[DataFile]:
        """Return the live files of the newest snapshot.

        :raises UnknownShapeError: if they do not have the expected columns
        """
        frame = self._session.spark.sql(f"SELECT * FROM {self._system_table('files')}")
        _check(frame, _FILES, "$files")
        named = next((name for name in _NAMES if name in frame.columns), None)
        if named is None:
            raise UnknownShapeError(f"$files has none of the columns {', '.join(_NAMES)}")
        return [_file(row, named) for row in frame.collect()]

    def schemas(self, ids: Collection[int]) -> dict[int, TableSchema]:
        """Return schemas by id, with only their columns.

        :raises UnknownShapeError: if a schema is missing, or they do not have the expected columns
        """
        frame = self._session.spark.sql(f"SELECT * FROM {self._system_table('schemas')}")
        _check(frame, _SCHEMAS, "$schemas")
        found: dict[int, TableSchema] = {}
        for row in frame.where(sql.col("schema_id").isin([*ids])).collect():
            try:
                fields = fields_of({"fields": json.loads(row["fields"])})
            except (KeyError, ValueError) as error:
                raise UnknownShapeError(
                    f"$schemas has a schema {row['schema_id']} that cannot be read: {error}"
                ) from error
            found[row["schema_id"]] = TableSchema(
                KNOWN_VERSIONS[-1], row["schema_id"], fields, 0, (), (), {}, None, None
            )
        if missing := set(ids) - found.keys():
            raise UnknownShapeError(f"$schemas has no schema {', '.join(map(str, sorted(missing)))}")
        return found

    def columns(self, snapshots: Sequence[Snapshot]) -> tuple[list[UserColumn], list[str]]:
        """Return the table's own columns that can be compared across snapshots, and the names of the others.

        :raises UnknownShapeError: if columns cannot be matched between several schemas
        """
        ids = {snapshot.schema_id for snapshot in snapshots}
        if len(ids) > 1:
            return comparable_columns(self.schemas(ids))
        columns: list[UserColumn] = []
        others: list[str] = []
        newest = self._session.spark.sql(f"SELECT * FROM {self._name.sql} VERSION AS OF {snapshots[-1].id}")
        for field in newest.schema.fields:
            kind = field.dataType
            if field.name in _ROWS:
                continue
            if "map<" in kind.simpleString() or "variant" in kind.simpleString():
                others.append(field.name)
                continue
            nested = isinstance(kind, (spark_types.StructType, spark_types.ArrayType))
            names = dict.fromkeys(ids, field.name)
            columns.append(UserColumn(field.name, names, {}, kind.simpleString(), nested))
        return columns, others

    def rows(self, states: Sequence[tuple[int, bool, Snapshot]], columns: Sequence[UserColumn]) -> DataFrame:
        """Return the rows of snapshots, in the form of :meth:`RowFrame.rows`. Their places in files are unknown.

        :param states: number of the comparison, True for the rows after it, and the snapshot
        :raises UnknownShapeError: if the table lacks the columns of row tracking
        """
        return reduce(DataFrame.union, (self._rows_at(*state, columns) for state in states))

    def _rows_at(self, step: int, after: bool, snapshot: Snapshot, columns: Sequence[UserColumn]) -> DataFrame:
        selected = ", ".join(
            [
                f"{step} AS step",
                f"{str(after).lower()} AS after",
                f"{ROW_ID} AS id",
                f"{SEQUENCE_NUMBER} AS seq",
                "true AS fits",
                "0 AS file",
                "CAST(NULL AS BIGINT) AS position",
                *(f"{_value(column, snapshot)} AS c{index}" for index, column in enumerate(columns)),
            ]
        )
        # Both are selected by name: SELECT * leaves them out, and t$row_tracking declares them NOT NULL, which hides
        # nulls.
        frame = self._session.spark.sql(f"SELECT {selected} FROM {self._name.sql} VERSION AS OF {snapshot.id}")
        shape = frame.select(sql.col("id").alias(ROW_ID), sql.col("seq").alias(SEQUENCE_NUMBER))
        _check(shape, _ROWS, "the table")
        return frame

    def _system_table(self, what: str) -> str:
        """Return the name of one of this table's system tables, for SQL."""
        *parents, last = self._name.identifier or ()
        return ".".join(map(quote, (*parents, f"{last}{self._separator}{what}")))


def _value(column: UserColumn, snapshot: Snapshot) -> str:
    """Return an expression for a column in a snapshot."""
    name = column.names.get(snapshot.schema_id)
    if name is None:
        return f"CAST(NULL AS {column.type})"
    return f"CAST({quote(name)} AS {column.type})" if column.types else quote(name)


def _check(frame: DataFrame, columns: Mapping[str, tuple[type, ...]], what: str) -> None:
    types: dict[str, Any] = {field.name: field.dataType for field in frame.schema.fields}
    if missing := [name for name in columns if name not in types]:
        raise UnknownShapeError(f"{what} has no column {', '.join(missing)}")
    if wrong := [name for name, kinds in columns.items() if not isinstance(types[name], kinds)]:
        found = ", ".join(f"{name} of type {types[name].simpleString()}" for name in wrong)
        raise UnknownShapeError(f"{what} has {found}")


def _snapshot(row: Row) -> Snapshot:
    known = row.asDict()
    time = known.get("commit_time")
    return Snapshot(
        version=3,
        uuid=None,
        id=known["snapshot_id"],
        schema_id=known["schema_id"],
        base=_NO_LIST,
        delta=_NO_LIST,
        changelog=None,
        index_manifest=None,
        commit_user=known.get("commit_user") or "",
        commit_identifier=known.get("commit_identifier", _UNKNOWN),
        commit_kind=known["commit_kind"],
        operation=known.get("operation"),
        time_millis=int(time.timestamp() * 1000) if hasattr(time, "timestamp") else -(1 << 62),
        total_record_count=known["total_record_count"],
        delta_record_count=known.get("delta_record_count"),
        changelog_record_count=None,
        next_row_id=known["next_row_id"],
        watermark=None,
        statistics=None,
        writer_version=known.get("writer_version"),
    )


def _file(row: Row, named: str) -> DataFile:
    columns = row["write_cols"]
    source = row.asDict().get("file_source")
    return DataFile(
        partition=b"",
        bucket=0,
        name=row[named].rsplit("/", 1)[-1],
        size=0,
        row_count=row["record_count"],
        min_sequence=row["min_sequence_number"],
        max_sequence=row["max_sequence_number"],
        schema_id=row["schema_id"],
        level=0,
        extra_files=(),
        created_millis=None,
        delete_row_count=None,
        embedded_index=None,
        source=FileSource.__members__.get(source or "", FileSource.UNKNOWN),
        external_path=None,
        first_row_id=row["first_row_id"],
        write_cols=None if columns is None else tuple(columns),
    )
