"""Files of which an engine counted most: what only all of them answer is an error, never another answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.audit.file_records import LiveCounts
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.partial_files import (
    AllFilesNeededError,
    PartialFiles,
    UnlistedFiles,
    known_files,
    other_files,
)

KEYS = st.tuples(st.sampled_from("abcdef"), st.sampled_from(["", "v"]))


@given(
    st.dictionaries(KEYS, st.integers()),
    st.sets(st.sampled_from("abcdef")),
    st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers()))),
)
def test_known_files_are_as_in_a_dict(
    whole: dict[FileKey, int], paths: set[str], changes: list[tuple[FileKey, int | None]]
) -> None:
    known = {key: value for key, value in whole.items() if key[0] in paths}
    places = {key: place for place, key in enumerate(whole)}
    files = PartialFiles(known, paths, places, UnlistedFiles(len(whole) - len(known)))
    for key, value in changes:
        if key[0] not in paths:
            with pytest.raises(AllFilesNeededError):
                files[key] = 1
            with pytest.raises(AllFilesNeededError):
                files.pop(key, None)
            with pytest.raises(AllFilesNeededError):
                assert key not in files
        elif value is None:
            assert files.pop(key, None) == whole.pop(key, None)
        else:
            files[key] = whole[key] = value
    assert len(files) == len(whole)
    assert list(known_files(files).items()) == [each for each in whole.items() if each[0][0] in paths]
    for path in paths:
        assert set(files.keys_of([path])) == {key for key in whole if key[0] == path}


def test_whole_set_is_known_only_after_a_comparison() -> None:
    files = PartialFiles({("b", ""): 2, ("new", ""): 3}, {"b", "gone", "new"}, {("b", ""): 1}, UnlistedFiles(2))
    for use in (list, lambda all_files: list(all_files.values()), lambda all_files: all_files == {}):
        with pytest.raises(AllFilesNeededError):
            use(files)
    files.join({("a", ""): 1, ("gone", ""): 9}, ["a", "absent"], {("a", ""): 0})
    assert list(files) == [("a", ""), ("b", ""), ("new", "")]
    assert ("absent", "") not in files
    assert len(files) == 4
    files.part()
    with pytest.raises(AllFilesNeededError):
        list(files)


def test_counts_of_other_files_are_added() -> None:
    files = [LiveFile("a", 5, None, None), LiveFile("b", 15, None, None)]
    others = UnlistedFiles(3, 36, lambda bounds, _: [(1, 0, (2, 30, 0, 0)), (0, 2, (1, 6, 1, 12))])
    counts = LiveCounts(files, (0, 10), others)
    assert (counts.numbers, counts.bytes) == ([2, 3], [11, 45])
    assert counts.deleted_counts[:3] == [4, 0, 1]
    assert (counts.vectors, counts.deleted) == (1, 12)
    assert other_files({("a", ""): 1}).number == 0
