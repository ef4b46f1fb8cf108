"""Object stores as files: by obstore's own stores in memory, and by a server that speaks S3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from airflow_delta_provider.jobs.storage.errors import MissingFileError, StorageError
from airflow_delta_provider.jobs.storage.object_storage import ObjectStorage
from tests.small_s3 import SmallS3

obstore = pytest.importorskip("obstore")

LOG = "s3://lake/t/_delta_log"
ODD = ["a b", "a%20b", "a+b", "a#b", "a?b", "a%2Fb", "100%", "Groß", "e\u0301", "*[x]{y}", "a\\b", "a&b;c:d~e'f\"g"]


@pytest.fixture
def server() -> Iterator[SmallS3]:
    with SmallS3().running() as server:
        yield server


@pytest.fixture
def storage(server: SmallS3, monkeypatch: pytest.MonkeyPatch) -> ObjectStorage:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("airflow_delta_provider.jobs.storage.remote_storage.WAITS", (0.0, 0.0))
    return ObjectStorage()


@pytest.fixture
def in_memory() -> ObjectStorage:
    store = obstore.store.MemoryStore()
    return ObjectStorage(opens=lambda uri, options: store)


@pytest.fixture(params=["storage", "in_memory"])
def any_storage(request: pytest.FixtureRequest) -> ObjectStorage:
    storage: ObjectStorage = request.getfixturevalue(request.param)
    return storage


def fails_with(code: int, name: str, *keys: str, times: int = 1000) -> Callable[[str, str], tuple[int, str] | None]:
    left = [times]

    def fault(method: str, key: str) -> tuple[int, str] | None:
        if keys and not key.endswith(keys):
            return None
        left[0] -= 1
        return (code, name) if left[0] >= 0 else None

    return fault


@pytest.mark.parametrize("name", ODD)
def test_what_is_written_is_read_whatever_its_name(any_storage: ObjectStorage, name: str) -> None:
    path = f"s3://lake/t {name}/{name}.json"
    any_storage.write(path, name.encode())
    assert any_storage.read(path) == name.encode()
    assert any_storage.list_names(f"s3://lake/t {name}") == [f"{name}.json"]
    assert any_storage.list_names("s3://lake") == [f"t {name}"]
    assert any_storage.size(path) == len(name.encode())
    assert any_storage.read_range(path, 1, 3) == name.encode()[1:3]


def test_names_of_different_spelling_are_different_files(any_storage: ObjectStorage) -> None:
    for name in ODD:
        any_storage.write(f"s3://lake/{name}", name.encode())
    assert sorted(any_storage.list_names("s3://lake")) == sorted(ODD)
    paths = [f"s3://lake/{name}" for name in ODD]
    assert list(any_storage.read_ahead(paths)) == [name.encode() for name in ODD]


def test_a_directory_is_what_is_directly_in_it(any_storage: ObjectStorage) -> None:
    for name in ("00.json", "01.json", "_sidecars/a.parquet", "_sidecars/b.parquet", "_staged_commits/x/y"):
        any_storage.write(f"{LOG}/{name}", b"1")
    any_storage.write("s3://lake/t/_delta_logs/00.json", b"another directory")
    expected = ["00.json", "01.json", "_sidecars", "_staged_commits"]
    assert sorted(any_storage.list_names(LOG)) == expected
    assert any_storage.list_from(LOG, "01") == expected[1:]
    assert any_storage.list_from(LOG, "01.json") == expected[1:]
    assert any_storage.list_from(LOG, "02") == expected[2:]
    assert any_storage.list_from(LOG, "z") == []
    for missing in ("s3://lake/t/_delta_lo", "s3://lake/none", f"{LOG}/00.json"):
        with pytest.raises(MissingFileError):
            any_storage.list_names(missing)
        with pytest.raises(MissingFileError):
            any_storage.list_from(missing, "00")


def test_an_object_that_stands_for_a_directory_is_no_file_in_it(server: SmallS3, storage: ObjectStorage) -> None:
    server.put("t/_delta_log/", b"")
    assert storage.list_names("s3://lake/t") == ["_delta_log"]
    with pytest.raises(MissingFileError):
        storage.list_names(LOG)
    server.put("t/_delta_log/00.json", b"")
    assert storage.list_names(LOG) == ["00.json"]
    assert storage.list_names("s3://lake/t") == ["_delta_log"]


def test_listing_from_a_name_on_neither_lists_what_is_before_nor_what_is_further_down(
    server: SmallS3, storage: ObjectStorage
) -> None:
    for version in range(5000):
        server.put(f"t/_delta_log/{version:020}.json", b"")
    for number in range(5000):
        server.put(f"t/_delta_log/_sidecars/{number}.parquet", b"")
    server.put("t/_delta_log/_staged_commits/0.json", b"")
    found = storage.list_from(LOG, f"{4998:020}")
    assert found == [f"{4998:020}.json", f"{4999:020}.json", "_sidecars", "_staged_commits"]
    assert sum(server.asked.values()) <= 3
    server.asked.clear()
    assert len(storage.list_names(LOG)) == 5002
    assert sum(server.asked.values()) <= 6


def test_a_bucket_that_lists_in_no_order_is_listed_as_a_whole(in_memory: ObjectStorage) -> None:
    for name in ("00.json", "01.json", "_sidecars/a"):
        in_memory.write(f"s3://lake--use1-az4--x-s3/t/_delta_log/{name}", b"")
    found = in_memory.list_from("s3://lake--use1-az4--x-s3/t/_delta_log", "01")
    assert sorted(found) == ["01.json", "_sidecars"]


def test_files_are_read_at_once_and_in_order(server: SmallS3, storage: ObjectStorage) -> None:
    names = [f"{version:020}.json" for version in range(200)]
    for name in names:
        server.put(f"t/_delta_log/{name}", name.encode())
    server.delay = 0.01
    assert list(storage.read_ahead([f"{LOG}/{name}" for name in names])) == [name.encode() for name in names]
    assert server.most_at_once > 20
    server.remove(f"t/_delta_log/{names[100]}")
    paths = [f"{LOG}/{name}" for name in names]
    assert [content is None for content in storage.read_present(paths)].index(True) == 100
    contents = storage.read_ahead(paths)
    for name in names[:100]:
        assert next(contents) == name.encode()
    with pytest.raises(MissingFileError, match=names[100]):
        next(contents)


def test_reading_ahead_stops_with_whoever_takes_the_files(server: SmallS3, storage: ObjectStorage) -> None:
    for number in range(1000):
        server.put(f"t/{number}", b"1")
    contents = storage.read_ahead([f"s3://lake/t/{number}" for number in range(1000)])
    next(contents)
    contents.close()  # type: ignore[attr-defined]  # a generator
    assert sum(server.asked.values()) < 150


def test_parts_of_files(any_storage: ObjectStorage) -> None:
    path = "s3://lake/t/a.parquet"
    any_storage.write(path, b"0123456789")
    assert any_storage.read_range(path, 3, 5) == b"34"
    assert any_storage.read_range(path, 8, 100) == b"89"
    assert any_storage.read_range(path, 10, 12) == b""
    assert any_storage.read_range(path, 4, 4) == b""
    with pytest.raises(MissingFileError):
        any_storage.read_range("s3://lake/t/b.parquet", 0, 5)


def test_when_a_file_was_written(server: SmallS3, storage: ObjectStorage) -> None:
    server.put("t/a", b"1")
    assert storage.written_at("s3://lake/t/a") == datetime(2026, 11, 1, 10, tzinfo=timezone.utc)
    for ask in (storage.written_at, storage.size, storage.read, storage.read_stamped):
        with pytest.raises(MissingFileError):
            ask("s3://lake/t/b")


def test_of_two_that_write_at_the_same_time_one_is_told(any_storage: ObjectStorage) -> None:
    path = "s3://lake/state/t.json"
    assert any_storage.replace(path, b"1", None)
    assert not any_storage.replace(path, b"2", None)
    content, stamp = any_storage.read_stamped(path)
    assert content == b"1"
    assert any_storage.replace(path, b"3", stamp)
    assert not any_storage.replace(path, b"4", stamp)
    assert any_storage.read(path) == b"3"


def test_what_was_removed_meanwhile_is_not_written_again(server: SmallS3, storage: ObjectStorage) -> None:
    storage.write("s3://lake/state", b"1")
    _, stamp = storage.read_stamped("s3://lake/state")
    server.remove("state")
    assert not storage.replace("s3://lake/state", b"2", stamp)


def test_what_may_pass_is_tried_again_and_again(server: SmallS3, storage: ObjectStorage) -> None:
    server.put("t/a", b"1")
    server.fault = fails_with(503, "SlowDown", times=2)
    assert storage.read("s3://lake/t/a") == b"1"
    server.fault = fails_with(500, "InternalError", times=2)
    assert storage.list_names("s3://lake/t") == ["a"]
    server.fault = fails_with(503, "SlowDown", times=3)
    with pytest.raises(StorageError, match=r"s3://lake/t/a: the storage is busy or failed \(SlowDown\)") as failed:
        storage.read("s3://lake/t/a")
    assert failed.value.retryable


@pytest.mark.parametrize(
    ("status", "code", "what"),
    [
        (403, "AccessDenied", "no permission"),
        (403, "InvalidAccessKeyId", "does not accept the credentials"),
        (403, "ExpiredToken", "does not accept the credentials"),
        (301, "PermanentRedirect", "another region"),
        (400, "AuthorizationHeaderMalformed", "another region"),
        (404, "NoSuchBucket", "no such bucket"),
    ],
)
def test_what_will_not_pass_is_said_at_once(
    server: SmallS3, storage: ObjectStorage, status: int, code: str, what: str
) -> None:
    server.put("t/a", b"1")
    server.fault = fails_with(status, code)
    for ask in (storage.read, storage.list_names):
        server.asked.clear()
        with pytest.raises(StorageError, match=what) as failed:
            ask("s3://lake/t/a")
        assert not failed.value.retryable
        assert sum(server.asked.values()) == 1
        assert "\n" not in failed.value.what


def test_remedy_names_the_region_that_the_store_tells(server: SmallS3, storage: ObjectStorage) -> None:
    server.fault = fails_with(400, "AuthorizationHeaderMalformed")
    with pytest.raises(StorageError) as told:
        storage.read("s3://lake/t/a")
    assert told.value.remedy == "Set AWS_REGION to eu-central-1."
    server.fault = fails_with(301, "PermanentRedirect")
    with pytest.raises(StorageError) as untold:
        storage.read("s3://lake/t/a")
    assert "x-amz-bucket-region" in untold.value.remedy


def test_one_file_that_must_not_be_read(server: SmallS3, storage: ObjectStorage) -> None:
    for number in range(20):
        server.put(f"t/{number}", b"1")
    server.fault = fails_with(403, "AccessDenied", "/7")
    contents = storage.read_ahead([f"s3://lake/t/{number}" for number in range(20)])
    assert [next(contents) for _ in range(7)] == [b"1"] * 7
    with pytest.raises(StorageError, match=r"^s3://lake/t/7: no permission \(AccessDenied\)$"):
        next(contents)


def test_a_bucket_that_is_not_there(storage: ObjectStorage) -> None:
    for ask in (storage.list_names, storage.read):
        with pytest.raises(StorageError, match="no such bucket or container") as failed:
            ask("s3://none/t")
        assert not failed.value.retryable


def test_an_endpoint_that_is_gone(storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(StorageError, match="cannot be reached") as failed:
        ObjectStorage().list_names("s3://lake/t")
    assert failed.value.retryable


def test_an_endpoint_that_does_not_answer(server: SmallS3, storage: ObjectStorage) -> None:
    server.delay = 2
    with pytest.raises(StorageError, match="did not answer in time") as failed:
        ObjectStorage({"timeout": "100ms"}).list_names("s3://lake/t")
    assert failed.value.retryable


def test_without_credentials(server: SmallS3, storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(StorageError, match="no credentials") as failed:
        ObjectStorage().list_names("s3://lake/t")
    assert not failed.value.retryable
    assert not server.asked


def test_options_come_before_the_environment(server: SmallS3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    keys = {"aws_access_key_id": "x", "AWS_SECRET_ACCESS_KEY": "y", "region": "eu-west-1", "azure_account_name": "z"}
    server.put("t/a", b"1")
    assert ObjectStorage({"endpoint": server.endpoint, **keys}).read("s3a://lake/t/a") == b"1"
    with pytest.raises(StorageError, match=r"does not know an option.*regoin"):
        ObjectStorage({"regoin": "eu-west-1"}).read("s3a://lake/t/a")


@pytest.mark.parametrize("key", ["t//x", "t/./x", "t/a\nb"])
def test_names_that_no_table_has_are_an_error_of_their_own(server: SmallS3, storage: ObjectStorage, key: str) -> None:
    server.put(key, b"1")
    with pytest.raises(StorageError, match="a name below this place cannot be read") as failed:
        storage.list_names("s3://lake/t")
    assert not failed.value.retryable


def test_locations() -> None:
    storage = ObjectStorage()
    assert storage.qualify("s3a://lake//a/./b/../t/") == "s3a://lake/a/t"
    assert storage.real_location("gs://lake/a%20b") == "gs://lake/a%20b"
    assert storage.spellings("s3://lake/a%20 ß#") == {"s3://lake/a%20 ß#", "s3://lake/a%2520%20ß%23"}
    assert not storage.is_local("s3://lake/t")


@pytest.mark.parametrize("location", ["s3:///t", "s3:t", "t"])
def test_what_is_no_uri_is_refused(location: str) -> None:
    with pytest.raises(StorageError, match="does not name a bucket"):
        ObjectStorage().qualify(location)


def test_azure_and_google_are_opened_by_their_usual_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_delta_provider.jobs.storage.object_storage import open_store
    from airflow_delta_provider.jobs.storage.remote_storage import StoreUri

    key = "a2V5"
    for uri in ("abfss://box@account.dfs.core.windows.net/t", "wasbs://box@account.blob.core.windows.net/t"):
        shown = repr(open_store(StoreUri.of(uri), {"account_key": key}))
        assert '"box"' in shown
        assert '"account"' in shown
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"AccountName=mine;AccountKey={key};EndpointSuffix=x")
    assert '"mine"' in repr(open_store(StoreUri.of("az://box/t"), {}))
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:1")
    for uri in ("gs://box/t", "abfss://box@account.dfs.core.windows.invalid/t"):
        with pytest.raises(StorageError, match="cannot be reached"):
            ObjectStorage().read(uri)


def test_an_emulator_of_google_is_written_to_without_asking_for_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Emulator(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            asked.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("ETag", '"1"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Emulator) as server, ThreadPoolExecutor(1) as pool:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"127.0.0.1:{server.server_port}")
        pool.submit(server.serve_forever)
        try:
            ObjectStorage().write("gs://box/t", b"content")
        finally:
            server.shutdown()
    assert asked == [("/box/t", b"content")]
