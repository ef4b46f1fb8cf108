"""Engines on a copy of a table that a command of this package changed first, and Delta Spark among the engines."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import TryEnginesOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run

pytestmark = pytest.mark.nightly


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_deltalake(tmp_path / "orders", pa.table({"id": [1, 2, 3], "part": ["a", "b", None]}), partition_by=["part"])
    return tmp_path / "orders"


def check(table: Path, *engines: str, after: str) -> TableReport:
    options = TryEnginesOptions(engines=engines, where=("id > 1",), after=(after,))
    (report,) = run(JobRequest((str(table),), options), python_session()).tables
    return report


def test_engines_read_a_copy_that_was_changed(table: Path) -> None:
    after = "enable-feature --feature domainMetadata --allow-protocol-upgrade"

    report = check(table, "delta-spark", "deltalake", after=after)

    assert (report.verdict, report.findings, report.version) == (Verdict.PASS, (), 1)
    assert [(tried["engine"], tried["rows"]) for tried in report.evidence["tried"]] == [
        ("Delta Spark", 3),
        ("delta-rs", 3),
    ]
    assert DeltaTable(table).version() == 0


def test_command_that_fails_is_refused_with_its_output(table: Path) -> None:
    report = check(table, "deltalake", after="widen-types --column id=string")

    assert report.verdict is Verdict.REFUSED
    assert "widen-types --column id=string" in report.findings[0].message
    assert DeltaTable(table).version() == 0
