"""Where the command line writes a report: files are replaced as a whole, pipes and devices never."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_delta_provider.command_line.arguments import ReportFile
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage


def write(place: Path, content: str = "{}") -> None:
    ReportFile(str(place)).write([content], LocalStorage())


def test_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_bytes(b"of before")
    write(tmp_path / "report.json", "new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"report.json": b"new"}


@pytest.mark.parametrize("linked", [False, True], ids=["named", "by a link, as /dev/stdout is"])
def test_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path, linked: bool) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    place = tmp_path / "link" if linked else pipe
    if linked:
        place.symlink_to(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        write(place, "{}")
        assert read.result(10) == b"{}"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert place.is_symlink() == linked


def test_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "report.json").symlink_to(tmp_path / "there" / "report.json")
    write(tmp_path / "report.json", "first")
    write(tmp_path / "report.json", "second")
    assert (tmp_path / "report.json").is_symlink()
    assert (tmp_path / "there" / "report.json").read_bytes() == b"second"


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="that is a directory"):
        ReportFile(str(tmp_path))
