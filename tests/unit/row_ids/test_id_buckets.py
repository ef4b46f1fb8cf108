from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.row_tracking.id_sets import (
    IDS,
    IdBucket,
    buckets_of,
    ids_in,
    impossible_ids,
    landings,
)
from airflow_delta_provider.domain.delta.live_file import LiveFile

#: Ids around the borders of buckets, negative ones among them.
NEAR = st.integers(-3, 3).flatmap(lambda bucket: st.integers(-40, 40).map(lambda more: bucket * IDS + more))


def all_ids(buckets: list[IdBucket]) -> list[int]:
    return [row_id for bucket in buckets for row_id in ids_in(bucket.bits, bucket.first_id, IDS)]


@given(ids=st.lists(NEAR, max_size=60))
def test_buckets_hold_the_ids_and_count_those_that_repeat(ids):
    buckets = buckets_of(ids)
    assert all_ids(buckets) == sorted(set(ids))
    assert sum(bucket.rows for bucket in buckets) == len(ids)
    assert sum(bucket.repeated for bucket in buckets) == sum(count - 1 for count in Counter(ids).values())


@given(ids=st.lists(NEAR, max_size=60), mark=NEAR.map(abs) | st.none())
def test_impossible_ids_are_those_below_zero_and_above_the_mark(ids, mark):
    found = [IdBucket(b.number, b.rows, impossible_ids(b, mark)) for b in buckets_of(ids)]
    assert all_ids(found) == sorted({i for i in ids if i < 0 or (mark is not None and i > mark)})


@given(bits=st.integers(0, 1 << 80), first=st.integers(-99, 99), limit=st.integers(0, 5))
def test_first_ids_of_a_bit_set(bits, first, limit):
    assert ids_in(bits, first, limit) == tuple(first + bit for bit in range(81) if bits >> bit & 1)[:limit]


#: Distance to the file before, rows, which of the rows have no fresh id (None: each has one).
RANGES = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 7, 300, IDS - 20, 3 * IDS]),
        st.sampled_from([0, 1, 5, 70, IDS, 2 * IDS + 3]),
        st.none() | st.integers(0, (1 << 90) - 1),
    ),
    max_size=6,
)


@given(described=RANGES, numbers=st.lists(st.integers(0, 999_999), max_size=40), limit=st.integers(0, 3))
def test_landings_are_the_ids_of_rows_that_have_fresh_ones(described, numbers, limit):
    files: list[LiveFile] = []
    deleted: dict[str, int] = {}
    base = 0
    borders = [0]
    for number, (distance, rows, bits) in enumerate(described):
        base += distance
        path = f"{number}.parquet"
        files.append(LiveFile(path, 1, base, 0, rows))
        deleted[path] = (bits or 0) & ((1 << rows) - 1)
        borders += [base, base + rows - 1, base + rows, base + rows // 2]
        base += rows
    ids = {max(borders[number % len(borders)] + number % 11 - 5, 0) for number in numbers}
    found = list(landings(buckets_of(ids), files, lambda one: one.num_records, lambda one: deleted[one.path], limit))
    expected = []
    for one in files:
        start, rows = one.base_row_id or 0, one.num_records or 0
        landed = [i for i in sorted(ids) if 0 <= i - start < rows and not deleted[one.path] >> (i - start) & 1]
        if landed:
            expected.append((one.path, tuple(landed[:limit]), len(landed), landed[-1]))
    assert [(landing.file.path, landing.ids, landing.count, landing.last) for landing in found] == expected


def test_rows_of_a_file_are_asked_for_only_where_an_id_lands():
    files = [LiveFile(f"{base}", 1, base, 0, 10) for base in (0, 10, 20)]
    asked: list[str] = []

    def deleted(one: LiveFile) -> int:
        asked.append(one.path)
        return 1 << 4

    assert not list(landings(buckets_of([14, 99]), files, lambda one: one.num_records, deleted, 5))
    assert asked == ["10"]


@pytest.mark.parametrize("number", [-1, 0, 7])
def test_bit_0_is_the_first_id_of_a_bucket(number):
    (bucket,) = buckets_of([number * IDS])
    assert (bucket.number, bucket.bits, bucket.first_id) == (number, 1, number * IDS)
