"""Reading the head of a log through object storage."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.io import attach
from fsspec.asyn import AsyncFileSystem

from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_features import FeatureState, feature_state
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.domain.table_name import TableNameError
from airflow_delta_provider.watch.head_reader import HeadReader, ObjectStorageLog
from airflow_delta_provider.watch.log_follower import LogFollower, heads_from
from airflow_delta_provider.watch.metadata_folder import (
    DeltaLogUnreadableError,
    StorageAddress,
    StorageSetupError,
    newest_after,
)
from tests.airflow.table_logs import (
    REAL_TABLES,
    RecordingFileSystem,
    TableLog,
    append,
    attach_store,
    checkpoint,
    metadata,
    protocol,
)
from tests.unit.checkpoint_builder import as_parquet, classic_name, with_null_group
from tests.unit.log_builder import Actions

WIDENING = metadata({"delta.enableTypeWidening": "true"})


def read(table: object, conn_id: str | None = None) -> TableHead:
    head = HeadReader(ObjectStorageLog(str(table), conn_id)).read()
    assert head is not None
    return head


def state(head: TableHead, name: str) -> FeatureState:
    return feature_state(feature_named(name), head.protocol, head.metadata)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> tuple[RecordingFileSystem, str, str]:
    """A store, the connection it is attached to, and the URI of a table in it."""
    filesystem = RecordingFileSystem()
    conn_id = attach_store(monkeypatch, filesystem)
    return filesystem, conn_id, f"memory://{conn_id}/t"


@pytest.fixture
def memory_log(store: tuple[RecordingFileSystem, str, str]) -> Iterator[TableLog]:
    filesystem, conn_id, _ = store
    yield TableLog(f"/{conn_id}/t", filesystem)
    filesystem.rm(f"/{conn_id}", recursive=True)


@pytest.mark.parametrize(
    ("table", "version"),
    [
        ("checksums", 3),
        ("classic_checkpoint", 4),
        ("multi_part_checkpoint", 4),
        ("v2_parquet_checkpoint", 4),
        ("v2_json_checkpoint", 4),
    ],
)
def test_log_of_a_real_table_gives_its_features(table: str, version: int) -> None:
    head = read(REAL_TABLES / table)
    assert head.version == version
    assert state(head, "rowTracking") is FeatureState.ENABLED
    assert state(head, "typeWidening") is FeatureState.ENABLED
    assert state(head, "columnMapping") is FeatureState.ABSENT
    assert (state(head, "v2Checkpoint") is FeatureState.ENABLED) == table.startswith("v2_")
    assert [field.name for field in head.metadata.schema.fields] == ["id", "city"]


@pytest.mark.parametrize("prefix", ["", "file://", "file:"])
def test_local_path_may_hold_any_character(tmp_path: Path, prefix: str) -> None:
    table = tmp_path / "a b#c?d [x]*é%20"
    TableLog(table).commit(0, protocol(), metadata())
    assert read(f"{prefix}{table}/").version == 0


def test_newest_protocol_and_metadata_win(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol(reader=1, writer=2), metadata())
    log.commit(1, protocol("typeWidening"))
    log.commit(2, WIDENING)
    log.commit(3, append())
    assert state(read(tmp_path), "typeWidening") is FeatureState.ENABLED


def test_legacy_versions_imply_features(tmp_path: Path) -> None:
    TableLog(tmp_path).commit(0, protocol(reader=1, writer=4), metadata())
    head = read(tmp_path)
    assert state(head, "changeDataFeed") is FeatureState.SUPPORTED
    assert state(head, "columnMapping") is FeatureState.ABSENT


def test_checksum_spares_the_older_commits(store: tuple[RecordingFileSystem, str, str], memory_log: TableLog) -> None:
    filesystem, conn_id, uri = store
    for version in range(10):
        memory_log.commit(version, *([protocol("typeWidening"), metadata()] if version == 0 else [append()]))
    memory_log.checksum(7, protocol("typeWidening"), metadata())
    filesystem.calls.clear()
    assert read(uri, conn_id).version == 9
    assert filesystem.calls == ["ls", "9.json", "8.json", "7.json", "7.crc"]


def test_poll_of_an_unchanged_table_asks_for_two_files_and_of_a_changed_one_reads_what_is_new(
    store: tuple[RecordingFileSystem, str, str], memory_log: TableLog
) -> None:
    filesystem, conn_id, uri = store
    memory_log.commit(0, protocol(), metadata())
    memory_log.commit(1, append())
    reader = HeadReader(ObjectStorageLog(uri, conn_id))
    reader.read()
    filesystem.calls.clear()
    filesystem.asked.clear()
    reader.read()
    assert (filesystem.calls, filesystem.asked) == ([], ["1.json", "2.json"])
    memory_log.commit(2, protocol("typeWidening"))
    memory_log.commit(3, append())
    filesystem.calls.clear()
    head = reader.read()
    assert filesystem.calls == ["3.json", "3.crc", "2.json"]
    assert head is not None
    assert (head.version, state(head, "typeWidening")) == (3, FeatureState.SUPPORTED)


def test_many_new_commits_are_found_by_a_few_questions(
    store: tuple[RecordingFileSystem, str, str], memory_log: TableLog
) -> None:
    filesystem, conn_id, uri = store
    memory_log.commit(0, protocol(), metadata())
    reader = HeadReader(ObjectStorageLog(uri, conn_id))
    reader.read()
    for version in range(1, 201):
        memory_log.commit(version, append())
    memory_log.checksum(199, protocol("typeWidening"), metadata())
    filesystem.calls.clear()
    filesystem.asked.clear()
    head = reader.read()
    assert head is not None
    assert (head.version, state(head, "typeWidening")) == (200, FeatureState.SUPPORTED)
    assert filesystem.calls == ["200.json", "200.crc", "199.json", "199.crc"]
    assert len(filesystem.asked) < 20


class SlowStore(AsyncFileSystem):
    """A store whose answers take 30 ms; it answers many questions at once.

    :param inner: the store that has the files
    """

    cachable = False
    protocol = "memory"

    def __init__(self, inner: RecordingFileSystem) -> None:
        super().__init__()
        self._inner = inner
        self._waiting = 0
        self.waves = 0
        """Number of times that a file was requested while no other one was on its way."""

    async def _cat_file(self, path: str, start: Any = None, end: Any = None, **_: Any) -> bytes:
        self.waves += not self._waiting
        self._waiting += 1
        try:
            await asyncio.sleep(0.03)
            return bytes(self._inner.cat_file(path, start, end))
        finally:
            self._waiting -= 1

    async def _info(self, path: str, **_: Any) -> Any:
        await asyncio.sleep(0.03)
        return self._inner.info(path)

    async def _ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        await asyncio.sleep(0.03)
        return self._inner.ls(path, detail)


def slow_table(monkeypatch: pytest.MonkeyPatch) -> tuple[RecordingFileSystem, SlowStore, str, TableLog]:
    """Return a filesystem, a slow store over it, the store's connection, and the log of a new table."""
    inner = RecordingFileSystem()
    store = SlowStore(inner)
    conn_id = attach_store(monkeypatch, store)
    log = TableLog(f"/{conn_id}/t", inner)
    log.commit(0, protocol("typeWidening"), metadata())
    return inner, store, conn_id, log


@pytest.mark.parametrize("lost", [None, 150])
def test_first_poll_of_a_long_log_asks_for_many_commits_at_once(monkeypatch: pytest.MonkeyPatch, lost: int | None):
    inner, store, conn_id, log = slow_table(monkeypatch)
    for version in range(1, 300):
        log.commit(version, append())
    if lost is None:
        head = read(f"memory://{conn_id}/t", conn_id)
        assert (head.version, state(head, "typeWidening")) == (299, FeatureState.SUPPORTED)
    else:
        names = {path.rsplit("/", 1)[-1] for path in inner.ls(f"/{conn_id}/t/_delta_log", detail=False)}
        log.remove(f"{lost:020d}.json")
        reader = HeadReader(ObjectStorageLog(f"memory://{conn_id}/t", conn_id))
        with pytest.raises(FileNotFoundError):
            reader.read_version(299, names)
    assert store.waves < 20


@pytest.mark.parametrize("lost", [None, 150])
def test_many_commits_since_the_last_look_are_requested_at_once(monkeypatch: pytest.MonkeyPatch, lost: int | None):
    _, store, conn_id, log = slow_table(monkeypatch)
    table_log = ObjectStorageLog(f"memory://{conn_id}/t", conn_id)
    (first,) = LogFollower(table_log).read().heads
    for version in range(1, 300):
        log.commit(version, append())
    if lost is not None:
        log.remove(f"{lost:020d}.json")
    store.waves = 0

    heads = heads_from(table_log, first, 299)

    assert [head.version for head in heads] == list(range(300 if lost is None else lost))
    assert store.waves < 20


@pytest.mark.parametrize("news", range(40))
def test_newest_of_a_series_is_found_however_much_is_new(news: int) -> None:
    found = newest_after(7, lambda number: f"stamp {number}" if number <= 7 + news else None)
    assert found == (7 + news, f"stamp {7 + news}" if news else None)


def test_gap_that_appears_is_seen_when_the_log_is_listed_again(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol(), metadata())
    reader = HeadReader(ObjectStorageLog(log.location), listing_interval=0.2)
    reader.read()
    log.commit(2, append())
    assert reader.read() is not None
    time.sleep(0.2)
    with pytest.raises(BrokenLogError, match=r"00000000000000000001\.json missing"):
        reader.read()


def test_commit_that_goes_away_while_it_is_read_is_looked_for_again(
    store: tuple[RecordingFileSystem, str, str], memory_log: TableLog
) -> None:
    """A table is dropped and made anew between two questions of one look."""
    filesystem, conn_id, uri = store
    memory_log.commit(0, protocol(), metadata(table_id="old"))
    reader = HeadReader(ObjectStorageLog(uri, conn_id))
    reader.read()
    memory_log.commit(1, append())
    ask = filesystem.info

    def info(path: str, **kwargs: Any) -> Any:
        if path.endswith(f"{2:020d}.json"):
            memory_log.remove(f"{1:020d}.json")
            memory_log.commit(0, protocol("typeWidening"), metadata(table_id="new"))
        return ask(path, **kwargs)

    filesystem.info = info  # type: ignore[method-assign]  # a stand-in
    head = reader.read()
    assert head is not None
    assert (head.version, head.metadata.id) == (0, "new")


def test_table_made_anew_under_the_same_name_is_read_anew(tmp_path: Path) -> None:
    log = TableLog(tmp_path / "t")
    log.commit(0, protocol("typeWidening"), metadata(table_id="old"))
    log.commit(1, append())
    reader = HeadReader(ObjectStorageLog(log.location))
    reader.read()
    log.drop()
    assert reader.read() is None
    log.commit(0, protocol("typeWidening"), metadata(table_id="old"))
    log.commit(1, append())
    reader.read()
    log.drop()
    log.commit(0, protocol(), metadata(table_id="new"))
    log.commit(1, append("another transaction"))
    log.commit(2, append())
    head = reader.read()
    assert head is not None
    assert (head.metadata.id, state(head, "typeWidening")) == ("new", FeatureState.ABSENT)


@pytest.mark.parametrize("lie", ["protocol", "metadata", "transaction", "truncated", "incomplete"])
def test_checksum_that_disagrees_with_its_commit_is_ignored_with_a_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, lie: str
) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol("typeWidening"), WIDENING)
    if lie == "protocol":
        log.commit(1, append(), protocol("typeWidening"))
        log.checksum(1, protocol("rowTracking"), metadata())
    elif lie == "metadata":
        log.commit(1, append(), WIDENING)
        log.checksum(1, protocol(), metadata())
    elif lie == "transaction":
        log.commit(1, append("one"))
        log.checksum(1, protocol(), metadata(), transaction="another")
    else:
        log.commit(1, append())
        log.write(f"{1:020d}.crc", '{"protocol": {"minRea' if lie == "truncated" else '{"numFiles": 1}')
    with caplog.at_level(logging.WARNING):
        assert state(read(tmp_path), "typeWidening") is FeatureState.ENABLED
    assert "00000000000000000001.crc is ignored" in caplog.text


def test_checksum_without_its_commit_is_not_believed(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.write(f"{3:020d}.checkpoint.parquet", checkpoint(protocol("typeWidening"), WIDENING))
    log.checksum(3, protocol(), metadata())
    log.commit(4, append())
    assert state(read(tmp_path), "typeWidening") is FeatureState.ENABLED


def test_checksum_is_preferred_to_a_parquet_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = TableLog(tmp_path)
    log.commit(3, append())
    log.checksum(3, protocol("typeWidening"), WIDENING)
    log.write(f"{3:020d}.checkpoint.parquet", checkpoint(protocol("typeWidening"), WIDENING))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert state(read(tmp_path), "typeWidening") is FeatureState.ENABLED


def test_commits_after_a_checkpoint_win_over_it(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.write(f"{3:020d}.checkpoint.parquet", checkpoint(protocol("typeWidening"), WIDENING, files=200_000))
    log.commit(4, metadata())
    assert state(read(tmp_path), "typeWidening") is FeatureState.SUPPORTED


def test_parquet_checkpoint_without_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(StorageSetupError, match=r"airflow-delta-provider\[sensor\]"):
        read(REAL_TABLES / "classic_checkpoint")


def test_json_checkpoint_needs_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read(REAL_TABLES / "v2_json_checkpoint").version == 4


def test_damaged_checkpoint_is_said_to_be_damaged(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.write(f"{3:020d}.checkpoint.parquet", b"PAR1 this is none")
    log.commit(4, append())
    with pytest.raises(BrokenLogError, match="cannot be read as Parquet"):
        read(tmp_path)


def test_gap_in_the_log_is_an_error_that_names_the_missing_commit(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol(), metadata())
    log.commit(2, append())
    log.checksum(2, protocol(), metadata())
    with pytest.raises(BrokenLogError, match=r"00000000000000000001\.json missing"):
        read(tmp_path)


def test_truncated_commit_is_an_error_that_names_it(tmp_path: Path) -> None:
    log = TableLog(tmp_path)
    log.commit(0, protocol(), metadata())
    log.write(f"{1:020d}.json", '{"protocol":{"minReaderVersion":3,"minWri')
    with pytest.raises(BrokenLogError, match=r"00000000000000000001\.json"):
        read(tmp_path)


@pytest.mark.parametrize("made", ["nothing", "directory", "empty log"])
def test_table_that_is_not_there_yet_is_none(tmp_path: Path, made: str) -> None:
    if made == "directory":
        (tmp_path / "t").mkdir()
    elif made == "empty log":
        (tmp_path / "t" / "_delta_log" / "_staged_commits").mkdir(parents=True)
    assert HeadReader(ObjectStorageLog(str(tmp_path / "t"))).read() is None


@pytest.mark.parametrize(
    ("table", "url", "account"),
    [
        ("s3a://b/t/", "s3://b/t", None),
        ("s3n://b/t", "s3://b/t", None),
        ("S3://b//t", "s3://b/t", None),
        ("gs://b/t", "gs://b/t", None),
        ("abfss://c@acc.dfs.core.windows.net/t", "abfss://c/t", "acc"),
        ("abfs://c/t", "abfss://c/t", None),
        ("wasbs://c@acc.blob.core.windows.net/t", "abfss://c/t", "acc"),
        ("file:///d/t", "/d/t", None),
        ("file:/d/t", "/d/t", None),
        ("/d/t", "/d/t", None),
        ("delta.`/d/t`", "/d/t", None),
    ],
)
def test_schemes_of_one_store_are_one_address(table: str, url: str, account: str | None) -> None:
    address = StorageAddress.of(table)
    assert (address.url, address.account) == (url, account)


@pytest.mark.parametrize(
    ("table", "remedy"),
    [
        ("main.sales.orders", "location"),
        ("orders", "location"),
        ("warehouse/orders", "absolute"),
        ("s3://key:secret@bucket/t", "storage_conn_id"),
        ("s3://secret@bucket/t", "storage_conn_id"),
    ],
)
def test_address_that_cannot_be_used_is_refused_with_the_remedy(table: str, remedy: str) -> None:
    with pytest.raises(TableNameError, match=remedy) as error:
        StorageAddress.of(table)
    assert "@" not in table or "secret" not in str(error.value)


def test_scheme_without_its_provider_names_the_package() -> None:
    with pytest.raises(StorageSetupError, match=r"s3://.*apache-airflow-providers-amazon\[s3fs\]"):
        read("s3a://bucket/t")


def test_connection_that_does_not_exist_is_named() -> None:
    attach("memory", conn_id="missing_conn", fs=RecordingFileSystem())
    with pytest.raises(DeltaLogUnreadableError, match="'missing_conn' does not exist"):
        read("memory://b/t", "missing_conn")


def test_account_of_another_connection_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = RecordingFileSystem()
    filesystem.account_name = "other"  # type: ignore[attr-defined]  # as Azure's filesystem has it
    conn_id = attach_store(monkeypatch, filesystem, "abfss")
    with pytest.raises(StorageSetupError, match=rf"'acc'.*'{conn_id}'.*'other'"):
        read("abfss://c@acc.dfs.core.windows.net/t", conn_id)


def test_checkpoint_that_only_pyarrow_cannot_read_gives_its_head(tmp_path: Path) -> None:
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    actions: Actions = [protocol("typeWidening"), WIDENING, {"add": {"path": "p"}}]
    (log / classic_name(4)).write_bytes(with_null_group(as_parquet(actions)))

    head = read(tmp_path / "t")
    assert (head.version, state(head, "typeWidening")) == (4, FeatureState.ENABLED)
