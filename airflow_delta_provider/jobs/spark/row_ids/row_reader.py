"""Rows of data files with their ids. Only the two materialized columns are read.

PROTOCOL.md, Reader Requirements for Row Tracking.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import LongType, StructField, StructType

from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.row_ids.row_file import RowFile
from airflow_delta_provider.jobs.spark.session.shipped_rows import ship
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession
from airflow_delta_provider.jobs.spark.storage.hadoop_storage import literal
from airflow_delta_provider.jobs.tables.data_files import DataFiles

_LOOKUP = "key: string, file: int, base: bigint, version: bigint, deleted: array<bigint>"
#: SQL that is true if the bit of a row's ``position`` is set in its file's array ``deleted`` of signed words.
IS_DELETED = "coalesce(bit_get(get(deleted, CAST(position DIV 64 AS INT)), CAST(position % 64 AS INT)), 0) = 1"


@dataclass(frozen=True)
class FileRows:
    """A file whose rows are to be read.

    :param deleted: rows that its deletion vector deletes, as a bit set
    :param all_materialized: True if each row has a materialized id
    :param rows: number of its rows, including deleted ones; None if it is unknown
    """

    file: RowFile
    deleted: int
    all_materialized: bool = False
    rows: int | None = None


class RowReader:
    """Reads rows of one table's files.

    :param id_column: column with materialized row ids
    :param version_column: column with materialized row commit versions
    """

    def __init__(
        self, session: SparkTableSession, files: DataFiles, id_column: str, version_column: str | None = None
    ) -> None:
        self._session = session
        self.files = files
        self.id_column = id_column
        self._version_column = version_column

    def materialized_ids(self, rows: Sequence[FileRows]) -> DataFrame:
        """Return the column with materialized ids, as ``id``, of all rows, including deleted ones."""
        return self._read(rows, [self.id_column]).selectExpr(f"{quote(self.id_column)} AS id")

    def rows(self, rows: Sequence[FileRows]) -> DataFrame:
        """Return the live rows of files.

        Columns: ``id`` and ``commit_version``, both stable, null if the log gives the file none; ``file``, an index
        into ``rows``; ``position``, physical, from 0; ``materialized``, true if the id is in the file.
        """
        version = quote(self._version_column) if self._version_column else "CAST(NULL AS BIGINT)"
        columns = [self.id_column, *([self._version_column] if self._version_column else [])]
        read = self._read(rows, columns).selectExpr(
            f"{quote(self.id_column)} AS own_id",
            f"{version} AS own_version",
            "_metadata.file_path AS key",
            "_metadata.row_index AS position",
        )
        lookup = ship(self._session.spark, self._lookup(rows), _LOOKUP)
        # A file missing in the lookup must not go unnoticed, so it raises an error in the columns that all readers
        # need.
        known = "CASE WHEN file IS NULL THEN raise_error(concat('unknown file ', key)) ELSE {} END"
        return (
            read.join(sql.broadcast(lookup), "key", "left")
            .where(f"NOT ({IS_DELETED})")
            .selectExpr(
                f"{known.format('coalesce(own_id, base + position)')} AS id",
                "coalesce(own_version, version) AS commit_version",
                "file",
                "position",
                "own_id IS NOT NULL AS materialized",
            )
        )

    def _lookup(self, rows: Sequence[FileRows]) -> list[dict[str, Any]]:
        """Return the data that the rows of each file need, under every name that Spark may give the file."""
        found: dict[str, dict[str, Any]] = {}
        for index, row in enumerate(rows):
            known = {
                "file": index,
                "base": row.file.base_row_id,
                "version": row.file.default_row_commit_version,
                "deleted": words_of(row.deleted) if row.deleted else None,
            }
            for key in self._session.storage.spellings(self.files.uri(row.file)):
                if key in found:
                    raise RuntimeError(f"{key} may mean two files, {row.file.path} is one of them")
                found[key] = {"key": key, **known}
        return list(found.values())

    def _read(self, rows: Sequence[FileRows], columns: Sequence[str]) -> DataFrame:
        schema = StructType([StructField(column, LongType()) for column in columns])
        paths = [self.files.uri(row.file) for row in rows]
        return self._session.spark.read.schema(schema).parquet(*literal(paths))


def without_rows(spark: SparkSession, rows: DataFrame, deleted: Mapping[int, int]) -> DataFrame:
    """Return the rows that are not deleted.

    :param rows: rows with the columns ``file`` and ``position``
    :param deleted: deleted rows by file, as bit sets
    """
    shipped = [{"file": file, "deleted": words_of(bits)} for file, bits in deleted.items()]
    lookup = ship(spark, shipped, "file: int, deleted: array<bigint>")
    return rows.join(sql.broadcast(lookup), "file", "left").where(f"NOT ({IS_DELETED})").drop("deleted")


def words_of(bits: int) -> list[int]:
    """Return a bit set as signed 64-bit words, the lowest first."""
    count = (bits.bit_length() + 63) // 64
    return list(struct.unpack(f"<{count}q", bits.to_bytes(count * 8, "little")))
