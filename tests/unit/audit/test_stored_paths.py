"""The paths that columns had in data files, which show whether a name in a file can be that of a dropped column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.jobs.delta.kept_log import KeptLog
from tests.unit.damages.histories import mapped_late
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
