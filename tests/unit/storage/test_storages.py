"""Which storage serves a location, and what is said where none does."""

from __future__ import annotations

import os
from importlib import util
from pathlib import Path

import pytest

from airflow_delta_provider.domain.checks import faults
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.storage.errors import NoStorageError, StorageError, understand
from airflow_delta_provider.jobs.storage.fsspec_storage import FsspecStorage
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from airflow_delta_provider.jobs.storage.storages import Storages


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the modules that are not installed, to be added to."""
    missing: list[str] = []
    find = util.find_spec
    monkeypatch.setattr(
        "airflow_delta_provider.jobs.storage.storages.find_spec", lambda name: None if name in missing else find(name)
    )
    return missing


def test_paths_without_a_scheme_are_of_this_machine(tmp_path: Path) -> None:
    storages = Storages()
    (tmp_path / "a b%20").write_bytes(b"1")
    assert isinstance(storages.of("t"), LocalStorage)
    location = storages.qualify(str(tmp_path))
    assert location == f"file:{tmp_path}"
    assert storages.is_local(location)
    assert storages.list_names(location) == ["a b%20"]
    assert list(storages.read_ahead([f"{location}/a b%20"])) == [b"1"]
    assert list(storages.read_present([])) == []


def test_all_schemes_of_object_stores_share_connections() -> None:
    pytest.importorskip("obstore")
    storages = Storages()
    assert storages.of("s3://lake/t") is storages.of("S3A://other/t") is storages.of("abfss://box@a.b/t")
    assert storages.qualify("s3a://lake/t/") == "s3a://lake/t"
    assert not storages.is_local("gs://lake/t")


def test_what_only_fsspec_has() -> None:
    pytest.importorskip("fsspec")
    storages = Storages()
    storages.write("memory://lake/a", b"1")
    assert storages.read("memory://lake/a") == b"1"


def test_a_filesystem_that_is_given_comes_first() -> None:
    fsspec = pytest.importorskip("fsspec")
    storages = Storages(filesystems={"s3a": fsspec.filesystem("memory")})
    assert isinstance(storages.of("s3a://lake/t"), FsspecStorage)
    storages.write("s3a://lake/of s3a", b"1")
    assert fsspec.filesystem("memory").cat("/lake/of s3a") == b"1"


@pytest.mark.parametrize(
    ("location", "missing", "package"),
    [
        ("s3://lake/t", ["obstore", "fsspec"], "obstore"),
        ("gs://lake/t", ["obstore", "fsspec"], "gcsfs"),
        ("abfss://box@account.dfs.core.windows.net/t", ["obstore", "fsspec"], "adlfs"),
        ("hopsfs://lake/t", [], "engine spark"),
        ("hopsfs://lake/t", ["fsspec"], "engine spark"),
    ],
)
def test_what_nothing_serves_is_one_clear_error(
    without: list[str], location: str, missing: list[str], package: str
) -> None:
    without += missing
    with pytest.raises(NoStorageError, match="nothing here reads") as failed:
        Storages().list_names(location)
    assert package in failed.value.remedy
    meaning = python_session().understand(failed.value)
    assert (meaning.rule, meaning.retryable) == (faults.STORAGE, False)
    assert package in (meaning.finding().remedy or "")


def test_errors_of_storages_are_faults_without_secrets() -> None:
    pytest.importorskip("obstore")
    options = {"endpoint": "http://127.0.0.1:1", "access_key_id": "AKIAABCDEFGHIJKLMNOP", "secret_access_key": "hush"}
    session = python_session(Storages({**options, "region": "x"}))
    with pytest.raises(StorageError) as failed:
        session.storage.read("s3://lake/t?sig=hush")
    finding = session.understand(failed.value).finding()
    assert "hush" not in str(finding)
    assert "cannot be reached" in finding.message
    assert session.understand(failed.value).retryable


def test_a_pipe_where_a_file_must_be_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (Storages().read, lambda path: Storages().read_range(path, 0, 1)):
        with pytest.raises(OSError, match="Not a regular file") as failure:
            read(f"file:{tmp_path}/pipe")
        meaning = understand(failure.value)
        assert meaning is not None
        assert (meaning.rule, meaning.retryable) == (faults.STORAGE, False)
