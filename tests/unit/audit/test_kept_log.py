"""Lookups in the kept part of the log: paths that data files may contain, and commits that enabled a property."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.jobs.delta.kept_log import KeptLog
from tests.unit.damages.histories import mapped_late, plain
from tests.unit.local_table import OnDisk


def _stored(path: Path, change: Callable[[Path], object] = lambda _: None) -> frozenset[tuple[str, ...]] | None:
    table = OnDisk(path / "t", mapped_late().drop_column("v").append())
    change(table.log)
    return KeptLog(table.opened.log).stored_paths(4)


def test_paths_of_all_columns_so_far(tmp_path):
    assert _stored(tmp_path) == {("id",), ("v",), ("s",), ("s", "x")}


@pytest.mark.parametrize(
    "change",
    [
        lambda log: (log / commit_name(0)).unlink(),
        lambda log: (log / commit_name(2)).unlink(),
        lambda log: (log / commit_name(2)).write_text('{"metaData":'),
        lambda log: (log / commit_name(3)).write_text('{"commitInfo":{"operation":"CLONE"}}'),
    ],
    ids=["cleaned up", "gap", "damaged", "files from elsewhere"],
)
def test_unknown_unless_every_commit_tells_them(tmp_path, change):
    assert _stored(tmp_path, change) is None


#: Commits after version 0: the values of a property that they set, or another change.
ON, OFF, OTHER = "true", "false", None


def _enabled_by(path: Path, values: list[str | None], *damaged: int) -> int | None:
    """Return the version that ``commit_that_enabled`` finds for a property that is true at the last one."""
    table = plain()
    first = table.version
    for value in values:
        table = table.append() if value is None else table.set_properties(a=value)
    disk = OnDisk(path / "t", table)
    for number in damaged:
        (disk.log / commit_name(first + number)).write_text('{"metaData":')
    found = KeptLog(disk.opened.log).commit_that_enabled(table.version, "a")
    return None if found is None else found.version - first


@pytest.mark.parametrize(
    ("values", "damaged", "enabled_by"),
    [
        ([OTHER, ON, OTHER], [], 2),
        ([ON, OFF, OTHER, ON, ON], [], 4),
        ([OTHER, ON, OTHER, ON], [2], None),
        ([OFF, OTHER, ON], [2], None),
        ([ON, OTHER, ON], [2], 1),
        ([OTHER, ON, OTHER], [1], None),
        ([OTHER, ON, OTHER], [3], 2),
        ([OTHER, ON, ON, OTHER], [3], 2),
    ],
)
def test_commit_that_enabled_is_unknown_if_a_damaged_one_may_have_done_it(tmp_path, values, damaged, enabled_by):
    assert _enabled_by(tmp_path, values, *damaged) == enabled_by


def test_commit_that_enabled_is_unknown_if_a_missing_one_may_have_done_it(tmp_path):
    disk = OnDisk(tmp_path / "t", plain().append().append().set_properties(a="true").append())
    newest = len(disk.commits()) - 1
    found = KeptLog(disk.opened.log).commit_that_enabled(newest, "a")
    assert found is not None
    assert found.version == newest - 1
    (disk.log / commit_name(newest - 2)).unlink()
    assert KeptLog(disk.opened.log).commit_that_enabled(newest, "a") is None
