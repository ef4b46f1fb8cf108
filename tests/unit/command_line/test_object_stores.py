"""Tables, reports and baselines in object stores: found, read and written without Spark, and what goes wrong there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.small_s3 import SmallS3
from tests.unit.command_line.tables import damaged, sound

pytest.importorskip("obstore")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallS3]:
    """A bucket with three tables, one of them damaged, and other things."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("airflow_delta_provider.jobs.storage.remote_storage.WAITS", (0.0, 0.0))
    sound(tmp_path / "here" / "a")
    damaged(tmp_path / "here" / "x" / "b", "AC08")
    sound(tmp_path / "here" / "x" / "y" / "c")
    (tmp_path / "here" / "x" / "loose.txt").write_text("x")
    with SmallS3().running() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        for path in sorted((tmp_path / "here").rglob("*")):
            if path.is_file():
                server.put(str(path.relative_to(tmp_path / "here")), path.read_bytes())
        yield server


def verdicts(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    report = JobReport.from_json(json.loads(capsys.readouterr().out))
    return {table.table.removeprefix("s3://lake/"): table.verdict.value for table in report.tables}


def test_tables_are_found_at_any_depth_with_a_listing_each(server, capsys):
    assert main(["audit", "s3://lake/**", "--format", "json"]) == 1
    assert verdicts(capsys) == {"a": "PASS", "x/b": "VIOLATED", "x/y/c": "PASS"}
    assert server.asked["LIST", "x/loose.txt/"] == 0


def test_report_and_baseline_are_in_the_bucket(server):
    assert main(["audit", "s3://lake/**", "--format", "json", "--output", "s3://lake/_reports/r.json", "-q"]) == 1
    assert main(["audit", "s3://lake/**", "--baseline", "s3://lake/_reports/r.json", "-q"]) == 0


def test_files_that_must_not_be_read_are_a_fault_of_their_table_alone(server, capsys):
    server.fault = lambda method, key: (403, "AccessDenied") if method == "GET" and key.startswith("a/") else None
    assert main(["audit", "s3://lake/**", "--format", "json"]) == 4
    assert verdicts(capsys) == {"a": "FAULT", "x/b": "VIOLATED", "x/y/c": "PASS"}


def test_folder_that_must_not_be_listed_is_a_fault_and_hides_no_other(server, capsys):
    server.fault = lambda method, key: (403, "AccessDenied") if method == "LIST" and key.startswith("x/y") else None
    assert main(["audit", "s3://lake/**", "--format", "json"]) == 4
    assert verdicts(capsys) == {"a": "PASS", "x/b": "VIOLATED", "x/y": "FAULT"}


def test_folder_that_could_not_be_listed_is_a_fault_to_retry_also_if_it_can_be_later(server, capsys):
    failing = iter(range(3))  # as many tries as a listing has

    def fault(method, key):
        return (503, "SlowDown") if method == "LIST" and key == "x/y/" and next(failing, None) is not None else None

    server.fault = fault
    assert main(["audit", "s3://lake/**", "--format", "json"]) == 4
    report = JobReport.from_json(json.loads(capsys.readouterr().out))
    (unlisted,) = (table for table in report.tables if table.table == "s3://lake/x/y")
    (finding,) = unlisted.findings
    assert (finding.code, unlisted.verdict.value, unlisted.retryable) == ("FT01", "FAULT", True)
    assert "x/y could not be listed; tables below it were not looked at. " in finding.message
    assert len(report.tables) == 3
    run_here = run(JobRequest(("s3://lake/**",), AuditOptions()), python_session())
    assert {table.verdict.value for table in run_here.tables} == {"PASS", "VIOLATED"}


@pytest.mark.parametrize("code", ["InvalidAccessKeyId", "ExpiredToken"])
def test_no_credentials_are_one_fault(code, server, capsys):
    server.fault = lambda method, key: (403, code)
    assert main(["audit", "s3://lake/**", "--format", "json"]) == 4
    assert verdicts(capsys) == {"**": "FAULT"}


def test_endpoint_that_is_gone_is_a_fault(server, capsys, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert main(["audit", "s3://lake/a", "--format", "json"]) == 4
    assert verdicts(capsys) == {"a": "FAULT"}


def test_endpoint_comes_from_the_configuration_and_flags_go_before_it(server, monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    Path("delta-provider.toml").write_text(f'[storage]\nendpoint = "{server.endpoint}"\n')
    assert main(["audit", "s3://lake/a", "-q"]) == 0
    assert main(["audit", "s3://lake/a", "-q", "--storage", "endpoint=http://127.0.0.1:9"]) == 4
