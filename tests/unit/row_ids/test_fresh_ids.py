from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import base_of, in_order, overlaps
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


def test_file_within_a_longer_one_is_found_behind_shorter_ones():
    files = in_order([file("long", 0, 100), file("short", 10, 5), file("late", 60, 5)])
    found = [(o.one.path, o.other.path, o.first, o.last) for o in overlaps(files, lambda one: one.num_records)]
    assert found == [("long.parquet", "short.parquet", 10, 14), ("long.parquet", "late.parquet", 60, 64)]


def test_path_that_is_live_twice_gives_one_range():
    assert not list(overlaps([file("a", 0, 5), file("a", 0, 5)], lambda one: one.num_records))
