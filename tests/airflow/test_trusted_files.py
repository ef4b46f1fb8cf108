"""Jars and archives of classes are code: who else could have written them?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_delta_provider.hooks import workspace
from airflow_delta_provider.hooks.jars import DeltaJars
from airflow_delta_provider.hooks.workspace import is_trusted, make_folder, untrusted

COORDINATES = "io.delta:delta-spark_4.2_2.13:4.4.0"
NOBODY = 65534


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    folder = tmp_path / "cache" / "jars"
    make_folder(folder)
    (folder / "delta.jar").touch(0o644)
    return folder / "delta.jar"


def test_what_only_this_user_can_write_is_trusted(jar: Path) -> None:
    assert untrusted(jar) is None
    assert is_trusted(jar)


def test_what_is_not_there_is_not_trusted(tmp_path: Path) -> None:
    assert untrusted(tmp_path / "none.jar") == f"{tmp_path}/none.jar cannot be inspected: No such file or directory."


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_file_is_not_trusted_where_every_user_can_write_to_it_or_to_a_folder_above(jar: Path, levels: int) -> None:
    place = (jar, *jar.parents)[levels]
    place.chmod(0o757)
    assert untrusted(jar) == f"every user can write to {place}. Take that right away: chmod o-w {place}"


def test_file_below_a_folder_like_tmp_is_trusted_and_that_folder_itself_is_not(jar: Path) -> None:
    jar.parents[1].chmod(0o1777)
    assert untrusted(jar) is None
    assert untrusted(jar.parents[1]) is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to others")
def test_owner_of_a_folder_like_tmp_can_replace_what_is_in_it(jar: Path) -> None:
    jar.parents[1].chmod(0o1777)
    os.chown(jar.parents[1], NOBODY, 0)
    assert "belongs to user 65534" in str(untrusted(jar))


def test_link_is_trusted_where_both_ends_are(jar: Path, tmp_path: Path) -> None:
    link = tmp_path / "links" / "delta.jar"
    make_folder(link.parent)
    link.symlink_to(jar)
    assert untrusted(link) is None
    link.parent.chmod(0o777)
    assert untrusted(link) is not None
    link.parent.chmod(0o755)
    jar.parent.chmod(0o777)
    assert untrusted(link) is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to others")
def test_owner_may_be_root_this_user_and_who_installed_the_package(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(jar, NOBODY, 0)
    assert "belongs to user 65534" in str(untrusted(jar))
    monkeypatch.setattr(workspace, "installed_by", lambda: NOBODY)
    assert untrusted(jar) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to groups")
def test_group_may_write_where_it_is_root_s_or_the_owner_s_alone(jar: Path) -> None:
    jar.chmod(0o664)
    assert untrusted(jar) is None
    os.chown(jar, 0, NOBODY)
    assert untrusted(jar) == f"group {NOBODY} can write to {jar}. Take that right away: chmod g-w {jar}"


def test_folders_that_are_made_can_be_read_by_all_and_written_by_nobody_else(tmp_path: Path) -> None:
    mask = os.umask(0o002)
    try:
        make_folder(tmp_path / "a" / "b")
    finally:
        os.umask(mask)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o755] * 2


def test_warning_says_once_what_is_not_used_and_why(jar: Path, caplog: pytest.LogCaptureFixture) -> None:
    jar.chmod(0o666)
    assert not is_trusted(jar)
    assert not is_trusted(jar)
    (message,) = caplog.messages
    assert message == f"{jar} is not used: every user can write to {jar}. Take that right away: chmod o-w {jar}"


class Resolver:
    """Resolves coordinates to a jar in a folder."""

    def __init__(self, folder: Path) -> None:
        self.calls = 0
        self.jar = folder / "io.delta_delta-spark_4.2_2.13-4.4.0.jar"
        self.jar.write_text("classes")

    def __call__(self, coordinates: str) -> list[str]:
        self.calls += 1
        return [self.jar.as_uri(), "/ivy/com.fasterxml_jackson.jar"]


def test_jars_are_copied_to_where_everybody_can_read_them(tmp_path: Path) -> None:
    resolver, jars = Resolver(tmp_path), DeltaJars(tmp_path / "cache")
    resolver.jar.chmod(0o600)
    assert jars.resolved(COORDINATES) is None
    (copy,) = map(Path, jars.paths(COORDINATES, resolver))
    resolver.jar.unlink()
    assert (copy.read_text(), copy.stat().st_mode & 0o777) == ("classes", 0o644)
    assert jars.paths(COORDINATES, resolver) == jars.resolved(COORDINATES) == [str(copy)]
    assert resolver.calls == 1


def test_jars_that_others_could_have_written_are_resolved_anew(tmp_path: Path) -> None:
    resolver, jars = Resolver(tmp_path), DeltaJars(tmp_path / "cache")
    (copy,) = map(Path, jars.paths(COORDINATES, resolver))
    copy.write_text("other classes")
    copy.chmod(0o666)
    jars.paths(COORDINATES, resolver)
    assert (copy.read_text(), resolver.calls) == ("classes", 2)
    (tmp_path / "cache").chmod(0o777)
    assert jars.paths(COORDINATES, resolver) == [str(resolver.jar)]


def test_jars_are_resolved_each_time_where_they_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    resolver, jars = Resolver(tmp_path), DeltaJars(tmp_path / "file" / "cache")
    assert [jars.paths(COORDINATES, resolver) for _ in range(2)] == [[str(resolver.jar)]] * 2
    assert resolver.calls == 2


def test_resolving_without_a_jar_of_delta_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no jar of Delta"):
        DeltaJars(tmp_path / "cache").paths(COORDINATES, lambda _: ["/ivy/jackson.jar"])
    assert DeltaJars(tmp_path / "cache").resolved(COORDINATES) is None
