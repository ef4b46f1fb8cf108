"""Row ids as bit sets by bucket, which prove uniqueness without holding each id as a number.

A bucket is :data:`IDS` ids; bit ``i`` of bucket ``b`` is the id ``b * IDS + i``. A reader makes
buckets from any number of rows; here they are compared with each other and with the ids of files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import FileIds, RowCount, RowFile, base_of

#: Number of ids in one bucket.
IDS = 32768


class IdBucket(NamedTuple):
    """The ids of some rows that fall into one bucket.

    :param number: number of the bucket; negative for negative ids
    :param rows: number of rows with these ids
    :param bits: the ids as a bit set
    """

    number: int
    rows: int
    bits: int

    @property
    def repeated(self) -> int:
        """Number of rows that have an id which another row before them has."""
        return self.rows - self.bits.bit_count()

    @property
    def first_id(self) -> int:
        return self.number * IDS


@dataclass(frozen=True, slots=True)
class FaultyIds:
    """Ids that should not exist.

    :param count: number of ids
    :param first: the first of them, ascending
    :param last: the last of them
    """

    count: int = 0
    first: tuple[int, ...] = ()
    last: int | None = None


@dataclass(frozen=True, slots=True)
class SharedIds:
    """Ids of other rows that a live row of ``file`` also has.

    :param ids: the first of them, ascending
    :param count: number of ids
    :param last: the last of them
    """

    file: RowFile
    ids: tuple[int, ...]
    count: int
    last: int


class SharedIdFiles(NamedTuple):
    """Files with landings.

    :param first: landings of the first files
    :param files: number of files
    """

    first: tuple[SharedIds, ...] = ()
    files: int = 0


def buckets_of(ids: Iterable[int]) -> list[IdBucket]:
    """Return ids, one for each row, as buckets by number."""
    rows: dict[int, int] = {}
    bits: dict[int, int] = {}
    for row_id in ids:
        number, bit = divmod(row_id, IDS)
        rows[number] = rows.get(number, 0) + 1
        bits[number] = bits.get(number, 0) | 1 << bit
    return [IdBucket(number, rows[number], bits[number]) for number in sorted(rows)]


def ids_in(bits: int, first: int, limit: int) -> tuple[int, ...]:
    """Return the first ids of a bit set whose bit 0 is the id ``first``."""
    found: list[int] = []
    while bits and len(found) < limit:
        lowest = bits & -bits
        found.append(first + lowest.bit_length() - 1)
        bits ^= lowest
    return tuple(found)


def impossible_ids(bucket: IdBucket, high_water_mark: int | None) -> int:
    """Return the bits of a bucket for ids that are negative or above the mark."""
    if bucket.number < 0:
        return bucket.bits
    if high_water_mark is None:
        return 0
    allowed = high_water_mark + 1 - bucket.first_id
    return bucket.bits >> allowed << allowed if allowed > 0 else bucket.bits


def landings(
    buckets: Sequence[IdBucket],
    ordered: Sequence[RowFile],
    rows_of: RowCount,
    without: Callable[[RowFile], int],
    limit: int,
) -> Iterator[SharedIds]:
    """Yield the files of ``ordered`` with a live row whose fresh id is in a bucket.

    An id may be in the range of a file only if the row that had it is deleted or now has another id.

    :param buckets: buckets of materialized ids
    :param ordered: files by their bases, with disjoint ranges
    :param without: returns the rows of a file that have no fresh id, as a bit set; called only if an id is in its range
    :param limit: maximum number of ids that a landing names
    """
    found: dict[int, SharedIds] = {}
    bases = [base_of(file) for file in ordered]
    for bucket in buckets:
        index = max(bisect_right(bases, bucket.first_id) - 1, 0)
        while index < len(ordered) and bases[index] < bucket.first_id + IDS:
            landed, base = _live(bucket, ordered[index], rows_of, without)
            if landed:
                earlier = found.get(index)
                ids = earlier.ids if earlier else ()
                found[index] = SharedIds(
                    ordered[index],
                    ids + ids_in(landed, base, limit - len(ids)),
                    (earlier.count if earlier else 0) + landed.bit_count(),
                    base + landed.bit_length() - 1,
                )
            index += 1
    yield from (found[index] for index in sorted(found))


def _live(bucket: IdBucket, file: RowFile, rows_of: RowCount, without: Callable[[RowFile], int]) -> tuple[int, int]:
    """Return the bucket's ids that live rows of ``file`` have, as bits, and the id of bit 0."""
    base = base_of(file)
    first = max(base, bucket.first_id)
    width = min(base + (rows_of(file) or 0), bucket.first_id + IDS) - first
    if width <= 0:
        return 0, first
    landed = (bucket.bits >> (first - bucket.first_id)) & ((1 << width) - 1)
    if landed:
        landed &= ~(without(file) >> (first - base))
    return landed, first


class DriverLimits(NamedTuple):
    """Limits for comparing ids in this process; beyond any of them, Spark compares.

    :param ids: materialized ids; Spark compares a million as fast, and ids far apart need 4 KiB per bucket
    :param buckets: bit sets of ids: 64 MiB in total
    :param rows: rows of files with materialized ids and deletion vectors: a bit each, and some text to ship it
    """

    ids: int = 1_000_000
    buckets: int = 16_384
    rows: int = 1 << 24

    def hold(self, files: Collection[FileIds], rows_with_vectors: int = 0) -> bool:
        """Return True if the ids of files with materialized ids fit.

        :param rows_with_vectors: physical rows of those files that have deletion vectors
        """
        expected = sum(ids.most_materialized for ids in files)
        lows = [ids.minimum for ids in files if ids.minimum is not None]
        highs = [ids.maximum for ids in files if ids.maximum is not None]
        known = len(lows) == len(highs) == len(files)
        buckets = min(expected, max(highs) // IDS - min(lows) // IDS + 1) if known else expected
        return expected <= self.ids and buckets <= self.buckets and rows_with_vectors <= self.rows
