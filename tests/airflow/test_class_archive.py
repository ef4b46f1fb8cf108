from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from airflow_delta_provider.hooks.class_archive import ClassArchive


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "spark.jar"
    path.write_text("1")
    return path


def run(folder: Path, *jars: Path, whole: bool = True) -> str:
    """Do what a submission does; return the option of its driver."""
    archive = ClassArchive(folder, [str(jar) for jar in jars], os.environ)
    option = archive.java_option()
    name, path = option.split("=", 1)
    if name.endswith("AtExit"):
        Path(path).write_text("classes")
    archive.keep(whole=whole)
    return name.rpartition(":")[2]


def archives(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsa")) + sorted(folder.glob(".*.jsa"))


def test_archive_is_written_once_and_used_from_then_on(tmp_path: Path, jar: Path) -> None:
    folder = tmp_path / "cache"
    assert [run(folder, jar) for _ in range(3)] == ["ArchiveClassesAtExit", "SharedArchiveFile", "SharedArchiveFile"]


def test_archive_of_jars_that_changed_is_removed_and_others_stay(tmp_path: Path, jar: Path) -> None:
    folder, other = tmp_path / "cache", tmp_path / "delta.jar"
    other.write_text("1")
    run(folder, jar)
    (first,) = archives(folder)
    run(folder, jar, other)
    (second,) = set(archives(folder)) - {first}
    other.write_text("22")
    run(folder, jar, other)
    left = archives(folder)
    assert len(left) == 2
    assert first in left
    assert second not in left
    assert len(list(folder.iterdir())) == 4
    jar.unlink()
    run(folder, other)
    assert len(archives(folder)) == 1


def test_archive_that_nobody_used_for_long_is_removed_and_one_in_use_is_not(tmp_path: Path, jar: Path) -> None:
    folder = tmp_path / "cache"
    run(folder, jar)
    (used,) = archives(folder)
    unused = folder / "classes-0123456789abcdef.jsa"
    left = folder / ".classes-0123456789abcdef-1.jsa"
    for file in (used, unused, left):
        file.touch()
        os.utime(file, (long_ago := time.time() - 40 * 24 * 3600, long_ago))
    run(folder, jar)
    assert archives(folder) == [used]


def test_what_a_killed_run_left_is_not_used(tmp_path: Path, jar: Path) -> None:
    folder = tmp_path / "cache"
    run(folder, jar, whole=False)
    assert archives(folder) == []
    assert run(folder, jar) == "ArchiveClassesAtExit"
