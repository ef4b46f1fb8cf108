"""Checkpoints are read by PyArrow or with Python alone: both find the same actions in them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.jobs.delta import arrow_checkpoint, python_checkpoint
from airflow_delta_provider.jobs.delta.checkpoint_files import PARSED_FIELDS, CheckpointFiles
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from airflow_delta_provider.jobs.storage.storage import BlockFile
from tests.unit.checkpoint_builder import COLUMNS, actions_of, as_parquet
from tests.unit.log_builder import Actions

BY_ENGINES = sorted((Path(__file__).parents[2] / "airflow" / "tables").glob("*/_delta_log/*.checkpoint*.parquet"))
ALL: list[tuple[dict[str, tuple[str, ...]], tuple[str, ...] | None, bool]] = [
    ({}, None, False),
    ({"add": ()}, ("protocol", "metaData", "add"), False),
    ({"add": ("path", "size", "stats", "stats_parsed.numRecords", "deletionVector")}, ("protocol", "add"), False),
    ({"add": (*PARSED_FIELDS, "path", "stats", "nothing")}, None, True),
    ({"add": ("nothing",), "remove": ("path",)}, None, False),
]
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 1,
    "sizeInBytes": 36,
    "cardinality": 2,
}
ACTIONS: Actions = [
    {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"]}},
    {"metaData": {"id": "1", "format": {"provider": "parquet", "options": {}}, "configuration": {"a": "b", "c": "d"}}},
    {"txn": {"appId": "app", "version": 3}},
    {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    *({"remove": {"path": f"gone-{n}", "deletionTimestamp": n, "deletionVector": None}} for n in range(3)),
    *(
        {
            "add": {
                "path": f"day={n}/part-{n}",
                "partitionValues": {"day": None if n == 4 else str(n)},
                "size": n,
                "dataChange": False,
                "tags": {} if n == 2 else None,
                "deletionVector": VECTOR if n == 3 else None,
                "stats": json.dumps({"numRecords": n}) if n % 2 else None,
            }
        }
        for n in range(6)
    ),
]


class InMemory(LocalStorage):
    """A storage of one file."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self._content = content

    def read_range(self, path: str, start: int, end: int) -> bytes:
        assert 0 <= start < end <= len(self._content)
        return self._content[start:end]


def both(content: bytes, *, whole: bool = False) -> None:
    """Compare what is found, for all that is asked, in the whole file and by small parts."""
    for fields, kinds, parsed in ALL[1:] if whole else ALL:
        by_arrow = actions_of(arrow_checkpoint.batches(content, fields, kinds, parsed=parsed))
        assert actions_of(python_checkpoint.batches(content, fields, kinds, parsed=parsed)) == by_arrow
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("airflow_delta_provider.jobs.storage.storage._BLOCK", 100)
            patch.setattr("airflow_delta_provider.domain.formats.parquet.pages._HEADER_SIZE", 3)
            patch.setattr(arrow_checkpoint, "_STEP", 150)
            for reader in (arrow_checkpoint, python_checkpoint):
                file = BlockFile(InMemory(content), "file:/c", len(content))
                assert actions_of(reader.batches(file, fields, kinds, parsed=parsed)) == by_arrow
            file = BlockFile(InMemory(content), "file:/c", len(content))
            in_parts, at_once = Budget(len(content)), Budget(len(content))
            charged = list(python_checkpoint.charges(file, fields, kinds, in_parts))
            assert charged == list(python_checkpoint.charges(content, fields, kinds, at_once))
            assert in_parts.left == at_once.left


def written(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


@pytest.mark.parametrize("path", BY_ENGINES, ids=lambda path: path.parts[-3])
def test_checkpoint_of_an_engine_has_the_same_actions(path):
    both(path.read_bytes())


def test_checkpoint_with_every_kind_has_the_same_actions():
    both(as_parquet(ACTIONS))


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip"},
        {"compression": "zstd"},
        {"compression": "lz4"},
        {"compression": "brotli"},
        {"data_page_version": "2.0", "use_dictionary": False},
        {"column_encoding": "PLAIN", "use_dictionary": False, "compression": "none"},
        {"write_statistics": False},
        {"row_group_size": 1},
        {"data_page_size": 1, "write_batch_size": 1, "use_dictionary": False},
    ],
    ids=str,
)
def test_checkpoint_written_in_any_way_has_the_same_actions(options):
    both(written(pq.read_table(io.BytesIO(as_parquet(ACTIONS))), **options))


def test_what_is_parsed_is_the_same():
    parsed = [
        pa.field("partitionValues_parsed", pa.struct([("day", pa.date32()), ("at", pa.timestamp("us", "UTC"))])),
        pa.field(
            "stats_parsed",
            pa.struct([("numRecords", pa.int64()), ("minValues", pa.struct([("x", pa.decimal128(10, 2))]))]),
        ),
    ]
    actions = [
        {
            "add": {
                "path": str(n),
                "stats": None if n else '{"numRecords":1}',
                "partitionValues_parsed": {"day": 3_663_584 - n if n else 0, "at": 1_700_000_000_123_456},
                "stats_parsed": None if n == 3 else {"numRecords": n or None, "minValues": {"x": n}},
            }
        }
        for n in range(5)
    ]
    content = as_parquet(actions, parsed)

    both(content, whole=True)
    (first, *_) = actions_of(python_checkpoint.batches(content, ALL[3][0], None, parsed=True))
    assert first["add"]["partitionValues_parsed"] == {"day": "1970-01-01", "at": "2023-11-14 22:13:20.123456Z"}


def test_parsed_field_that_cannot_be_read_is_left_out(tmp_path):
    minimum = pa.struct([("minValues", pa.struct([("x", pa.string())]))])
    content = bytearray(
        as_parquet(
            [{"add": {"path": "p", "stats_parsed": {"minValues": {"x": "some bound"}}}}],
            [pa.field("stats_parsed", minimum)],
        )
    )
    content[content.index(b"some bound")] = 0xFF

    path = tmp_path / "00000000000000000001.checkpoint.parquet"
    path.write_bytes(content)
    assert actions_of(python_checkpoint.batches(bytes(content), ALL[3][0], None, parsed=True)) == [
        {"add": {"path": "p"}}
    ]
    assert actions_of(CheckpointFiles(LocalStorage()).all_batches(path.as_uri())) == [{"add": {"path": "p"}}]


def test_row_groups_are_read_one_after_another():
    table = pq.read_table(io.BytesIO(as_parquet(ACTIONS)))

    found = actions_of(python_checkpoint.batches(written(table, row_group_size=2), {}, None))

    assert len(found) == len(ACTIONS)
    assert [action["add"]["path"] for action in found if "add" in action] == [f"day={n}/part-{n}" for n in range(6)]


def test_kind_that_is_no_struct_is_damage():
    content = written(pa.table({"add": ["a"], "other": [1]}))

    with pytest.raises(BrokenLogError, match="its add is not a struct"):
        actions_of(python_checkpoint.batches(content, {}, None))


@pytest.mark.parametrize(("codec", "package"), [("brotli", "brotli"), ("zstd", "zstandard")])
def test_package_that_is_needed_is_named(codec, package, monkeypatch):
    monkeypatch.setattr(python_checkpoint, "page_codecs_of_packages", dict)
    content = written(pq.read_table(io.BytesIO(as_parquet(ACTIONS))), compression=codec)

    with pytest.raises(python_checkpoint.UnreadFileError, match="compressed with") as error:
        actions_of(python_checkpoint.batches(content, {}, None))
    assert error.value.package == package


@pytest.mark.parametrize("damage", ["cut", "garbage", "page"])
def test_damaged_file_is_named(damage, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: False)
    content = as_parquet(ACTIONS)
    path = tmp_path / "00000000000000000001.checkpoint.parquet"
    path.write_bytes(
        {"cut": content[:-1], "garbage": b"x" * 50, "page": content[:4] + bytes(400) + content[404:]}[damage]
    )

    with pytest.raises(BrokenLogError, match=r"checkpoint file 0+1\.checkpoint\.parquet is damaged"):
        actions_of(CheckpointFiles(LocalStorage()).all_batches(path.as_uri()))


def test_reader_is_asked_where_there_is_no_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "00000000000000000001.checkpoint.parquet"
    path.write_bytes(as_parquet(ACTIONS))
    files = CheckpointFiles(LocalStorage())
    by_arrow = actions_of(files.all_batches(path.as_uri())), actions_of(files.batches(path.as_uri(), True))
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: False)

    assert (actions_of(files.all_batches(path.as_uri())), actions_of(files.batches(path.as_uri(), True))) == by_arrow
    assert {kind for action in by_arrow[0] for kind in action} <= set(COLUMNS)
