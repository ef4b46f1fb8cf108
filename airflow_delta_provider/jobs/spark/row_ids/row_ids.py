"""The materialized ids of the live rows of some files, and the places of rows by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.row_ids.id_buckets import IDS, IdBucket, buckets_of
from airflow_delta_provider.domain.row_ids.row_file import LocatedRow, RowFile
from airflow_delta_provider.jobs.spark.row_ids import arrow_ids
from airflow_delta_provider.jobs.spark.row_ids.row_reader import FileRows, RowReader
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession

#: Maximum number of ids to collect as numbers, which needs no shuffle. As a bit set, each may take 4 KiB.
_FEW = 4096
#: Maximum number of rows, including deleted ones, that are read to locate ids.
_MOST_LOCATED = 10_000
_BITS = (IDS - 1).bit_length()
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
        found = arrow_ids.read_buckets(self._reader.files, self._reader.id_column, self._rows)
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
