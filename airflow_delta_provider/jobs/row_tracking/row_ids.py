"""The ids of rows of files that hold materialized ones: as bit sets, and where a row with an id is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.row_tracking.id_buckets import IDS, IdBucket
from airflow_delta_provider.domain.row_tracking.row_rules import LocatedRow
from airflow_delta_provider.jobs.delta_session import DeltaSession
from airflow_delta_provider.jobs.row_tracking.row_reader import FileRows, RowReader


class RowIds:
    """The ids of the live rows of some files."""

    def __init__(self, session: DeltaSession, reader: RowReader, rows: Sequence[FileRows]) -> None:
        self._session = session
        self._reader = reader
        self._rows = rows

    def buckets(self) -> list[IdBucket]:
        """Return all ids as bit sets, by number of bucket: for ids that fit here."""
        bits = (IDS - 1).bit_length()
        grouped = (
            self._ids()
            .groupBy(sql.expr(f"shiftright(id, {bits}) AS number"))
            .agg(sql.expr("count(1) AS rows"), sql.expr(f"bitmap_construct_agg(id & {IDS - 1}) AS bits"))
        )
        with self._session.reading_files():
            collected = grouped.collect()
        return sorted(
            (IdBucket(row["number"], row["rows"], int.from_bytes(row["bits"], "little")) for row in collected),
            key=lambda bucket: bucket.number,
        )

    def repeated_between(self, first: int, last: int, limit: int) -> list[int]:
        """Return the first ids from ``first`` to ``last`` that several rows have."""
        counted = self._ids().where(f"id BETWEEN {first} AND {last}").groupBy("id").count().where("count > 1")
        with self._session.reading_files():
            return [row["id"] for row in counted.orderBy("id").limit(limit).collect()]

    def locate(self, ids: Iterable[int]) -> list[LocatedRow]:
        """Return the rows that have one of ``ids``, by id."""
        wanted = ", ".join(map(str, sorted(set(ids))))
        if not wanted:
            return []
        with self._session.reading_files():
            found = self._reader.rows(self._rows).where(f"id IN ({wanted})").collect()
        return sorted(
            LocatedRow(row["id"], self._rows[row["file"]].file.path, row["position"], row["materialized"])
            for row in found
        )

    def _ids(self) -> DataFrame:
        """Return the ids of all rows, in one column ``id``."""
        plain = [rows for rows in self._rows if rows.all_materialized and not rows.deleted]
        mixed = [rows for rows in self._rows if not (rows.all_materialized and not rows.deleted)]
        parts = []
        if plain:
            parts.append(self._reader.materialized_ids(plain))
        if mixed:
            parts.append(self._reader.rows(mixed).select("id"))
        ids = parts[0] if len(parts) == 1 else parts[0].union(parts[1])
        return ids.where("id IS NOT NULL")
