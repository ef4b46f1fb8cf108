"""Steps after the findings that fail: saving the state, reading footers; and machines with too little memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit import range_audit
from airflow_delta_provider.jobs.audit.data_level import DataLevel
from airflow_delta_provider.jobs.delta.session import DeltaSession, python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.errors import OutOfMemoryError, understand
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from tests.unit.damages.edits import added
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import field

DAMAGE = "AC16"


def audit(table: Path, session: DeltaSession | None = None, **options: Any) -> TableReport:
    request = JobRequest((str(table),), AuditOptions(**options), receipt="r")
    (report,) = run(request, session or python_session()).tables
    return report


def codes(report: TableReport) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    table = Table(field("id", "long")).append()
    added(dataChange="true")(table.append().commits[-1])
    OnDisk(tmp_path / "t", table)
    return tmp_path / "t"


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    OnDisk(tmp_path / "t", Table(field("id", "long")).append())
    return tmp_path / "t"


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a number of bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_findings_are_reported_if_the_state_cannot_be_saved(damaged: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    report = audit(damaged, state_path=str(tmp_path / "file" / "state"))
    assert codes(report) == [*codes(audit(damaged)), "FT05"]
    assert DAMAGE in codes(report)
    assert str(tmp_path / "file") in report.findings[-1].message
    assert report.receipt is None


def test_sound_table_passes_if_the_state_cannot_be_saved(sound: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for fail_on in ("error", "warning"):
        report = audit(sound, state_path=str(tmp_path / "file" / "state"), fail_on=fail_on)
        assert (report.verdict, codes(report)) == (Verdict.PASS, ["FT05"])


def test_nothing_is_left_of_a_state_that_does_not_fit_the_disk(damaged: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with files_of_at_most(100):
        report = audit(damaged, state_path=str(state))
    assert codes(report)[-1] == "FT05"
    assert [*state.iterdir()] == []
    assert "FT05" not in codes(audit(damaged, state_path=str(state)))
    assert len([*state.iterdir()]) == 1


def test_findings_of_the_log_are_reported_if_footers_cannot_be_read(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError(5, "Input/output error", "/lake/t/part-0")

    monkeypatch.setattr(DataLevel, "check_data", fails)
    report = audit(damaged, level="footers", state_path=str(tmp_path / "state"))
    assert (report.verdict, report.retryable) == (Verdict.FAULT, True)
    assert codes(report)[0] == "FT01"
    assert DAMAGE in codes(report)
    assert "/lake/t/part-0" in report.findings[0].message
    monkeypatch.undo()
    assert DAMAGE in codes(audit(damaged, state_path=str(tmp_path / "state")))  # nothing says that it was received


def test_findings_are_reported_if_what_the_next_audit_needs_cannot_be_gathered(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(range_audit.RangeAudit, "facts", fails)
    report = audit(damaged, state_path=str(tmp_path / "state"))
    assert DAMAGE in codes(report)
    assert "FT05" in codes(report)


_WITHIN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from airflow_delta_provider.command_line.main import main
sys.exit(main(["audit", sys.argv[1], "--format", "json", "--quiet"]))
"""


def test_commit_larger_than_memory_is_a_fault_of_the_machine(sound: Path) -> None:
    name = f"{2:020d}.json"
    with open(sound / "_delta_log" / name, "wb") as file:
        file.truncate(4 << 30)
    ended = subprocess.run([sys.executable, "-c", _WITHIN, sound], capture_output=True, check=False)
    (report,) = json.loads(ended.stdout)["tables"]
    assert (report["verdict"], report["retryable"]) == ("FAULT", True)
    (finding,) = report["findings"]
    assert finding["code"] == "FT01"
    assert name in finding["message"]
    assert "memory" in finding["message"]


def test_memory_that_runs_out_while_a_commit_is_parsed_names_the_commit(
    sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("airflow_delta_provider.domain.delta.commit.parse_line", full)
    report = audit(sound)
    assert (report.verdict, report.retryable, codes(report)) == (Verdict.FAULT, True, ["FT01"])
    assert f"{0:020d}.json" in report.findings[0].message
    with pytest.raises(MemoryError, match=r"1\.json"):
        parse_commit("1.json", b"{}\n")


def test_memory_error_without_a_name_is_a_fault_of_the_machine() -> None:
    meaning = understand(MemoryError())
    assert meaning is not None
    assert (meaning.rule.code, meaning.retryable) == ("FT01", True)


def test_file_that_does_not_fit_in_memory_is_named(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> bytes:
        raise MemoryError

    monkeypatch.setattr("os.read", full)
    with pytest.raises(OutOfMemoryError, match=f"{0:020d}.json of [0-9,]+ bytes"):
        LocalStorage().read(f"file:{sound}/_delta_log/{0:020d}.json")
