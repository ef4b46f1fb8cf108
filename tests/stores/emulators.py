"""Servers of object stores on this machine, and what it takes to use them: connections, settings, options."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark
import pytest

#: The account that every Azurite has, and its key, which Microsoft documents.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True)
class Store:
    """A bucket of a server.

    :param lake: its URI
    :param connector: the argument of operators that brings Hadoop's file system for it
    :param connection: Airflow's connection, as JSON
    :param options: of obstore
    :param settings: what Spark has to be told besides the connection
    :param keys: settings of Spark for a session that has no connection
    :param several_drivers: whether Delta's log store keeps several drivers apart there
    """

    lake: str
    connector: Mapping[str, str]
    connection: Mapping[str, Any]
    options: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    several_drivers: bool = True


@contextmanager
def s3(command: str, folder: Path) -> Iterator[Store]:
    """Serve S3, by ``moto_server``."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    with _served([command, "-H", "127.0.0.1", "-p", str(port)], folder):
        _answered(urllib.request.Request(f"{url}/lake", b"", method="PUT"))
        yield Store(
            lake="s3a://lake",
            connector={"packages": f"org.apache.hadoop:hadoop-aws:{_hadoop()}"},
            connection={
                "conn_type": "aws",
                "login": "access",
                "password": "secret",
                "extra": {"endpoint_url": url, "region_name": "us-east-1"},
            },
            options={
                "access_key_id": "access",
                "secret_access_key": "secret",
                "region": "us-east-1",
                "endpoint": url,
            },
            settings={"spark.hadoop.fs.s3a.checksum.generation": "false"},  # which this server does not know
            keys={
                "spark.hadoop.fs.s3a.endpoint": url,
                "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
                "spark.hadoop.fs.s3a.path.style.access": "true",
                "spark.hadoop.fs.s3a.access.key": "access",
                "spark.hadoop.fs.s3a.secret.key": "secret",
            },
            several_drivers=False,
        )


@contextmanager
def azure(command: str, folder: Path) -> Iterator[Store]:
    """Serve Azure's blobs, by ``azurite-blob``. It has no hierarchical namespace: Hadoop asks the endpoint of blobs."""
    port = _free_port()
    endpoint = f"http://127.0.0.1:{port}/{_ACCOUNT}"
    host = f"{_ACCOUNT}.dfs.core.windows.net"
    where = ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    with _served([command, "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck", *where], folder):
        _answered(urllib.request.Request(f"{endpoint}/lake?restype=container"))
        from azure.storage.blob import BlobServiceClient

        BlobServiceClient(endpoint, credential=_KEY).create_container("lake")
        parts = {
            "DefaultEndpointsProtocol": "http",
            "AccountName": _ACCOUNT,
            "AccountKey": _KEY,
            "BlobEndpoint": endpoint,
        }
        connection_string = ";".join(f"{name}={value}" for name, value in parts.items())
        yield Store(
            lake=f"abfs://lake@{host}",
            connector={"packages": f"org.apache.hadoop:hadoop-azure:{_hadoop()}"},
            connection={"conn_type": "wasb", "extra": {"connection_string": connection_string}},
            options={"account_name": _ACCOUNT, "account_key": _KEY, "endpoint": endpoint},
            settings={
                "spark.hadoop.fs.azure.abfs.endpoint": f"127.0.0.1:{port}",
                "spark.hadoop.fs.azure.always.use.https": "false",
                "spark.hadoop.fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
                "spark.hadoop.fs.azure.fns.account.service.type": "BLOB",
                "spark.hadoop.fs.azure.account.hns.enabled": "false",
            },
            keys={
                f"spark.hadoop.fs.azure.account.auth.type.{host}": "SharedKey",
                f"spark.hadoop.fs.azure.account.key.{host}": _KEY,
            },
        )


@contextmanager
def gcs(command: str, folder: Path) -> Iterator[Store]:
    """Serve Google's objects, by ``fake-gcs-server``, beside which lies the shaded jar of Google's connector."""
    (jar,) = Path(command).parent.glob("gcs-connector-*.jar")
    port, behind = _free_port(), _free_port()
    url = f"http://127.0.0.1:{port}"
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(behind)]
    known_as = ["-public-host", f"127.0.0.1:{port}", "-external-url", url]
    front = [sys.executable, "-m", "tests.stores.gcs_front", str(port), str(behind)]
    with (
        _served([command, "-backend", "memory", "-log-level", "error", *where, *known_as], folder),
        _served(front, folder, at=Path.cwd()),
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("STORAGE_EMULATOR_HOST", url)
        environment.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # it asks by gRPC, which the server has not
        bucket = json.dumps({"name": "lake"}).encode()
        kind = {"Content-Type": "application/json"}
        _answered(urllib.request.Request(f"http://127.0.0.1:{behind}/storage/v1/b?project=lake", bucket, kind))
        _answered(urllib.request.Request(f"{url}/storage/v1/b/lake"))
        google = "com.google.cloud.hadoop.fs.gcs"
        yield Store(
            lake="gs://lake",
            connector={"jars": str(jar)},
            connection={
                "conn_type": "google_cloud_platform",
                "extra": {"is_anonymous": True, "project": "lake", "gcs.endpoint": url},
            },
            options={},
            settings={
                "spark.hadoop.fs.gs.impl": f"{google}.GoogleHadoopFileSystem",
                "spark.hadoop.fs.AbstractFileSystem.gs.impl": f"{google}.GoogleHadoopFS",
                "spark.hadoop.fs.gs.block.size": "67108864",
            },
            keys={
                "spark.hadoop.fs.gs.storage.root.url": url,
                "spark.hadoop.fs.gs.auth.type": "UNAUTHENTICATED",
                "spark.hadoop.fs.gs.project.id": "lake",
            },
        )


#: What serves a store with a command.
EMULATORS: Mapping[str, Callable[[str, Path], AbstractContextManager[Store]]] = {"s3": s3, "azure": azure, "gcs": gcs}


@contextmanager
def _served(command: list[str], folder: Path, at: Path | None = None) -> Iterator[None]:
    found = shutil.which(command[0])
    assert found, f"{command[0]} is not there"
    with open(folder / "log", "ab") as log:
        server = subprocess.Popen([found, *command[1:]], stdout=log, stderr=log, cwd=at or folder)
        try:
            yield
        finally:
            server.terminate()
            server.wait()


def _answered(request: urllib.request.Request) -> None:
    """Ask a server that is being started until it answers, whatever it says."""
    for _ in range(150):
        try:
            urllib.request.urlopen(request, timeout=10).close()
            return
        except urllib.error.HTTPError:
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise TimeoutError(f"{request.full_url} does not answer")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _hadoop() -> str:
    """Return the version of Hadoop that Spark has."""
    (client,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    return client.stem.rsplit("-", 1)[-1]
