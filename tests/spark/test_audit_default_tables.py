"""Audits of tables of 5 to 500 columns as libraries write them by default: nothing fails, by either engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from airflow_delta_provider.domain.audit.fast_path.lines import FEW
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from scripts.measure_engines.environments import environment
from scripts.measure_engines.releases import DEFAULT_WRITERS, Measured
from tests.both_engines import run_by_both
from tests.tables import default_tables

#: Columns and values of tables. By default, statistics are of 32 columns.
TABLES = (*((columns, "plain") for columns in (5, 28, 32, 33, 60, 200, 500)), (33, default_tables.AWKWARD))
#: So many that shortcuts are taken.
APPENDS = FEW + 6
#: Where the environments are kept, as those of ``make measure``.
ENVIRONMENTS = Path(__file__).parents[2] / "build" / "engines" / "environments"


def audits(session: SparkDeltaSession, folder: Path) -> None:
    """Audit a table at all levels by both engines, which have to report the same."""
    for level in ("log", "footers", "data"):
        request = JobRequest((str(folder),), AuditOptions(level=level))
        (report,) = run_by_both(request, lambda request=request: run(request, session)).tables
        assert report.verdict in (Verdict.PASS, Verdict.VIOLATED, Verdict.UNDETERMINED), report
        assert not [finding for finding in report.findings if finding.code.startswith("FT")], report


@pytest.mark.soak
@pytest.mark.parametrize("writer", DEFAULT_WRITERS, ids=lambda writer: f"{writer.name} {writer.version}")
def test_tables_of_libraries_are_audited(writer: Measured, session: SparkDeltaSession, tmp_path: Path) -> None:
    python = environment(writer, ENVIRONMENTS)
    library = f"spark:{writer.jars}" if writer.jars else writer.engine
    for columns, values in TABLES:
        folder = tmp_path / f"{columns}-{values}"
        arguments = [default_tables.__file__, library, str(folder), str(columns), str(APPENDS), values]
        made = subprocess.run([python, *arguments], capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr[-2000:]
        audits(session, folder)


@pytest.mark.soak
@pytest.mark.parametrize(("columns", "values"), TABLES)
def test_tables_of_delta_spark_are_audited(
    columns: int, values: str, session: SparkDeltaSession, tmp_path: Path
) -> None:
    default_tables.append_by_spark(session.spark, str(tmp_path / "t"), columns, APPENDS, values)
    audits(session, tmp_path / "t")
