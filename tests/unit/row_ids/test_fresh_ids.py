from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import base_of, end_if_apart, in_order, overlaps
from airflow_delta_provider.domain.delta.live_file import LiveFile


def file(name: int | str, base: int | None, rows: int | None) -> LiveFile:
    return LiveFile(f"{name}.parquet", 1, base, 0, rows)


FILES = st.lists(st.tuples(st.integers(0, 30) | st.none(), st.integers(0, 8) | st.none()), max_size=8)


def ids_of(one: LiveFile) -> set[int]:
    return set(range(base_of(one), base_of(one) + (one.num_records or 0)))


@given(described=FILES)
def test_there_is_an_overlap_exactly_where_two_files_share_an_id(described):
    files = in_order(file(number, *one) for number, one in enumerate(described))
    found = list(overlaps(files, lambda one: one.num_records))
    shared = any(ids_of(one) & ids_of(other) for place, one in enumerate(files) for other in files[:place])
    assert bool(found) is shared
    for overlap in found:
        ids = set(range(overlap.first, overlap.last + 1))
        assert ids
        assert ids == ids_of(overlap.one) & ids_of(overlap.other)


@given(described=FILES)
def test_files_are_ordered_by_base_and_those_without_one_are_left_out(described):
    files = [file(number, *one) for number, one in enumerate(described)]
    ordered = in_order(files)
    assert [base_of(one) for one in ordered] == sorted(base for base, _ in described if base is not None)


@given(described=FILES)
def test_an_end_is_known_only_where_all_ids_are_known_and_apart(described):
    files = [file(number, *one) for number, one in enumerate(described)]
    based = in_order(files)
    end = end_if_apart(files, lambda one: one.num_records)
    if end is None:
        assert any(one.num_records in (None, 0) for one in based) or list(overlaps(based, lambda one: one.num_records))
    else:
        assert not list(overlaps(based, lambda one: one.num_records))
        assert {id_ for one in based for id_ in ids_of(one)} <= set(range(end))
        assert end == max((base_of(one) + (one.num_records or 0) for one in based), default=0)


@pytest.mark.parametrize("one", [file(1, -1, 5), file(1, 3, None), file(1, 3, -1), file(1, 3, 1 << 32)])
def test_no_end_is_known_of_odd_numbers(one):
    assert end_if_apart([file(0, 10, 5), one], lambda file: file.num_records) is None


def test_large_ids_have_an_end():
    assert end_if_apart([file(0, 1 << 62, 5), file(1, 0, 7)], lambda one: one.num_records) == (1 << 62) + 5


def test_file_within_a_longer_one_is_found_behind_shorter_ones():
    files = in_order([file("long", 0, 100), file("short", 10, 5), file("late", 60, 5)])
    found = [(o.one.path, o.other.path, o.first, o.last) for o in overlaps(files, lambda one: one.num_records)]
    assert found == [("long.parquet", "short.parquet", 10, 14), ("long.parquet", "late.parquet", 60, 64)]


def test_path_that_is_live_twice_gives_one_range():
    assert not list(overlaps([file("a", 0, 5), file("a", 0, 5)], lambda one: one.num_records))
