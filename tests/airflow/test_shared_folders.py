"""Folders of a worker to which its other users may write: what they put there neither stops nor misleads a task."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_delta_provider.command_line.arguments import ReportFile
from airflow_delta_provider.hooks.jars import DeltaJars
from airflow_delta_provider.hooks.workspace import Workspace
from airflow_delta_provider.jobs.process import Submitter
from airflow_delta_provider.jobs.storage import local_storage
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from airflow_delta_provider.notifications.memory import StateFile
from airflow_delta_provider.operators.arguments import read_entries
from airflow_delta_provider.report_store import open_own, read_regular, read_report, replace_file
from airflow_delta_provider.watch.metadata_folder import MetadataFolder

_HOUR_AGO = time.time() - 3600
_OTHER_USER = 12345


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


class WaitedError(BaseException):
    """It waited for another process; no error that is handled."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End what waits for ever, which a test would do otherwise."""
    import signal

    def end(*_: object) -> None:
        raise WaitedError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def pipe(place: Path) -> None:
    os.mkfifo(place)


def link_to_pipe(place: Path) -> None:
    os.mkfifo(place.with_name("pipe"))
    place.symlink_to(place.with_name("pipe"))


def folder(place: Path) -> None:
    place.mkdir()


@pytest.mark.parametrize("put", [pipe, link_to_pipe, folder])
def test_submission_does_not_wait_for_what_another_user_put_in_the_place_of_a_lock(
    shared: Path, put: Callable[[Path], None]
) -> None:
    trap = shared / "airflow-delta-provider-x"
    trap.mkdir()
    put(trap / "submitter.lock")
    os.utime(trap, (_HOUR_AGO, _HOUR_AGO))

    with within(10), Workspace("1"):
        pass

    assert trap.exists()


def test_submission_leaves_the_folder_of_another_user_alone(shared: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    mine = shared / "victim"
    mine.write_text("keep")
    of_other, lock_of_other, linked = (shared / f"airflow-delta-provider-{name}" for name in ("a", "b", "c"))
    for place in (of_other, lock_of_other):
        place.mkdir()
        (place / "submitter.lock").touch()
        os.utime(place / "submitter.lock", (_HOUR_AGO, _HOUR_AGO))
    os.chown(of_other, _OTHER_USER, _OTHER_USER)
    os.chown(lock_of_other / "submitter.lock", _OTHER_USER, _OTHER_USER)
    linked.mkdir()
    os.utime(mine, (_HOUR_AGO, _HOUR_AGO))
    (linked / "submitter.lock").symlink_to(mine)

    with Workspace("1"):
        pass

    assert {of_other, lock_of_other, linked} <= {*shared.iterdir()}


def test_own_file_is_opened_and_that_of_another_user_is_not(shared: Path) -> None:
    file = shared / "file"
    file.touch()
    os.close(open_own(file))
    if os.geteuid() == 0:
        os.chown(file, _OTHER_USER, _OTHER_USER)
        with pytest.raises(PermissionError):
            open_own(file)


def test_driver_does_not_wait_for_a_pipe_in_the_place_of_its_submitters_lock(shared: Path) -> None:
    pipe(shared / "lock")

    with within(10):
        assert not Submitter(str(shared / "lock")).has_ended


@pytest.mark.parametrize(
    "read",
    [
        read_regular,
        lambda place: StateFile(str(place)).load(),
        lambda place: read_entries("waivers", place),
        lambda place: read_report(str(place)),
        lambda place: LocalStorage().read(f"file:{place}"),
        lambda place: LocalStorage().read_range(f"file:{place}", 0, 10),
    ],
)
@pytest.mark.parametrize("put", [pipe, link_to_pipe])
def test_nothing_waits_for_a_pipe_in_the_place_of_a_file(
    shared: Path, put: Callable[[Path], None], read: Callable[[Path], object]
) -> None:
    put(shared / "file.yaml")

    with within(10), pytest.raises(Exception, match=r"[Nn]ot a regular file|cannot be read"):
        read(shared / "file.yaml")


@pytest.mark.parametrize(
    "write",
    [
        lambda place: replace_file(place, b"new"),
        lambda place: LocalStorage().write(f"file:{place}", b"new"),
        lambda place: ReportFile(str(place)).write(["new"], LocalStorage()),
        lambda place: StateFile(str(place))._write("new"),
    ],
)
def test_file_is_written_through_no_name_that_others_can_take_first(
    shared: Path, write: Callable[[Path], None]
) -> None:
    victim, place = shared.parent / "victim", shared / "state.json"
    victim.write_text("keep")
    for name in (f"state.json.{os.getpid()}.tmp", f".state.json.{os.getpid()}"):
        (shared / name).symlink_to(victim)

    write(place)

    assert victim.read_text() == "keep"
    assert place.read_text() == "new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o666 & ~_umask()


def test_failed_write_leaves_nothing_behind(shared: Path) -> None:
    (shared / "state.json").mkdir()

    with pytest.raises(OSError, match="directory"):
        replace_file(shared / "state.json", b"new")
    with pytest.raises(OSError, match="directory"):
        LocalStorage().write(f"file:{shared}/state.json", b"new")

    assert [path.name for path in shared.iterdir()] == ["state.json"]


def test_lock_that_another_user_holds_on_a_state_folder_delays_a_write_and_does_not_stop_it(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_storage, "_LOCK_SECONDS", 0.1)
    held = os.open(shared, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        with within(10):
            assert LocalStorage().replace(f"file:{shared}/state.json", b"{}", None)
    finally:
        os.close(held)
    assert json.loads((shared / "state.json").read_text()) == {}


def test_lock_of_kept_jars_can_be_opened_by_no_other_user(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / ".lock").touch(mode=0o644)
    jar = tmp_path / "io.delta_delta-spark.jar"
    jar.touch()

    DeltaJars(tmp_path).paths("io.delta:delta-spark:1", lambda _: [str(jar)])

    assert stat.S_IMODE((tmp_path / "jars" / ".lock").stat().st_mode) == 0o600


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("read", [MetadataFolder.read, lambda folder, name: folder.open(name).__enter__()])
def test_sensor_reads_no_pipe_and_follows_no_link_out_of_the_table(tmp_path: Path, read: Callable[..., object]) -> None:
    log = tmp_path / "table" / "_delta_log"
    log.mkdir(parents=True)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (log / "0.json").write_text("{}")
    (log / "alias.json").symlink_to("0.json")
    (log / "link.json").symlink_to(secret)
    pipe(log / "pipe.json")
    folder = MetadataFolder(str(tmp_path / "table"), None, "_delta_log")

    assert sorted(folder.names()) == ["0.json", "alias.json", "link.json", "pipe.json"]
    assert read(folder, "alias.json")
    for name in ("link.json", "pipe.json"):
        with within(10), pytest.raises(OSError, match=r"outside the table|Not a regular file"):
            read(folder, name)


def test_sensor_follows_no_linked_log_out_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "_delta_log").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="outside the table"):
        MetadataFolder(str(tmp_path / "table"), None, "_delta_log").names()
