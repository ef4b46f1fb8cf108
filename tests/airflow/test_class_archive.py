from __future__ import annotations

import os
import shlex
import stat
import time
from pathlib import Path

import pytest

from airflow_delta_provider.hooks.startup import ClassArchive


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "spark.jar"
    path.write_text("1")
    return path


def run(folder: Path, *jars: Path, whole: bool = True) -> str:
    """Do what a submission does; return the option of its driver."""
    archive = ClassArchive(folder, [str(jar) for jar in jars], os.environ)
    option = archive.java_option(write=True)
    assert option is not None
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


def test_run_that_may_not_write_uses_the_archive_that_is_there(tmp_path: Path, jar: Path) -> None:
    folder = tmp_path / "image"
    archive = ClassArchive(folder, [str(jar)], os.environ)
    assert archive.java_option(write=False) is None
    assert not folder.exists()
    run(folder, jar)
    assert archive.java_option(write=False) == f"-XX:SharedArchiveFile={archive.path}"
    assert stat.S_IMODE(archive.path.stat().st_mode) == 0o644


def test_archive_fits_a_jar_whose_time_an_image_kept_in_whole_seconds(tmp_path: Path, jar: Path) -> None:
    os.utime(jar, ns=(0, 1_700_000_000_123_456_789))
    before = ClassArchive(tmp_path, [str(jar)], os.environ).path
    os.utime(jar, ns=(0, 1_700_000_000_000_000_000))
    assert ClassArchive(tmp_path, [str(jar)], os.environ).path == before


def test_archive_in_an_image_is_left_untouched_until_a_day_has_passed(tmp_path: Path, jar: Path) -> None:
    run(tmp_path / "cache", jar)
    (archive,) = archives(tmp_path / "cache")
    for hours, touched in ((2, False), (48, True)):
        os.utime(archive, (then := time.time() - hours * 3600, then))
        run(tmp_path / "cache", jar)
        assert (archive.stat().st_mtime > then + 1) is touched


def test_archive_that_others_could_have_written_is_neither_used_nor_replaced_in_their_folder(
    tmp_path: Path, jar: Path
) -> None:
    folder = tmp_path / "cache"
    run(folder, jar)
    (archive,) = archives(folder)
    archive.chmod(0o666)
    assert run(folder, jar) == "ArchiveClassesAtExit"
    assert run(folder, jar) == "SharedArchiveFile"  # it was written anew
    folder.chmod(0o777)
    assert ClassArchive(folder, [str(jar)], os.environ).java_option(write=True) is None


def test_path_with_a_space_stays_one_option(tmp_path: Path, jar: Path) -> None:
    archive = ClassArchive(tmp_path / "my cache", [str(jar)], os.environ)
    option = archive.java_option(write=True)
    assert option is not None
    (word,) = shlex.split(option)
    assert word.startswith(f"-XX:ArchiveClassesAtExit={tmp_path}/my cache/")


def test_where_the_folder_cannot_be_made_there_is_no_archive(tmp_path: Path, jar: Path) -> None:
    (tmp_path / "file").touch()
    assert ClassArchive(tmp_path / "file" / "cache", [str(jar)], os.environ).java_option(write=True) is None
