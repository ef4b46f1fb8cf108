"""Row ids compared by Spark, for more than this process should hold: nothing but what is wrong comes back.

Exact: ids are counted and set as bits by words of 64, in tasks; a word with more rows than bits has an id twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.row_ids.fresh_ids import RowCount, base_of
from airflow_delta_provider.domain.row_ids.id_buckets import FaultyIds, Landing, Landings, ids_in
from airflow_delta_provider.domain.row_ids.row_file import RowFile
from airflow_delta_provider.jobs.spark.row_ids.row_reader import FileRows, RowReader, without_rows
from airflow_delta_provider.jobs.spark.session.shipped_rows import ship
from airflow_delta_provider.jobs.spark.session.sql_settings import configured
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession

#: As a power of two, the groups that the generated hash map of an aggregate has a place for: words of 67 million ids
#: that lie close together. By default it is 16, and most rows take the slower map after it.
_HASH_MAP = {"spark.sql.codegen.aggregate.fastHashMap.capacityBits": "20"}
#: Ids of one bucket of the join with ranges of ids.
_BUCKET_BITS = 16
#: Rows of ranges up to which every task gets them all.
_BROADCAST = 300_000
_WORD_BITS = 6
_ALL = (1 << 64) - 1


@dataclass(frozen=True)
class _Totals:
    """What all words together say.

    :param repeated: how many rows have an id that another row had before
    :param impossible: how many ids are negative or above the mark
    :param lowest: no id is below it
    :param highest: no id is above it
    """

    repeated: int
    impossible: int
    lowest: int
    highest: int


class DeletedInTasks(Protocol):
    """Deleted rows of files that are found where Spark runs its tasks, rather than in this process."""

    def covers(self, file: RowFile) -> bool:
        """Whether the deleted rows of a file are found there."""

    def live(self, rows: DataFrame, files: Mapping[int, RowFile]) -> DataFrame:
        """Return those of ``rows``, which have columns ``file`` and ``position``, that are not deleted.

        :param files: those that are covered, by the number that ``file`` has
        """

    def release(self) -> None:
        """Free what is kept."""


class DistributedIds:
    """The ids of live rows of some files, materialized and fresh ones.

    :param rows: files of which each may hold materialized ids
    :param high_water_mark: above which ids are impossible, None where it does not count
    :param in_tasks: finds deleted rows in tasks; None where all are known here
    :param known: gives the deleted rows of a file that are known here, as a bit set; None where there are none
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
        """Return the ids that more than one row has, counted by the rows too many."""
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
        """Those bits of a word whose ids are negative or above the mark."""
        above = "0L"
        if self._high_water_mark is not None:
            last, bit = divmod(max(self._high_water_mark, -1), 64)
            kept = _ALL << (bit + 1) & _ALL
            above = f"CASE WHEN word > {last} THEN bits WHEN word = {last} THEN bits & {_signed(kept)}L ELSE 0L END"
        return f"CASE WHEN word < 0 THEN bits ELSE {above} END"

    def landings(self, fresh: Sequence[RowFile], limit: int, most: int) -> Landings:
        """Return the files of ``fresh`` one of whose live rows has an id of a row in the other files.

        :param fresh: by their bases, with disjoint ranges
        :param limit: how many ids of a file to name
        :param most: how many files to name
        """
        totals = self._totals
        fresh = [file for file in fresh if base_of(file) <= totals.highest and self._last(file) >= totals.lowest]
        if not fresh:  # as after OPTIMIZE: what is fresh then came later
            return Landings()
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
                    return Landings()
                by_id = Window.partitionBy("file").orderBy("id")
                first = live.where(sql.col("file").isin(list(counts))).withColumn("place", sql.row_number().over(by_id))
                ids: dict[int, list[int]] = {number: [] for number in counts}
                for row in first.where(f"place <= {limit}").orderBy("file", "id").collect():
                    ids[row["file"]].append(row["id"])
                total = files.count() if len(counts) == most else len(counts)
        finally:
            landed.unpersist()
        return Landings(tuple(Landing(fresh[n], tuple(ids[n]), *counts[n]) for n in counts), total)

    def release(self) -> None:
        """Free what is kept for all of this."""
        if self._in_tasks is not None:
            self._in_tasks.release()

    def _is_in_tasks(self, file: RowFile) -> bool:
        return self._in_tasks is not None and self._in_tasks.covers(file)

    def _read(self, reader: RowReader, rows: Sequence[FileRows]) -> DataFrame:
        """Return the ids of all live rows, in one column ``id``."""
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
        """Return the ids that lie in ranges of files: ``file``, its ``base``, ``word`` and those ``bits`` of it."""
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
    """Return the numbers of the files that ids landed in; they come as bit sets."""
    rows = landed.groupBy(sql.expr("shiftright(file, 15) AS number")).agg(
        sql.expr("bitmap_construct_agg(file & 32767) AS bits")
    )
    found: list[int] = []
    for row in rows.collect():
        found.extend(ids_in(int.from_bytes(row["bits"], "little"), row["number"] << 15, 32768))
    return sorted(found)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word
