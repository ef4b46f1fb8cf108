"""Audits with a fleet report its engines that misread the table as it is."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_delta_provider.domain.report.report import Status, TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.jobs.test_engine_conditions import FAR, FAR_BOUNDS, INT96, NEAR, NEAR_BOUNDS, times, timestamps

POLARS: dict[str, Any] = {"must_stay_readable_by": ["Polars 2.1.0"]}
SPARK: dict[str, Any] = {"must_stay_readable_by": ["Delta Spark 4.4.0"]}


def far(path):
    table = timestamps(path).add(FAR_BOUNDS, table=times(FAR), **INT96)
    table.check("Delta Spark 4.4.0")  # writes the log
    return table.path


def audit(path: Any, fleet: Any, **options: Any) -> TableReport:
    (report,) = run(JobRequest((str(path),), AuditOptions(fleet=fleet, **options)), python_session()).tables
    return report


def misreads(report: TableReport) -> list[tuple[str | None, Status | None]]:
    return [(finding.subject, finding.status) for finding in report.findings if finding.code == "CP03"]


def test_an_audit_says_of_an_engine_of_the_fleet_what_the_check_of_compatibility_says(tmp_path):
    path = far(tmp_path)
    table = timestamps(tmp_path).add(FAR_BOUNDS, table=times(FAR), **INT96)
    (checked,) = table.check("Polars 2.1.0").findings
    report = audit(path, POLARS)
    (found,) = (finding for finding in report.findings if finding.code == "CP03")
    assert report.verdict is Verdict.VIOLATED
    assert (found.message, found.remedy) == (checked.message, checked.remedy)
    assert "column t reaches 9999-12-31 in files that store it as INT96" in found.message


@pytest.mark.parametrize(("fleet", "options"), [(None, {}), (SPARK, {}), (POLARS, {"rules": ("AC10",)})])
def test_an_audit_without_a_misreading_engine_that_is_asked_for_reports_none(tmp_path, fleet, options):
    assert misreads(audit(far(tmp_path), fleet, **options)) == []


def test_a_table_that_the_engines_read_right_has_no_finding(tmp_path):
    table = timestamps(tmp_path).add(NEAR_BOUNDS, table=times(NEAR), **INT96)
    table.check("Delta Spark 4.4.0")
    assert misreads(audit(table.path, POLARS)) == []


def test_a_misread_is_new_once_then_known_and_resolved_with_another_fleet(tmp_path):
    path, state = far(tmp_path), str(tmp_path / "state")
    fleets = [SPARK, POLARS, POLARS, SPARK, SPARK]
    found = [misreads(audit(path, fleet, state_path=state)) for fleet in fleets]
    of_polars = [[status for _, status in statuses] for statuses in found]
    assert of_polars == [[], [Status.NEW], [Status.KNOWN], [Status.RESOLVED], []]


def test_an_audit_that_resumes_after_new_commits_reports_the_misread_once(tmp_path):
    table, state = timestamps(tmp_path).add(FAR_BOUNDS, table=times(FAR), **INT96), str(tmp_path / "state")
    table.check("Delta Spark 4.4.0")
    assert misreads(audit(table.path, POLARS, state_path=state)) == [("Polars 2.1.0", Status.NEW)]
    commit = '{"commitInfo":{"timestamp":2,"operation":"WRITE"}}\n'
    (table.path / "_delta_log" / f"{1:020d}.json").write_text(commit)
    assert misreads(audit(table.path, POLARS, state_path=state)) == [("Polars 2.1.0", Status.KNOWN)]
