"""The border of a table on an object store: which places a path in its metadata may lead to."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.formats.parquet.footer import FooterError
from airflow_delta_provider.jobs.delta.session import DeltaFiles
from airflow_delta_provider.jobs.storage.errors import StorageError, UnreadFileError, understand, unexpected
from airflow_delta_provider.jobs.storage.remote_storage import RemoteStorage
from airflow_delta_provider.jobs.tables.table_storage import TableStorage


class Store(RemoteStorage):
    """An object store that gives the same bytes for every key, and says which were asked for."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._error = error

    def read_range(self, path: str, start: int, end: int) -> bytes:
        self.asked.append(path)
        if self._error is not None:
            raise self._error
        return b"no Parquet"[start:end]

    def read(self, path: str) -> bytes:
        return self.read_range(path, 0, 100)

    def size(self, path: str) -> int:
        return len(self.read(path))

    def list_names(self, directory: str) -> list[str]:
        return []

    def list_folders(self, directory: str) -> list[str]:
        return []

    def written_at(self, path: str) -> datetime:
        return datetime.now(timezone.utc)

    def write(self, path: str, content: bytes) -> None:
        raise NotImplementedError


def footer(store: Store, location: str, path: str, *roots: str) -> str:
    """Return what the footer of a file says: that it was not read, or is none."""
    files = TableStorage(store, location, roots, lambda error: understand(error) or unexpected(error, ""))
    try:
        DeltaFiles(files, location).footer(LiveFile.from_add({"path": path, "size": 10}))
    except UnreadFileError as error:
        return error.problem
    except FooterError:
        return "read"
    raise AssertionError("it is a Parquet file")


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("a%20b.parquet", "s3://b/t/a b.parquet"),
        ("%252e%252e/x.parquet", "s3://b/t/%2e%2e/x.parquet"),
        ("../other/x.parquet", "s3://b/other/x.parquet"),
        ("/other/x.parquet", "s3://b/other/x.parquet"),
        ("s3a://b/other/x.parquet", "s3a://b/other/x.parquet"),
        ("S3://b/other/x.parquet", "s3://b/other/x.parquet"),
    ],
)
def test_file_in_the_same_bucket_is_read(path: str, asked: str) -> None:
    store = Store()

    assert footer(store, "s3://b/t", path) == "read"
    assert store.asked == [asked]


@pytest.mark.parametrize(
    "path",
    [
        "s3://another/x.parquet",
        "s3://B/x.parquet",
        "s3://key:secret@b/x.parquet",
        "s3://b@another/x.parquet",
        "gs://b/x.parquet",
        "https://b.s3.amazonaws.com/x.parquet",
        "file:/etc/passwd",
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "hdfs://b/x.parquet",
        "unknown:/x",
    ],
)
@pytest.mark.parametrize("roots", [(), ("s3://b/t",), ("s3://b/t", "s3://b2/x")])
def test_file_on_another_store_is_not_asked_for(path: str, roots: tuple[str, ...]) -> None:
    store = Store()

    assert footer(store, "s3://b/t", path, *roots).startswith("it leads to")
    assert store.asked == []


@pytest.mark.parametrize(
    ("location", "same", "other"),
    [
        (
            "abfss://c@account.dfs.core.windows.net/t",
            "abfss://c@ACCOUNT.dfs.core.windows.net/x",
            "abfss://c@other.dfs.core.windows.net/x",
        ),
        ("abfss://c@account.dfs.core.windows.net/t", "/x", "abfss://d@account.dfs.core.windows.net/x"),
        ("gs://b/t", "gs://b/x", "gs://bb/x"),
    ],
)
def test_store_is_known_by_its_scheme_container_and_account(location: str, same: str, other: str) -> None:
    assert footer(Store(), location, same) == "read"
    assert footer(Store(), location, other) == "it leads to another store than the table's"


def test_allowed_locations_bound_the_table_s_own_bucket_too() -> None:
    roots = ("s3://b/t", "s3://b2/sources")

    assert footer(Store(), "s3://b/t", "s3a://b2/sources/x.parquet", *roots) == "read"
    assert "allowed locations" in footer(Store(), "s3://b/t", "../private/x.parquet", *roots)
    assert "allowed locations" in footer(Store(), "s3://b/t", "s3://b2/sources/../private/x.parquet", *roots)


def test_error_that_no_retry_changes_is_about_one_file_and_one_that_may_pass_is_not() -> None:
    denied = StorageError("s3://b/t/x: access denied", "Give access.")
    with pytest.raises(ConnectionResetError):
        footer(Store(ConnectionResetError("reset")), "s3://b/t", "x")

    assert "x" in footer(Store(denied), "s3://b/t", "x")
    assert "reset" in footer(Store(ConnectionResetError("reset")), "s3://b/t", "s3://b2/x", "s3://b/t", "s3://b2")
