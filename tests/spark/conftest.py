"""The Spark tier: one local session, real Delta tables, every report checked against the schema."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.report import JobReport, TableReport
from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    EnableFeatureOptions,
    WidenTypesOptions,
)
from airflow_delta_provider.domain.request.check_options import AuditOptions, CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.jobs.process import Progress, silent
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from tests.both_engines import run_by_both
from tests.tables.log import newest
from tests.tables.paimon.archive import unpack
from tests.tables.row_tracking import operations, operations_without_vectors
from tests.tables.row_tracking_history import as_of
from tests.unit.report_contract import violations

#: What only slows small statements down, by a third: generated code, plans made anew between stages, and many tasks
#: (RESTORE looks for its files in as many as this says, by default 10,000). What users get, the system tier, the
#: command line and `make soak` run with.
_QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--as-shipped", action="store_true", help="leave the Spark session as users get it: slower")


@pytest.fixture(scope="session")
def session(pytestconfig: pytest.Config) -> Iterator[SparkDeltaSession]:
    with pytest.MonkeyPatch.context() as environment:
        # Delta keeps every table that it saw, some megabyte each: hundreds fill the gigabyte that Spark has by default.
        environment.setenv("SPARK_DRIVER_MEMORY", "2g")
        spark = own_session("tests", "local[2]")
    if not pytestconfig.getoption("--as-shipped", default=False):
        for key, value in _QUICK.items():
            spark.conf.set(key, value)
    yield SparkDeltaSession(spark)
    spark.stop()


@pytest.fixture(scope="session")
def spark(session: SparkDeltaSession) -> SparkSession:
    return session.spark


@pytest.fixture(scope="session")
def built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Build a fixture table once for all processes and return its directory, not to be changed.

    A table that begins as another one is built on a copy of that.
    """
    tables: dict[Any, Path] = {}
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def build(builder: Callable[..., None], **arguments: Any) -> Path:
        key = (builder, tuple(sorted(arguments.items())))
        if key not in tables:
            name = hashlib.sha256(repr((builder.__module__, builder.__qualname__, key[1])).encode()).hexdigest()
            place = shared / f"{name}.built"
            with place.open("a+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be building the table
                if not place.read_text():
                    path = tmp_path_factory.mktemp("built") / "t"
                    if first := getattr(builder, "begins_as", None):
                        shutil.copytree(build(first), path)
                    builder(spark, path, **arguments)
                    place.write_text(str(path))
            tables[key] = Path(place.read_text())
        return tables[key]

    return build


@pytest.fixture
def table(built: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Return the directory of a copy of a fixture table, for this test alone."""

    def copy(builder: Callable[..., None], name: str = "t", **arguments: Any) -> Path:
        return Path(shutil.copytree(built(builder, **arguments), tmp_path / name))

    return copy


@pytest.fixture
def run_job(session: SparkDeltaSession) -> Callable[..., JobReport]:
    """Run a job on some tables; its report fits the schema, survives the wire, and is that of Python alone, too."""

    def run_checked(
        tables: list[str | Path],
        options: Options,
        *,
        dry_run: bool = False,
        labels: Mapping[str, Any] | None = None,
        progress: Progress = silent,
        **known: Any,
    ) -> JobReport:
        request = JobRequest(tuple(map(str, tables)), options, dry_run=dry_run, labels=labels or {}, **known)
        request = JobRequest.from_json(json.loads(json.dumps(request.to_json())))
        report = run_by_both(request, lambda: run(request, session, progress))
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
        options = EnableFeatureOptions(features=features, allow_protocol_upgrade=allow, **known)
        return run_job([path], options, **how).tables[0]

    return enable_one


@pytest.fixture
def widen(run_job: Callable[..., JobReport]) -> Callable[..., TableReport]:
    """Run ``widen-types`` on one table."""

    def widen_one(path: str | Path, columns: Mapping[str, str], *, allow: bool = True, **known: Any) -> TableReport:
        how = {key: known.pop(key) for key in ("dry_run", "labels", "progress") if key in known}
        options = WidenTypesOptions(
            columns=columns, enable_type_widening=known.pop("enable", allow), allow_protocol_upgrade=allow, **known
        )
        return run_job([path], options, **how).tables[0]

    return widen_one


@pytest.fixture
def alter(run_job: Callable[..., JobReport]) -> Callable[..., TableReport]:
    """Run ``alter-columns`` on one table."""

    def alter_one(path: str | Path, **known: Any) -> TableReport:
        how = {key: known.pop(key) for key in ("dry_run", "labels", "progress") if key in known}
        return run_job([path], AlterColumnsOptions(**known), **how).tables[0]

    return alter_one


@pytest.fixture
def check(run_job: Callable[..., JobReport]) -> Callable[..., TableReport]:
    """Run ``check-row-tracking`` on one table."""

    def check_one(path: str | Path, level: str = "data", **known: Any) -> TableReport:
        return run_job([path], CheckRowTrackingOptions(level=level, **known)).tables[0]

    return check_one


@pytest.fixture
def audit(run_job: Callable[..., JobReport]) -> Callable[..., TableReport]:
    """Run ``audit`` on one table."""

    def audit_one(path: str | Path, **known: Any) -> TableReport:
        how = {key: known.pop(key) for key in ("receipt", "received") if key in known}
        return run_job([path], AuditOptions(**known), **how).tables[0]

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


@pytest.fixture(scope="session")
def paimon_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("paimon"))
