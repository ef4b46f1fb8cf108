"""A task's process whose supervisor is gone."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

SUPERVISOR = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]])
time.sleep(60)
"""
TASK = """
import sys, time, types
from pathlib import Path
from airflow_delta_provider.hooks.command import supervised
runner = types.ModuleType("airflow.sdk.execution_time.task_runner")
runner.SUPERVISOR_COMMS = types.SimpleNamespace(SOCKET=object())
sys.modules[runner.__name__] = runner
ended = Path(sys.argv[1], "ended")
with supervised(ended.touch):
    Path(sys.argv[1], "begun").touch()
    deadline = time.monotonic() + 8
    while not ended.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
Path(sys.argv[1], "over").touch()
"""


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 40
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path.name}"
        time.sleep(0.05)


@pytest.mark.parametrize(("talks", "ends"), [("socket", True), ("queue", False)], ids=["supervised", "in one process"])
def test_job_is_ended_with_the_supervisor_of_its_task(tmp_path: Path, talks: str, ends: bool) -> None:
    supervisor = subprocess.Popen([sys.executable, "-c", SUPERVISOR, TASK.replace("SOCKET", talks), str(tmp_path)])
    try:
        wait_for(tmp_path / "begun")
        assert not (tmp_path / "ended").exists()
    finally:
        supervisor.kill()
        supervisor.wait()
    wait_for(tmp_path / "over")
    assert (tmp_path / "ended").exists() is ends
