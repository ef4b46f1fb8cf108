"""Rows of data files with their ids. Only the two materialized columns are read.

PROTOCOL.md, Reader Requirements for Row Tracking.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import LongType, StructField, StructType

from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import LocatedRow, RowFile
from airflow_delta_provider.domain.checks.row_tracking.id_sets import IDS, IdBucket, buckets_of
from airflow_delta_provider.domain.text import quote
from airflow_delta_provider.jobs.process import have
from airflow_delta_provider.jobs.spark.hadoop_storage import literal
from airflow_delta_provider.jobs.spark.session import ship
from airflow_delta_provider.jobs.spark.table_session import SparkTableSession
from airflow_delta_provider.jobs.tables.table_storage import DataFiles

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


#: Maximum files, and rows with or without materialized ids, to read here: about a second on a local disk.
_MOST_FILES, _MOST_ROWS = 1000, 1 << 24
_BITS = (IDS - 1).bit_length()


class _NotPlainError(Exception):
    """The file does not have the expected form."""


def is_available() -> bool:
    """Return True if PyArrow and NumPy are installed."""
    return have("numpy", "pyarrow.parquet")


def read_buckets(
    data: DataFiles,
    column: str,
    rows: Sequence[FileRows],
    *,
    most_files: int = _MOST_FILES,
    most_rows: int = _MOST_ROWS,
) -> list[IdBucket] | None:
    """Return the materialized ids of live rows as bit sets, by number of bucket.

    :param column: column with the ids
    :param most_files: maximum number of files to read here
    :param most_rows: limit of rows, with or without materialized ids, to read here; it must not be reached
    :return: None if Spark has to read the ids, or to report problems with them
    """
    if len(rows) > most_files or sum(most_rows if row.rows is None else row.rows for row in rows) >= most_rows:
        return None
    if not is_available():
        return None
    import numpy as np

    try:
        by_file = data.read_each(lambda row: list(_ids(data, column, row)), rows)
        found = [ids for _, of_file in by_file for ids in of_file]
        return list(_buckets(np.concatenate(found))) if found else []
    except Exception:  # error of any library: Spark reads the same data and reports the problem
        return None


def _ids(data: DataFiles, column: str, row: FileRows) -> Iterator[Any]:
    """Yield the materialized ids of a file's live rows, in arrays."""
    import numpy as np
    from pyarrow import int64, parquet

    file = parquet.ParquetFile(data.open(row.file))
    # Spark ignores the case of a column's name, and PyArrow treats a dot as a path into a struct.
    named = [field for field in file.schema_arrow if field.name.lower() == column.lower()]
    if [(field.name, field.type) for field in named] != [(column, int64())] or "." in column:
        raise _NotPlainError(column)
    count = file.metadata.num_rows
    deleted = np.frombuffer(row.deleted.to_bytes((count + 7) // 8, "little"), np.uint8)
    deleted = np.unpackbits(deleted, count=count, bitorder="little").astype(bool)
    position = 0
    for batch in file.iter_batches(columns=[column]):
        ids = batch.column(0)
        end = position + len(ids)
        live = ids.is_valid().to_numpy(zero_copy_only=False) & ~deleted[position:end]
        yield ids.fill_null(0).to_numpy()[live]
        position = end
    if position != row.rows:
        raise _NotPlainError(column)


def _buckets(ids: Any) -> Iterator[IdBucket]:
    import numpy as np

    ids.sort()
    numbers = ids >> _BITS
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    for start, end in zip(starts, [*starts[1:], len(ids)]):
        bits = np.zeros(IDS, np.uint8)
        bits[ids[start:end] & (IDS - 1)] = 1
        packed = np.packbits(bits, bitorder="little").tobytes()
        yield IdBucket(int(numbers[start]), int(end - start), int.from_bytes(packed, "little"))


#: Maximum number of ids to collect as numbers, which needs no shuffle. As a bit set, each may take 4 KiB.
_FEW = 4096
#: Maximum number of rows, including deleted ones, that are read to locate ids.
_MOST_LOCATED = 10_000
_BIT_SET = f"bitmap_construct_agg({{}} & {IDS - 1}) AS bits"


class RowIds:
    """The ids of the live rows of some files that all have materialized ids.

    :param deleted: returns the deleted rows of a file as a bit set
    """

    def __init__(
        self, session: SparkTableSession, reader: RowReader, rows: Sequence[FileRows], deleted: Callable[[RowFile], int]
    ) -> None:
        self._session = session
        self._reader = reader
        self._rows = rows
        self._deleted = deleted

    def buckets(self, expected: int) -> list[IdBucket]:
        """Return the materialized ids as bit sets, by number of bucket, if they fit into this process.

        :param expected: approximate number of ids
        """
        found = read_buckets(self._reader.files, self._reader.id_column, self._rows)
        if found is not None:
            return found
        ids = self._materialized()
        with self._session.reading_files():
            if expected <= _FEW:
                return buckets_of(row["id"] for row in ids.collect())
            collected = (
                ids.groupBy(sql.expr(f"shiftright(id, {_BITS}) AS number"))
                .agg(sql.expr("count(1) AS rows"), sql.expr(_BIT_SET.format("id")))
                .collect()
            )
        return sorted(
            (IdBucket(row["number"], row["rows"], int.from_bytes(row["bits"], "little")) for row in collected),
            key=lambda bucket: bucket.number,
        )

    def positions(self, files: Iterable[RowFile]) -> dict[str, int]:
        """Return the positions of rows in ``files`` with a materialized id, deleted or not: bit sets by path."""
        paths = {file.path for file in files}
        chosen = [FileRows(row.file, 0) for row in self._rows if row.file.path in paths]
        if not chosen:
            return {}
        grouped = (
            self._reader.rows(chosen)
            .where("materialized")
            .groupBy("file", sql.expr(f"shiftright(position, {_BITS}) AS number"))
            .agg(sql.expr(_BIT_SET.format("position")))
        )
        found: dict[str, bytearray] = {row.file.path: bytearray() for row in chosen}
        with self._session.reading_files():
            for row in grouped.orderBy("file", "number").collect():
                bits = found[chosen[row["file"]].file.path]
                bits.extend(bytes(row["number"] * IDS // 8 - len(bits)))
                bits.extend(row["bits"])
        return {path: int.from_bytes(bits, "little") for path, bits in found.items()}

    def repeated_between(self, low: int, high: int, limit: int, *, last: bool = False) -> list[int]:
        """Return the first materialized ids from ``low`` to ``high`` that several rows have, or the last ones."""
        counted = self._materialized().where(f"id BETWEEN {low} AND {high}").groupBy("id").count().where("count > 1")
        ordered = counted.orderBy("id", ascending=not last)
        with self._session.reading_files():
            return [row["id"] for row in ordered.limit(limit).collect()]

    def locate(self, ids: Iterable[int]) -> list[LocatedRow]:
        """Return the live rows that have one of ``ids``, materialized or fresh, by id; only some if there are many."""
        wanted = ", ".join(map(str, sorted(set(ids))))
        if not wanted:
            return []
        rows = [FileRows(row.file, 0) for row in self._rows]
        with self._session.reading_files():
            found = self._reader.rows(rows).where(f"id IN ({wanted})").limit(_MOST_LOCATED).collect()
        located = []
        for row in sorted(found, key=lambda row: row["file"]):
            file = rows[row["file"]].file
            if not self._deleted(file) >> row["position"] & 1:
                located.append(LocatedRow(row["id"], file, row["position"], row["materialized"]))
        return sorted(located)

    def _materialized(self) -> DataFrame:
        """Return the materialized ids of all rows, in a single column ``id``.

        Only files with deleted rows need a join.
        """
        whole = [rows for rows in self._rows if not rows.deleted]
        parts = [self._reader.materialized_ids(whole).where("id IS NOT NULL")] if whole else []
        if partly := [rows for rows in self._rows if rows.deleted]:
            parts.append(self._reader.rows(partly).where("materialized").select("id"))
        return reduce(DataFrame.union, parts)
