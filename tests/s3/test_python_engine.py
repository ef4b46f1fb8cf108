"""What jobs without Spark do on S3, by the clients that they may use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.check_paimon_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.python_engine import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.storages import Storages

LAKE = "s3a://lake"
KEYS = {"aws_access_key_id": "access", "aws_secret_access_key": "secret", "aws_region": "us-east-1"}


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


def test_paimons_metadata_is_judged(storages: Storages, paimon_table: str) -> None:
    (report,) = run(JobRequest((paimon_table,), PaimonCheckRowTrackingOptions()), python_session(storages)).tables
    assert report.verdict is Verdict.PASS


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
