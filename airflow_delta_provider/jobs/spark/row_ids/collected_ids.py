"""Compares materialized row ids in this process, as bit sets, if they fit into it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from heapq import merge
from itertools import groupby, islice

from airflow_delta_provider.domain.row_ids.fresh_ids import RowCount, in_order
from airflow_delta_provider.domain.row_ids.id_buckets import (
    IDS,
    FaultyIds,
    Landing,
    Landings,
    ids_in,
    impossible_ids,
    landings,
)
from airflow_delta_provider.domain.row_ids.row_file import RowFile
from airflow_delta_provider.jobs.spark.row_ids.row_ids import RowIds


class CollectedIds:
    """The materialized ids of live rows, all of them in this process.

    :param expected: approximate number of ids
    :param mixed: files that may have both rows with materialized ids and rows with fresh ids
    :param rows_of: returns the number of rows of a file
    :param high_water_mark: mark above which ids are impossible; None if it does not count
    :param deleted: returns the deleted rows of a file as a bit set
    """

    def __init__(
        self,
        row_ids: RowIds,
        expected: int,
        mixed: Collection[RowFile],
        rows_of: RowCount,
        high_water_mark: int | None,
        deleted: Callable[[RowFile], int],
    ) -> None:
        self._row_ids = row_ids
        self._buckets = row_ids.buckets(expected)
        self._mixed = mixed
        self._rows_of = rows_of
        self._high_water_mark = high_water_mark
        self._deleted = deleted

    def repeated(self, limit: int) -> FaultyIds:
        """Return the ids that several rows in files with materialized ids have, and the number of surplus rows."""
        buckets = [bucket for bucket in self._buckets if bucket.repeated]
        materialized: Sequence[int] = ()
        landed = self._landed_in_mixed(limit)
        last = [landing.last for landing in landed]
        if buckets:
            start, end = buckets[0].first_id, buckets[-1].first_id
            materialized = self._row_ids.repeated_between(start, start + IDS - 1, limit)
            last += self._row_ids.repeated_between(end, end + IDS - 1, 1, last=True)
        first = (row_id for row_id, _ in groupby(merge(materialized, *(landing.ids for landing in landed))))
        count = sum(bucket.repeated for bucket in buckets) + sum(landing.count for landing in landed)
        return FaultyIds(count, tuple(islice(first, limit)), max(last, default=None))

    def impossible(self, limit: int) -> FaultyIds:
        """Return the ids that are negative or above the mark."""
        found = [(bucket.first_id, impossible_ids(bucket, self._high_water_mark)) for bucket in self._buckets]
        found = [(first, bits) for first, bits in found if bits]
        count = sum(bits.bit_count() for _, bits in found)
        ids = (row_id for first, bits in found for row_id in ids_in(bits, first, limit))
        last = found[-1][0] + found[-1][1].bit_length() - 1 if found else None
        return FaultyIds(count, tuple(islice(ids, limit)), last)

    def landings(self, fresh: Sequence[RowFile], limit: int, most: int) -> Landings:
        """Return the files of ``fresh`` with a live row whose id is materialized elsewhere.

        :param fresh: files ordered by base, with disjoint ranges
        :param limit: maximum number of ids to name per file
        :param most: maximum number of files to name
        """
        found = list(landings(self._buckets, fresh, self._rows_of, self._deleted, limit))
        return Landings(tuple(found[:most]), len(found))

    def _landed_in_mixed(self, limit: int) -> list[Landing]:
        """Return landings on rows with fresh ids in files that also have materialized ids.

        These rows are looked up only in files with an id in their range.
        """
        ordered = in_order(self._mixed)
        near = [landing.file for landing in landings(self._buckets, ordered, self._rows_of, self._deleted, 0)]
        positions = self._row_ids.positions(near)

        def not_fresh(file: RowFile) -> int:
            return self._deleted(file) | positions[file.path]

        return list(landings(self._buckets, near, self._rows_of, not_fresh, limit))
