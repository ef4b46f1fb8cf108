"""Whether the process that submitted a job still lives."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_delta_provider.jobs.process import Submitter, SubmitterGoneError

HOLDER = (
    "import fcntl, sys; file = open(sys.argv[1], 'wb'); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True); input()"
)
DRIVER = """
import sys, time
from airflow_delta_provider.jobs.process import Submitter
Submitter(sys.argv[1]).watch()
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()


def test_submitter_is_there_until_it_is_killed_even_if_its_folder_goes_first(holder, tmp_path: Path) -> None:
    submitter = Submitter(str(tmp_path / "lock"))
    assert not submitter.has_ended
    submitter.check()
    (tmp_path / "lock").unlink()
    assert not submitter.has_ended
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert submitter.has_ended
    with pytest.raises(SubmitterGoneError):
        submitter.check()


@pytest.mark.parametrize("lock", [None, "missing"])
def test_submitter_that_cannot_be_seen_counts_as_there(tmp_path: Path, lock: str | None) -> None:
    submitter = Submitter(None if lock is None else str(tmp_path / lock))
    submitter.watch()
    assert not submitter.has_ended


def test_driver_that_waits_ends_with_its_submitter(holder, tmp_path: Path) -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path / "lock")])
    with pytest.raises(subprocess.TimeoutExpired):
        driver.wait(2.5)
    holder.kill()
    assert driver.wait(20) == 75
