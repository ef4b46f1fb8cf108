"""The folder of a submission."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import DetailOptions
from airflow_delta_provider.hooks.workspace import Workspace
from airflow_delta_provider.jobs.process import Submitter


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_driver_knows_its_submitter_by_the_application_that_it_runs() -> None:
    workspace = Workspace("1")
    with workspace:
        request = JobRequest(("/o'clock\n",), DetailOptions())
        code = workspace.write_application(request).read_text()
        compile(code, "application", "exec")
        assert "lock=None" in workspace.write_application(request, elsewhere=True).read_text()
        lock = code.partition("lock='")[2].partition("'")[0]
        submitter = Submitter(lock)
        assert not submitter.has_ended
    assert submitter.has_ended
    assert not workspace.path.exists()


def test_folders_of_processes_that_were_killed_are_removed_and_those_in_use_are_not(tmp_path: Path) -> None:
    abandoned, fresh, foreign = (tmp_path / f"airflow-delta-provider-{name}" for name in ("old", "new", "other"))
    for folder in (abandoned, fresh, foreign):
        folder.mkdir()
        (folder / "request-1.json").write_text("{}")
    for folder in (abandoned, fresh):
        (folder / "submitter.lock").touch()
    hour_ago = time.time() - 3600
    os.utime(abandoned / "submitter.lock", (hour_ago, hour_ago))
    with Workspace("1") as long_running:
        os.utime(long_running.path / "submitter.lock", (hour_ago, hour_ago))
        with Workspace("2") as workspace:
            assert set(tmp_path.iterdir()) == {fresh, foreign, long_running.path, workspace.path}
