"""A real client of S3, Hadoop's S3A, and a server that speaks S3's interface, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest

from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from tests.tables.paimon.archive import table_of, unpack


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--s3-server", help="the command moto_server")


@pytest.fixture(scope="session")
def endpoint(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the server, and return its address; it has a bucket ``lake``."""
    command = pytestconfig.getoption("--s3-server")
    if not command:
        pytest.skip("needs --s3-server, as `make s3` gives it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(tmp_path_factory.mktemp("server") / "log", "wb") as log:
        server = subprocess.Popen([command, "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
        try:
            for _ in range(100):
                try:
                    bucket = urllib.request.Request(f"http://127.0.0.1:{port}/lake", b"", method="PUT")
                    urllib.request.urlopen(bucket, timeout=10).close()
                    break
                except urllib.error.URLError:
                    time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


@pytest.fixture(scope="session")
def session(endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDeltaSession]:
    """Return a session as a platform sets it up for S3: by ``spark-defaults.conf``."""
    (hadoop,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    folder = tmp_path_factory.mktemp("conf")
    settings = {
        "spark.jars.packages": f"org.apache.hadoop:hadoop-aws:{hadoop.stem.rsplit('-', 1)[-1]}",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.checksum.generation": "false",
        "spark.hadoop.fs.s3a.access.key": "access",
        "spark.hadoop.fs.s3a.secret.key": "secret",
    }
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPARK_CONF_DIR", str(folder))
        spark = own_session("tests", "local[2]")
        yield SparkDeltaSession(spark)
        spark.stop()


@pytest.fixture
def job(session: SparkDeltaSession) -> Callable[[Options, str], TableReport]:
    """Run a job on one table."""

    def job_of(options: Options, table: str) -> TableReport:
        (report,) = run(JobRequest((table,), options), session).tables
        return report

    return job_of


#: With Amazon's own client, which the server's environment has: the server spoils some of what S3A puts as a whole.
_UPLOAD = """
import pathlib, sys, boto3
endpoint, local = sys.argv[1:]
keys = {"aws_access_key_id": "access", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
client = boto3.client("s3", endpoint_url=endpoint, **keys)
for file in filter(pathlib.Path.is_file, pathlib.Path(local).rglob("*")):
    client.upload_file(str(file), "lake", f"paimon/{file.relative_to(local)}")
"""


@pytest.fixture(scope="session")
def paimon_table(pytestconfig: pytest.Config, endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the location of a table of Paimon's that was inserted into, updated, merged into and deleted from."""
    local = table_of(unpack(tmp_path_factory.mktemp("paimon")), "worked/05_delete")
    python = Path(pytestconfig.getoption("--s3-server")).with_name("python")
    subprocess.run([python, "-c", _UPLOAD, endpoint, local], check=True, timeout=60)
    return "s3a://lake/paimon"
