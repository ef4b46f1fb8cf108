"""Compares row ids with Spark, if they are too many for this process. Only faults are returned.

The comparison is exact: tasks count ids and set them as bits in words of 64. A word with more rows than bits has a
repeated id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import RowCount, RowFile, base_of
from airflow_delta_provider.domain.checks.row_tracking.id_sets import FaultyIds, SharedIdFiles, SharedIds, ids_in
from airflow_delta_provider.jobs.spark.row_tracking.row_reader import FileRows, RowReader, without_rows
from airflow_delta_provider.jobs.spark.session import configured, ship
from airflow_delta_provider.jobs.spark.table_session import SparkTableSession

#: Capacity of an aggregate's generated hash map, as a power of two: enough for the words of 67 million adjacent ids.
#: With the default of 16, most rows use the slower map after it.
_HASH_MAP = {"spark.sql.codegen.aggregate.fastHashMap.capacityBits": "20"}
#: Number of ids in a bucket of the join with id ranges, as a power of two.
_BUCKET_BITS = 16
#: Maximum number of rows of ranges that are sent to every task.
_BROADCAST = 300_000
_WORD_BITS = 6
_ALL = (1 << 64) - 1


@dataclass(frozen=True)
class _Totals:
    """Totals over all words.

    :param repeated: number of rows whose id an earlier row has
    :param impossible: number of ids that are negative or above the mark
    :param lowest: lower bound of the ids
    :param highest: upper bound of the ids
    """

    repeated: int
    impossible: int
    lowest: int
    highest: int


class DeletedInTasks(Protocol):
    """Finds deleted rows of files in Spark's tasks instead of this process."""

    def covers(self, file: RowFile) -> bool:
        """Return True if the deleted rows of a file are found in tasks."""

    def live(self, rows: DataFrame, files: Mapping[int, RowFile]) -> DataFrame:
        """Return the rows that are not deleted.

        :param rows: rows with the columns ``file`` and ``position``
        :param files: covered files, by their number in the column ``file``
        """

    def release(self) -> None:
        """Free cached data."""


class DistributedIds:
    """The ids of live rows of some files, both materialized and fresh.

    :param rows: files that may have materialized ids
    :param high_water_mark: mark above which ids are impossible; None if it does not count
    :param in_tasks: finds deleted rows in tasks; None if all of them are known here
    :param known: returns the deleted rows of a file that are known here, as a bit set; None if there are none
    """

    def __init__(
        self,
        session: SparkTableSession,
        reader: RowReader,
        rows: Sequence[FileRows],
        rows_of: RowCount,
        high_water_mark: int | None,
        in_tasks: DeletedInTasks | None = None,
        known: Callable[[RowFile], int] | None = None,
    ) -> None:
        self._session = session
        self._rows_of = rows_of
        self._high_water_mark = high_water_mark
        self._in_tasks = in_tasks
        self._known = known or (lambda _: 0)
        self._ids = self._read(reader, rows)
        self._words = self._ids.groupBy(sql.expr(f"shiftright(id, {_WORD_BITS}) AS word")).agg(
            sql.expr("count(1) AS rows"), sql.expr("bit_or(shiftleft(1L, CAST(id & 63 AS INT))) AS bits")
        )

    def repeated(self, limit: int) -> FaultyIds:
        """Return the ids that several rows have, and the number of surplus rows."""
        count = self._totals.repeated
        if not count:
            return FaultyIds()
        return FaultyIds(count, tuple(self._twice(limit)), next(iter(self._twice(1, last=True)), None))

    def _twice(self, limit: int, *, last: bool = False) -> list[int]:
        """Return the first ids that more than one row has, or the last ones."""
        words = self._words.where("rows > bit_count(bits)").select("word")
        with self._comparing():
            chosen = ", ".join(
                str(row["word"]) for row in words.orderBy("word", ascending=not last).limit(limit).collect()
            )
            near = self._ids.where(f"shiftright(id, {_WORD_BITS}) IN ({chosen})")
            twice = near.groupBy("id").count().where("count > 1").orderBy("id", ascending=not last).limit(limit)
            return [row["id"] for row in twice.collect()]

    def impossible(self, limit: int) -> FaultyIds:
        """Return the ids that are negative or above the mark."""
        count = self._totals.impossible
        if not count:
            return FaultyIds()
        words = self._words.selectExpr("word", f"{self._wrong} AS bits").where("bits <> 0")
        with self._comparing():
            found = words.orderBy("word").limit(limit).collect()
            ((highest, bits),) = words.orderBy("word", ascending=False).limit(1).collect()
        last = (highest << _WORD_BITS) + (bits & _ALL).bit_length() - 1
        ids = [row_id for row in found for row_id in ids_in(row["bits"] & _ALL, row["word"] << _WORD_BITS, limit)]
        return FaultyIds(count, tuple(ids[:limit]), last)

    @cached_property
    def _totals(self) -> _Totals:
        sums = self._words.selectExpr(
            "sum(rows - bit_count(bits))", f"sum(bit_count({self._wrong}))", "min(word)", "max(word)"
        )
        with self._comparing():
            ((repeated, impossible, lowest, highest),) = sums.collect()
        if lowest is None:
            return _Totals(0, 0, 0, -1)
        return _Totals(repeated, impossible, lowest << _WORD_BITS, ((highest + 1) << _WORD_BITS) - 1)

    @property
    def _wrong(self) -> str:
        """SQL for the bits of a word whose ids are negative or above the mark."""
        above = "0L"
        if self._high_water_mark is not None:
            last, bit = divmod(max(self._high_water_mark, -1), 64)
            kept = _ALL << (bit + 1) & _ALL
            above = f"CASE WHEN word > {last} THEN bits WHEN word = {last} THEN bits & {_signed(kept)}L ELSE 0L END"
        return f"CASE WHEN word < 0 THEN bits ELSE {above} END"

    def landings(self, fresh: Sequence[RowFile], limit: int, most: int) -> SharedIdFiles:
        """Return the files of ``fresh`` with a live row whose id a row in the other files also has.

        :param fresh: files ordered by base, with disjoint ranges
        :param limit: maximum number of ids to name per file
        :param most: maximum number of files to name
        """
        totals = self._totals
        fresh = [file for file in fresh if base_of(file) <= totals.highest and self._last(file) >= totals.lowest]
        if not fresh:  # as after OPTIMIZE, when fresh files are newer
            return SharedIdFiles()
        landed = self._landed(fresh).persist()
        try:
            with self._comparing():
                numbers = _numbers(landed)
                in_tasks = {n: fresh[n] for n in numbers if self._is_in_tasks(fresh[n])}
                live = landed.selectExpr(
                    "file",
                    f"shiftleft(word, {_WORD_BITS}) AS start",
                    "base",
                    "explode(filter(sequence(0, 63), bit -> bit_get(bits, bit) = 1)) AS bit",
                ).selectExpr("file", "start + bit AS id", "start + bit - base AS position")
                if self._in_tasks is not None and in_tasks:
                    live = self._in_tasks.live(live, in_tasks)
                if words := {n: bits for n in numbers if (bits := self._known(fresh[n]))}:
                    live = without_rows(self._session.spark, live, words)
                files = live.groupBy("file").agg(sql.expr("count(1) AS count"), sql.expr("max(id) AS last"))
                chosen = files.orderBy("file").limit(most).collect()
                counts = {row["file"]: (row["count"], row["last"]) for row in chosen}
                if not counts:
                    return SharedIdFiles()
                by_id = Window.partitionBy("file").orderBy("id")
                first = live.where(sql.col("file").isin(list(counts))).withColumn("place", sql.row_number().over(by_id))
                ids: dict[int, list[int]] = {number: [] for number in counts}
                for row in first.where(f"place <= {limit}").orderBy("file", "id").collect():
                    ids[row["file"]].append(row["id"])
                total = files.count() if len(counts) == most else len(counts)
        finally:
            landed.unpersist()
        return SharedIdFiles(tuple(SharedIds(fresh[n], tuple(ids[n]), *counts[n]) for n in counts), total)

    def release(self) -> None:
        """Free all cached data."""
        if self._in_tasks is not None:
            self._in_tasks.release()

    def _is_in_tasks(self, file: RowFile) -> bool:
        return self._in_tasks is not None and self._in_tasks.covers(file)

    def _read(self, reader: RowReader, rows: Sequence[FileRows]) -> DataFrame:
        """Return the ids of all live rows, in a single column ``id``."""
        whole = [row for row in rows if not self._is_in_tasks(row.file)]
        plain = [row for row in whole if row.all_materialized and not row.deleted]
        mixed = [row for row in whole if not row.all_materialized or row.deleted]
        partly = [row for row in rows if self._is_in_tasks(row.file)]
        parts = [reader.materialized_ids(plain)] if plain else []
        if mixed:
            parts.append(reader.rows(mixed).select("id"))
        if self._in_tasks is not None and partly:
            files = {number: row.file for number, row in enumerate(partly)}
            parts.append(self._in_tasks.live(reader.rows(partly), files).select("id"))
        return reduce(DataFrame.union, parts).where("id IS NOT NULL")

    def _landed(self, fresh: Sequence[RowFile]) -> DataFrame:
        """Return the ids that lie in ranges of files.

        Columns: ``file``, its ``base``, ``word``, and the ``bits`` of that word within the range.
        """
        ranges = [
            {"file": number, "base": base_of(file), "last": self._last(file)} for number, file in enumerate(fresh)
        ]
        shipped = ship(self._session.spark, ranges, "file: int, base: bigint, last: bigint").selectExpr(
            "*", f"explode(sequence(shiftright(base, {_BUCKET_BITS}), shiftright(last, {_BUCKET_BITS}))) AS bucket"
        )
        rows = sum((one["last"] >> _BUCKET_BITS) - (one["base"] >> _BUCKET_BITS) + 1 for one in ranges)
        if rows <= _BROADCAST:
            shipped = sql.broadcast(shipped)
        words = self._words.withColumn("bucket", sql.expr(f"shiftright(word, {_BUCKET_BITS - _WORD_BITS})"))
        low = _within("base", "shiftleft(-1L, CAST(base & 63 AS INT))")
        high = _within("last", "shiftrightunsigned(-1L, CAST(63 - (last & 63) AS INT))")
        return (
            words.join(shipped, "bucket")
            .where(f"word BETWEEN shiftright(base, {_WORD_BITS}) AND shiftright(last, {_WORD_BITS})")
            .selectExpr("file", "base", "word", f"bits & {low} & {high} AS bits")
            .where("bits <> 0")
        )

    def _last(self, file: RowFile) -> int:
        return base_of(file) + (self._rows_of(file) or 0) - 1

    @contextmanager
    def _comparing(self) -> Iterator[None]:
        with configured(self._session.spark, _HASH_MAP), self._session.reading_files():
            yield


def _within(end: str, mask: str) -> str:
    return f"CASE WHEN word = shiftright({end}, {_WORD_BITS}) THEN {mask} ELSE -1L END"


def _numbers(landed: DataFrame) -> list[int]:
    """Return the numbers of the files that ids landed in. Spark returns them as bit sets."""
    rows = landed.groupBy(sql.expr("shiftright(file, 15) AS number")).agg(
        sql.expr("bitmap_construct_agg(file & 32767) AS bits")
    )
    found: list[int] = []
    for row in rows.collect():
        found.extend(ids_in(int.from_bytes(row["bits"], "little"), row["number"] << 15, 32768))
    return sorted(found)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word
