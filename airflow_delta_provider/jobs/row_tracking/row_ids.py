"""Reading the row ids of files that hold materialized ones, and those columns alone, through Spark."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import LongType, StructField, StructType

from airflow_delta_provider.domain.delta.column import quote
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.row_tracking.id_buckets import IDS, IdBucket
from airflow_delta_provider.domain.row_tracking.row_rules import LocatedRow
from airflow_delta_provider.jobs.data_files import DataFiles
from airflow_delta_provider.jobs.delta_session import DeltaSession
from airflow_delta_provider.jobs.storage import literal_paths

_LOOKUP = "array<struct<key: string, file: int, base: bigint, deleted: array<bigint>>>"


@dataclass(frozen=True)
class FileRows:
    """A file whose rows are to be read.

    :param deleted: the rows that its deletion vector deletes, as a bit set
    :param all_materialized: whether each row has a materialized id
    """

    file: LiveFile
    deleted: int
    all_materialized: bool


class RowIds:
    """The ids of the live rows of some files.

    :param column: the column with materialized row ids
    """

    def __init__(self, session: DeltaSession, files: DataFiles, rows: Sequence[FileRows], column: str) -> None:
        self._session = session
        self._files = files
        self._rows = rows
        self._column = column

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
        rows = self._identified(self._rows).where(f"id IN ({wanted})")
        with self._session.reading_files():
            found = rows.select("id", "file", "position", sql.expr("materialized IS NOT NULL AS own")).collect()
        return sorted(LocatedRow(r["id"], self._rows[r["file"]].file.path, r["position"], r["own"]) for r in found)

    def _ids(self) -> DataFrame:
        """Return the ids of all rows, in one column ``id``."""
        plain = [rows for rows in self._rows if rows.all_materialized and not rows.deleted]
        mixed = [rows for rows in self._rows if not (rows.all_materialized and not rows.deleted)]
        parts = []
        if plain:
            parts.append(self._read(plain).selectExpr(f"{quote(self._column)} AS id"))
        if mixed:
            parts.append(self._identified(mixed).select("id"))
        ids = parts[0] if len(parts) == 1 else parts[0].union(parts[1])
        return ids.where("id IS NOT NULL")

    def _identified(self, rows: Sequence[FileRows]) -> DataFrame:
        """Return ``id``, ``file`` (index into ``rows``), ``position`` and ``materialized`` of live rows."""
        read = self._read(rows).selectExpr(
            f"{quote(self._column)} AS materialized", "_metadata.file_path AS key", "_metadata.row_index AS position"
        )
        lookup = self._session.spark.range(1).select(
            sql.inline(sql.from_json(sql.lit(json.dumps(self._lookup(rows))), _LOOKUP))
        )
        joined = read.join(sql.broadcast(lookup), "key", "left")
        alive = "coalesce(bit_get(get(deleted, CAST(position DIV 64 AS INT)), CAST(position % 64 AS INT)), 0) = 0"
        return joined.where(alive).selectExpr(
            "coalesce(materialized, base + position) AS id",
            "coalesce(file, CAST(raise_error(concat('unknown file ', key)) AS INT)) AS file",
            "position",
            "materialized",
        )

    def _lookup(self, rows: Sequence[FileRows]) -> list[dict[str, Any]]:
        """Return what the rows of each file need to know of it, under every name that Spark may give the file."""
        found: dict[str, dict[str, Any]] = {}
        for index, row in enumerate(rows):
            deleted = _words(row.deleted) if row.deleted else None
            for key in self._session.storage.spellings(self._files.uri(row.file)):
                if key in found:
                    raise RuntimeError(f"{key} may stand for two files, {row.file.path} is one of them")
                found[key] = {"key": key, "file": index, "base": row.file.base_row_id, "deleted": deleted}
        return list(found.values())

    def _read(self, rows: Sequence[FileRows]) -> DataFrame:
        schema = StructType([StructField(self._column, LongType())])
        paths = [self._files.uri(row.file) for row in rows]
        return literal_paths(self._session.spark).schema(schema).parquet(*paths)


def _words(bits: int) -> list[int]:
    """Return a bit set as signed 64-bit words, the lowest first."""
    count = (bits.bit_length() + 63) // 64
    return list(struct.unpack(f"<{count}q", bits.to_bytes(count * 8, "little")))
