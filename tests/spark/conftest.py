"""The Spark tier: one local session, real Delta tables, every report checked against the schema."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.check_row_tracking import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import EnableFeatureOptions, Options, WidenTypesOptions
from airflow_delta_provider.jobs.delta_session import DeltaSession
from airflow_delta_provider.jobs.progress import Progress, silent
from airflow_delta_provider.jobs.runner import run
from airflow_delta_provider.jobs.spark_session import own_session
from tests.tables.log import newest
from tests.tables.row_tracking import operations, operations_without_vectors
from tests.tables.row_tracking_history import as_of
from tests.unit.report_contract import violations


@pytest.fixture(scope="session")
def session() -> Iterator[DeltaSession]:
    spark = own_session("tests", "local[2]")
    yield DeltaSession(spark)
    spark.stop()


@pytest.fixture(scope="session")
def spark(session: DeltaSession) -> SparkSession:
    return session.spark


@pytest.fixture(scope="session")
def built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Build a fixture table once and return its directory, not to be changed."""
    tables: dict[Any, Path] = {}

    def build(builder: Callable[..., None], **arguments: Any) -> Path:
        key = (builder, tuple(sorted(arguments.items())))
        if key not in tables:
            path = tmp_path_factory.mktemp("built") / "t"
            builder(spark, path, **arguments)
            tables[key] = path
        return tables[key]

    return build


@pytest.fixture
def table(built: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Return the directory of a copy of a fixture table, for this test alone."""

    def copy(builder: Callable[..., None], name: str = "t", **arguments: Any) -> Path:
        return Path(shutil.copytree(built(builder, **arguments), tmp_path / name))

    return copy


@pytest.fixture
def run_job(session: DeltaSession) -> Callable[..., JobReport]:
    """Run a job on some tables; its report fits the schema and survives the wire."""

    def run_checked(
        tables: list[str | Path],
        options: Options,
        *,
        dry_run: bool = False,
        labels: Mapping[str, Any] | None = None,
        progress: Progress = silent,
    ) -> JobReport:
        request = JobRequest(tuple(map(str, tables)), options, dry_run, labels or {})
        report = run(JobRequest.from_json(json.loads(json.dumps(request.to_json()))), session, progress)
        wire = json.loads(json.dumps(report.to_json()))
        assert violations(wire) == []
        assert JobReport.from_json(wire).to_json() == wire
        return report

    return run_checked


@pytest.fixture
def enable(run_job: Callable[..., JobReport]) -> Callable[..., TableReport]:
    """Run ``enable-feature`` on one table."""

    def enable_one(path: str | Path, *features: str, allow: bool = True, **known: Any) -> TableReport:
        how = {key: known.pop(key) for key in ("dry_run", "labels", "progress") if key in known}
        options = EnableFeatureOptions(features, allow_protocol_upgrade=allow, **known)
        return run_job([path], options, **how).tables[0]

    return enable_one


@pytest.fixture
def widen(run_job: Callable[..., JobReport]) -> Callable[..., TableReport]:
    """Run ``widen-types`` on one table."""

    def widen_one(path: str | Path, columns: Mapping[str, str], *, allow: bool = True, **known: Any) -> TableReport:
        how = {key: known.pop(key) for key in ("dry_run", "labels", "progress") if key in known}
        options = WidenTypesOptions(
            columns, enable_type_widening=known.pop("enable", allow), allow_protocol_upgrade=allow, **known
        )
        return run_job([path], options, **how).tables[0]

    return widen_one


@pytest.fixture
def check(run_job: Callable[..., JobReport]) -> Callable[..., TableReport]:
    """Run ``check-row-tracking`` on one table."""

    def check_one(path: str | Path, level: str = "data", **known: Any) -> TableReport:
        return run_job([path], CheckRowTrackingOptions(level, **known)).tables[0]

    return check_one


@pytest.fixture
def audit(run_job: Callable[..., JobReport]) -> Callable[..., TableReport]:
    """Run ``audit`` on one table."""

    def audit_one(path: str | Path, **known: Any) -> TableReport:
        return run_job([path], AuditOptions(**known)).tables[0]

    return audit_one


@pytest.fixture(scope="session")
def snapshots(
    built: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[bool], dict[int, Path]]:
    """Return the table of ``row_tracking.operations`` as of each of its versions, as tables not to be changed."""
    made: dict[bool, dict[int, Path]] = {}

    def make(deletion_vectors: bool) -> dict[int, Path]:
        if deletion_vectors not in made:
            source = built(operations if deletion_vectors else operations_without_vectors)
            directory = tmp_path_factory.mktemp("snapshots")
            made[deletion_vectors] = {
                version: as_of(shutil.copytree(source, directory / str(version)), version)
                for version in range(newest(source) + 1)
            }
        return made[deletion_vectors]

    return make
