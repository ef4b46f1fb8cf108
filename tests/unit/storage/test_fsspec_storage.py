"""Filesystems of fsspec as storages: one in memory, and s3fs, where it is installed, against a server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timezone
from typing import Any

import pytest

from airflow_delta_provider.jobs.storage.errors import MissingFileError, StorageError
from airflow_delta_provider.jobs.storage.fsspec_storage import FsspecStorage
from tests.small_s3 import SmallS3
from tests.unit.storage.test_object_storage import ODD, fails_with

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def server() -> Iterator[SmallS3]:
    with SmallS3().running() as server:
        yield server


def s3(server: SmallS3) -> FsspecStorage:
    pytest.importorskip("s3fs")
    keys = {"key": "access", "secret": "hidden", "config_kwargs": {"retries": {"max_attempts": 1}}}
    return FsspecStorage(fsspec.filesystem("s3", skip_instance_cache=True, endpoint_url=server.endpoint, **keys))


@pytest.fixture(params=["memory://lake", "s3a://lake"])
def place(request: pytest.FixtureRequest, server: SmallS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a storage and the URI of a directory in it."""
    monkeypatch.setattr("airflow_delta_provider.jobs.storage.remote_storage.WAITS", (0.0, 0.0))
    if request.param.startswith("s3a"):
        yield s3(server), request.param
    else:
        filesystem = fsspec.filesystem("memory", skip_instance_cache=True)
        yield FsspecStorage(filesystem), request.param
        filesystem.rm("/lake", recursive=True)


@pytest.mark.parametrize("name", ODD)
def test_what_is_written_is_read_whatever_its_name(place: Any, name: str) -> None:
    storage, root = place
    path = f"{root}/t {name}/{name}.json"
    storage.write(path, name.encode())
    assert storage.read(path) == name.encode()
    assert storage.list_names(f"{root}/t {name}") == [f"{name}.json"]
    assert storage.size(path) == len(name.encode())
    assert storage.read_range(path, 1, 3) == name.encode()[1:3]


def test_a_directory_is_what_is_directly_in_it(place: Any) -> None:
    storage, root = place
    for name in ("00.json", "01.json", "_sidecars/a.parquet"):
        storage.write(f"{root}/t/_delta_log/{name}", b"1")
    assert sorted(storage.list_names(f"{root}/t/_delta_log")) == ["00.json", "01.json", "_sidecars"]
    assert sorted(storage.list_from(f"{root}/t/_delta_log/", "01")) == ["01.json", "_sidecars"]
    storage.write(f"{root}/t/_delta_log/02.json", b"1")
    assert "02.json" in storage.list_names(f"{root}/t/_delta_log")
    with pytest.raises(MissingFileError):
        storage.list_names(f"{root}/t/none")


def test_files_are_read_at_once_and_in_order(place: Any) -> None:
    storage, root = place
    names = [f"{version:020}.json" for version in range(60)]
    for name in names:
        storage.write(f"{root}/t/{name}", name.encode())
    assert list(storage.read_ahead([f"{root}/t/{name}" for name in names])) == [name.encode() for name in names]
    paths = [f"{root}/t/{name}" for name in [names[0], "gone", names[1]]]
    assert list(storage.read_present(paths)) == [names[0].encode(), None, names[1].encode()]
    with pytest.raises(MissingFileError, match="gone"):
        list(storage.read_ahead(paths))


def test_parts_times_and_what_is_missing(place: Any) -> None:
    storage, root = place
    storage.write(f"{root}/a", b"0123456789")
    assert storage.read_range(f"{root}/a", 8, 100) == b"89"
    assert storage.read_range(f"{root}/a", 10, 12) == b""
    assert storage.written_at(f"{root}/a").tzinfo is timezone.utc
    for ask in (storage.read, storage.size, storage.written_at, storage.read_stamped):
        with pytest.raises(MissingFileError):
            ask(f"{root}/b")
    with pytest.raises(MissingFileError):
        storage.read_range(f"{root}/b", 0, 1)


def test_s3fs_reads_a_file_with_one_request(server: SmallS3) -> None:
    storage = s3(server)
    server.put("t/a", b"1")
    assert (storage.read("s3://lake/t/a"), dict(server.asked)) == (b"1", {("GET", "t/a"): 1})


def test_of_two_that_write_one_is_told(place: Any) -> None:
    storage, root = place
    path = f"{root}/state/t.json"
    assert storage.replace(path, b"1", None)
    assert not storage.replace(path, b"2", None)
    content, stamp = storage.read_stamped(path)
    assert content == b"1"
    assert storage.replace(path, b"33", stamp)
    assert not storage.replace(path, b"4", stamp)
    assert storage.read(path) == b"33"


@pytest.mark.parametrize(
    ("status", "code", "what", "retryable"),
    [
        (403, "AccessDenied", "no permission", False),
        (403, "InvalidAccessKeyId", "does not accept the credentials", False),
        (404, "NoSuchBucket", "no such bucket", False),
    ],
)
def test_what_s3fs_says(server: SmallS3, status: int, code: str, what: str, *, retryable: bool) -> None:
    storage = s3(server)
    server.put("t/a", b"1")
    server.fault = fails_with(status, code)
    with pytest.raises(StorageError, match=what) as failed:
        storage.list_names("s3://lake/t")
    assert failed.value.retryable is retryable
    assert "\n" not in failed.value.what


def test_without_credentials_and_without_an_endpoint(server: SmallS3, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    monkeypatch.setattr("airflow_delta_provider.jobs.storage.remote_storage.WAITS", ())
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    filesystem = fsspec.filesystem("s3", skip_instance_cache=True, endpoint_url=server.endpoint)
    with pytest.raises(StorageError, match="no credentials"):
        FsspecStorage(filesystem).read("s3://lake/a")
    keys = {"key": "a", "secret": "b", "config_kwargs": {"retries": {"max_attempts": 1}}}
    filesystem = fsspec.filesystem("s3", skip_instance_cache=True, endpoint_url="http://127.0.0.1:1", **keys)
    with pytest.raises(StorageError, match="cannot be reached") as failed:
        FsspecStorage(filesystem).list_names("s3://lake/a")
    assert failed.value.retryable
