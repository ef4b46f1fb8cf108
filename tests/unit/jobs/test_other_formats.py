"""Requests for Delta tables that name a table of another format."""

from __future__ import annotations

from pathlib import Path

from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.storages import Storages


def test_refusal_of_a_paimon_table_names_what_checks_it(tmp_path: Path) -> None:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "schema-0").write_text("{}")
    session = python_session(Storages())
    [finding] = run(JobRequest((str(tmp_path),), AuditOptions()), session, print).tables[0].findings
    assert finding.code == "RQ02"
    assert "PaimonCheckRowTrackingOperator" in finding.message
