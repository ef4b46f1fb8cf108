"""What jobs without Spark do to tables on S3: the same as those with Spark, by the clients that they may use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import (
    AuditOptions,
    CheckRowTrackingOptions,
    PaimonCheckRowTrackingOptions,
)
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import ColumnMappingUsageOptions, DetailOptions, Options
from airflow_delta_provider.jobs.delta.session import DeltaSession, python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.storages import Storages

LAKE = "s3a://lake"
KEYS = {"aws_access_key_id": "access", "aws_secret_access_key": "secret", "aws_region": "us-east-1"}
READING = [
    AuditOptions(),
    AuditOptions(level="footers"),
    CheckRowTrackingOptions(level="log"),
    CheckRowTrackingOptions(level="footers"),
    ColumnMappingUsageOptions(),
    DetailOptions(),
]


@pytest.fixture(scope="module")
def written(session: DeltaSession) -> str:
    """Return a table as Spark writes it, with a checkpoint, deletion vectors and names that need to be encoded."""
    table = f"{LAKE}/python/or ders%20+"
    session.sql(
        f"CREATE TABLE delta.`{table}` (id int, place string) USING delta PARTITIONED BY (place) TBLPROPERTIES "
        "('delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true')"
    )
    for first in range(0, 120, 10):
        session.sql(f"INSERT INTO delta.`{table}` SELECT id, 'Groß/a b%' FROM range({first}, {first + 10}, 1, 1)")
    session.sql(f"DELETE FROM delta.`{table}` WHERE id % 10 = 3")
    return table


@pytest.fixture(params=["obstore", "s3fs"])
def storages(request: pytest.FixtureRequest, endpoint: str) -> Iterator[Storages]:
    """Return storages that reach the server by one of the clients."""
    pytest.importorskip(request.param)
    if request.param == "obstore":
        yield Storages({**KEYS, "endpoint": endpoint})
    else:
        import s3fs

        filesystem = s3fs.S3FileSystem(key="access", secret="secret", endpoint_url=endpoint)
        yield Storages(filesystems={"s3a": filesystem})


def without_traces(json: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in json.items() if name not in ("timings", "receipt")}


@pytest.mark.parametrize("options", READING, ids=lambda options: f"{options.kind}-{getattr(options, 'level', '')}")
def test_reports_are_those_of_spark(session: DeltaSession, storages: Storages, written: str, options: Options) -> None:
    (by_spark,) = run(JobRequest((written,), options), session).tables
    (here,) = run(JobRequest((written,), options), python_session(storages)).tables
    assert without_traces(here.to_json()) == without_traces(by_spark.to_json())
    assert here.verdict is Verdict.PASS


def test_paimons_metadata_is_judged(storages: Storages, paimon_table: str) -> None:
    (report,) = run(JobRequest((paimon_table,), PaimonCheckRowTrackingOptions()), python_session(storages)).tables
    assert report.verdict is Verdict.PASS


def test_state_that_spark_saved_is_gone_on_from(session: DeltaSession, storages: Storages, written: str) -> None:
    options = AuditOptions(state_path=f"{LAKE}/python-state-{id(storages)}")
    commits = []
    for used in (session, python_session(storages), session):
        (report,) = run(JobRequest((written,), options), used).tables
        assert report.verdict is Verdict.PASS
        assert report.evidence is not None
        commits.append(report.evidence["commits"])
    assert commits == [14, 0, 0]


def test_of_many_that_create_a_file_one_does(storages: Storages) -> None:
    path = f"{LAKE}/python/raced-{id(storages)}"
    together = threading.Barrier(8)

    def create(number: int) -> bool:
        together.wait()
        return storages.replace(path, str(number).encode(), None)

    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(create, range(8)))
    assert created.count(True) == 1
    assert storages.read(path) == str(created.index(True)).encode()
