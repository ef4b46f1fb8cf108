"""Every table of the archive, read whole, against what Paimon's connector says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.paimon import schema as schema_module
from airflow_delta_provider.domain.paimon import snapshot as snapshot_module
from airflow_delta_provider.domain.paimon.binary_row import read_partition
from airflow_delta_provider.domain.paimon.index_manifest import DELETION_VECTORS, deleted_rows, read_index_manifests
from airflow_delta_provider.domain.paimon.layout import DataLayout, manifest_path
from airflow_delta_provider.domain.paimon.manifest import FileKind, read_manifest_lists, read_manifests
from airflow_delta_provider.domain.paimon.schema import PaimonFormatError
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from tests.tables.avro_files import CODECS as CODEC_NAMES
from tests.tables.avro_files import avro_file, recompressed
from tests.tables.paimon.archive import HISTORIES, expected, table_of, tables
from tests.unit.paimon_tables import CODECS, PaimonTable, read


@pytest.fixture(params=HISTORIES)
def history(request: pytest.FixtureRequest, paimon_archive: Path) -> tuple[PaimonTable, dict[str, Any]]:
    return PaimonTable(table_of(paimon_archive, request.param)), expected(paimon_archive)[request.param]


def test_snapshots_are_as_the_connector_says(history: tuple[PaimonTable, dict[str, Any]]) -> None:
    table, said = history

    found = [table.snapshot(snapshot_id) for snapshot_id in table.snapshot_ids()]

    assert [
        {
            "snapshot_id": snapshot.id,
            "commit_kind": snapshot.commit_kind,
            "operation": snapshot.operation,
            "total_record_count": snapshot.total_record_count,
            "delta_record_count": snapshot.delta_record_count,
            "next_row_id": snapshot.next_row_id,
            "schema_id": snapshot.schema_id,
        }
        for snapshot in found
    ] == said["snapshots"]


def test_live_files_of_every_snapshot_are_as_the_connector_says(history: tuple[PaimonTable, dict[str, Any]]) -> None:
    table, said = history
    fields = table.schemas()[-1].partition_fields
    for snapshot_id in table.snapshot_ids():
        snapshot = table.snapshot(snapshot_id)
        files = table.live_files(snapshot)
        assert sum(file.row_count for file in files) == snapshot.total_record_count
        found = {
            file.name: {
                "partition": "{" + ", ".join(str(value) for value in read_partition(file.partition, fields)) + "}",
                "file_name": file.name,
                "record_count": file.row_count,
                "min_sequence_number": file.min_sequence,
                "max_sequence_number": file.max_sequence,
                "file_source": file.source.name,
                "first_row_id": file.first_row_id,
                "write_cols": None if file.write_cols is None else list(file.write_cols),
                "schema_id": file.schema_id,
            }
            for file in files
        }
        files_said = said["files"][str(snapshot_id)]
        for file in files_said:
            assert found.pop(file["file_name"]) == file
        # The connector lists the files of partitions alone that the newest snapshot still has.
        assert all(file["partition"] == "{d2}" for file in found.values())


def test_every_live_file_lies_where_the_layout_says_with_the_size_that_its_entry_says(
    history: tuple[PaimonTable, dict[str, Any]],
) -> None:
    table, _ = history
    layout = DataLayout.of(table.schemas()[-1])
    for snapshot_id in table.snapshot_ids():
        snapshot = table.snapshot(snapshot_id)
        for file in table.live_files(snapshot):
            assert len(table.bytes_of(layout.data_file_path(file))) == file.size
            assert file.format == "parquet"
            assert file.holds_rows
        for index in table.index_files(snapshot):
            assert len(table.bytes_of(layout.index_file_path(index))) == index.size


def test_manifest_lists_are_as_their_snapshots_say_and_manifests_as_their_lists_say(
    history: tuple[PaimonTable, dict[str, Any]],
) -> None:
    table, _ = history
    for snapshot_id in table.snapshot_ids():
        snapshot = table.snapshot(snapshot_id)
        for manifest_list in (snapshot.base, snapshot.delta):
            content = table.bytes_of(manifest_path(manifest_list.name))
            assert len(content) == manifest_list.size
            for manifest in read(read_manifest_lists([content], CODECS)):
                manifest_content = table.bytes_of(manifest_path(manifest.name))
                assert len(manifest_content) == manifest.size
                entries = read(read_manifests([manifest_content], CODECS))
                kinds = [entry.kind for entry in entries]
                assert (kinds.count(FileKind.ADD), kinds.count(FileKind.DELETE)) == (manifest.added, manifest.deleted)
                firsts = [entry.file.first_row_id for entry in entries]
                known = None not in firsts
                assert manifest.min_row_id == (min(first for first in firsts if first is not None) if known else None)


@pytest.mark.parametrize("name", ["big/dv/06_call", "big/de3/07_call"])
def test_rows_that_deletion_vectors_leave_are_those_that_the_connector_reads(paimon_archive: Path, name: str) -> None:
    table, said = PaimonTable(table_of(paimon_archive, name)), expected(paimon_archive)[name]
    vectors = 0
    for snapshot_id in table.snapshot_ids():
        snapshot = table.snapshot(snapshot_id)
        files = {file.name: file for file in table.live_files(snapshot)}
        deleted = {}
        for index in table.index_files(snapshot):
            assert index.type == DELETION_VECTORS
            assert index.row_count == len(index.vectors)
            content = table.bytes_of(f"index/{index.name}")
            for vector in index.vectors:
                deleted[vector.data_file] = deleted_rows(content, vector, files[vector.data_file].row_count)
        vectors += len(deleted)
        ids = {
            file.first_row_id + place
            for file in files.values()
            for place in range(file.row_count)
            if file.first_row_id is not None and not deleted.get(file.name, 0) >> place & 1
        }
        read_ids = {row["_ROW_ID"] for row in said["rows"][str(snapshot_id)]}
        in_files = [file for file in files.values() if file.first_row_id is None]
        assert ids <= read_ids
        assert len(read_ids - ids) == sum(file.row_count - deleted.get(file.name, 0).bit_count() for file in in_files)
    assert vectors


def test_every_table_of_the_archive_damaged_ones_too_is_of_the_format(paimon_archive: Path) -> None:
    found = tables(paimon_archive)
    for root in found:
        table = PaimonTable(root)
        for schema in table.schemas():
            assert schema.version in schema_module.KNOWN_VERSIONS
            assert schema.table_options().row_tracking
        for snapshot_id in table.snapshot_ids() if (root / "snapshot").is_dir() else ():
            snapshot = table.snapshot(snapshot_id)
            assert snapshot.version in snapshot_module.KNOWN_VERSIONS
            table.entries(snapshot.delta)
            table.index_files(snapshot)
    assert len(found) > 40


def test_a_tag_is_the_snapshot_that_it_was_made_from(paimon_archive: Path) -> None:
    table = PaimonTable(table_of(paimon_archive, "big/p/final"))

    tag = Snapshot.from_json(table.bytes_of("tag/tag-tg1"))

    assert tag == table.snapshot(tag.id)


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_manifests_are_the_same_in_every_codec_that_paimon_writes(paimon_archive: Path, codec: str) -> None:
    table = PaimonTable(table_of(paimon_archive, "big/dv/06_call"))
    snapshot = table.snapshot(4)
    assert snapshot.index_manifest is not None
    for reader, name in (
        (read_manifest_lists, snapshot.base.name),
        (
            read_manifests,
            read(read_manifest_lists([table.bytes_of(f"manifest/{snapshot.delta.name}")], CODECS))[0].name,
        ),
        (read_index_manifests, snapshot.index_manifest),
    ):
        content = table.bytes_of(manifest_path(name))
        found = read(reader([content], CODECS))  # type: ignore[operator]  # one of two
        assert found
        assert read(reader([recompressed(content, codec)], CODECS)) == found  # type: ignore[operator]  # one of two


def _first_manifest(table: PaimonTable, snapshot: Snapshot) -> str:
    return read(read_manifest_lists([table.bytes_of(manifest_path(snapshot.delta.name))], CODECS))[0].name


def _entry(**changes: Any) -> dict[str, Any]:
    file = {
        "_FILE_NAME": "data-1-0.parquet",
        "_FILE_SIZE": 1,
        "_ROW_COUNT": 2,
        "_MIN_SEQUENCE_NUMBER": 3,
        "_MAX_SEQUENCE_NUMBER": 4,
        "_SCHEMA_ID": 0,
        "_LEVEL": 0,
        "_EXTRA_FILES": [],
    }
    entry = {"_VERSION": 2, "_KIND": 0, "_PARTITION": bytes(12), "_BUCKET": 0, "_FILE": file}
    return {**entry, **changes}


def _schema() -> dict[str, Any]:
    file: dict[str, Any] = {
        "_FILE_NAME": "string",
        "_FILE_SIZE": "long",
        "_ROW_COUNT": "long",
        "_MIN_SEQUENCE_NUMBER": "long",
        "_MAX_SEQUENCE_NUMBER": "long",
        "_SCHEMA_ID": "long",
        "_LEVEL": "int",
        "_EXTRA_FILES": {"type": "array", "items": "string"},
    }
    record = {"type": "record", "name": "f", "fields": [{"name": key, "type": kind} for key, kind in file.items()]}
    entry: dict[str, Any] = {
        "_VERSION": "int",
        "_KIND": "int",
        "_PARTITION": "bytes",
        "_BUCKET": "int",
        "_FILE": record,
    }
    return {"type": "record", "name": "e", "fields": [{"name": key, "type": kind} for key, kind in entry.items()]}


def test_a_manifest_of_a_writer_without_row_tracking_has_no_row_ids() -> None:
    [entry] = read(read_manifests([avro_file(_schema(), [_entry()])], CODECS))

    assert (entry.file.first_row_id, entry.file.write_cols, entry.file.external_path) == (None, None, None)
    assert entry.file.source.name == "UNKNOWN"
    assert entry.file.min_sequence == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"_VERSION": 1}, "version 1, not 2"), ({"_VERSION": 3}, "version 3, not 2"), ({"_KIND": 2}, "of kind 2")],
)
def test_an_entry_that_is_not_known_keeps_its_manifest_from_being_read(changes: dict[str, Any], message: str) -> None:
    good = avro_file(_schema(), [_entry()])

    bad_result, good_result = read_manifests([avro_file(_schema(), [_entry(**changes)]), good], CODECS)

    assert isinstance(bad_result, PaimonFormatError)
    assert message in str(bad_result)
    assert not isinstance(good_result, PaimonFormatError)


@pytest.mark.parametrize(
    ("name", "file_format", "holds_rows"),
    [
        ("data-1-0.parquet", "parquet", True),
        ("data-1-0.zstd.parquet", "parquet", True),
        ("data-1-0.csv.gz", "csv", True),
        ("data-1-0.orc", "orc", True),
        ("data-1-0.blob", "blob", False),
        ("data-1-0.vector.lance", "lance", False),
        ("data", "", True),
    ],
)
def test_a_files_name_says_its_format_and_whether_its_rows_are_the_tables(
    name: str, file_format: str, holds_rows: bool
) -> None:
    entry = _entry()
    entry["_FILE"]["_FILE_NAME"] = name

    [found] = read(read_manifests([avro_file(_schema(), [entry])], CODECS))

    assert (found.file.format, found.file.holds_rows) == (file_format, holds_rows)


def test_files_are_told_apart_by_all_that_paimon_tells_them_apart_by(paimon_archive: Path) -> None:
    table = PaimonTable(table_of(paimon_archive, "big/p/final"))
    [file, *_] = table.live_files(table.snapshot(1))

    others = [
        file._replace(partition=file.partition + b"\0"),
        file._replace(bucket=1),
        file._replace(level=1),
        file._replace(name="other"),
        file._replace(extra_files=("x",)),
        file._replace(embedded_index=b"x"),
        file._replace(external_path="s3://b/x"),
    ]

    assert len({file.key, *(other.key for other in others)}) == 1 + len(others)
    assert file._replace(row_count=99, first_row_id=7).key == file.key


def test_rows_change_only_as_the_kind_and_the_operation_of_commits_permit(paimon_archive: Path) -> None:
    commits = 0
    for name, said in expected(paimon_archive).items():
        table, before = PaimonTable(table_of(paimon_archive, name)), dict[int, object]()
        for snapshot_id in table.snapshot_ids():
            permits = table.snapshot(snapshot_id).permits
            rows = {row["_ROW_ID"]: row for row in said["rows"][str(snapshot_id)]}
            assert permits.removed or rows.keys() >= before.keys(), (name, snapshot_id)
            assert permits.added or rows.keys() <= before.keys(), (name, snapshot_id)
            assert permits.changed or all(rows.get(key, row) == row for key, row in before.items()), (name, snapshot_id)
            before, commits = dict(rows), commits + 1
    assert commits
