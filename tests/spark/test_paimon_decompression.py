"""Zstandard by each way that a cluster may have, with the fixture tables' own blocks, and Snappy."""

from __future__ import annotations

import random
import sys
import zlib
from pathlib import Path

import pyarrow
import pytest
import zstandard
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.formats.avro.file import MOST_BYTES, Codec, split_container
from airflow_delta_provider.domain.formats.avro.primitives import AvroError
from airflow_delta_provider.jobs.spark.block_codecs import codecs_of_jvm, snappy_by_jvm, zstandard_by_jvm
from airflow_delta_provider.jobs.tables.codecs import snappy_by_pyarrow, zstandard_by_package, zstandard_by_pyarrow
from tests.tables.paimon.archive import unpack


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    manifests = unpack(tmp_path_factory.mktemp("paimon")).rglob("manifest/*manifest-*")
    return [block.data for path in sorted(manifests) for block in split_container(Path(path).read_bytes()).blocks]


@pytest.fixture(params=["zstandard", "pyarrow", "jvm"])
def codec(request: pytest.FixtureRequest, spark: SparkSession) -> Codec:
    ways = {"zstandard": zstandard_by_package, "pyarrow": zstandard_by_pyarrow, "jvm": lambda: zstandard_by_jvm(spark)}
    found = ways[request.param]()
    assert found is not None
    return found


def _expected(block: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(block)


def test_blocks_of_manifests_are_decompressed_in_their_order(codec: Codec, blocks: list[bytes]) -> None:
    assert len(blocks) > 300
    assert list(codec(blocks)) == [_expected(block) for block in blocks]
    assert list(codec([])) == []


def test_blocks_of_more_than_one_call_are_decompressed(codec: Codec) -> None:
    generator = random.Random(7)
    contents = [generator.randbytes(size) for size in (1, 400_000, 700_000, 5, 2_000_000, 0, 300_000)]

    assert list(codec([zstandard.compress(content) for content in contents])) == contents


def test_broken_blocks_keep_no_other_from_being_decompressed(codec: Codec, blocks: list[bytes]) -> None:
    bomb = zstandard.compress(bytes(MOST_BYTES + 1))
    some = blocks[:6]
    damaged = {0: b"nonsense", 3: some[3][:6] + b"\xff" * 20, 5: bomb}

    found = codec([damaged.get(index, block) for index, block in enumerate(some)])

    assert {index for index, data in enumerate(found) if isinstance(data, AvroError)} == damaged.keys()
    assert [data for index, data in enumerate(found) if index not in damaged] == [
        _expected(block) for index, block in enumerate(some) if index not in damaged
    ]


def test_a_block_that_is_cut_spoils_no_other(codec: Codec, blocks: list[bytes]) -> None:
    some = blocks[:4]
    for end in range(0, len(some[1]), 9):
        found = codec([some[0], some[1][:end], *some[2:]])
        # It may come out short without an error: then the number of its records tells.
        assert isinstance(found[1], AvroError) or len(found[1]) < len(_expected(some[1]))
        assert [found[0], *found[2:]] == [_expected(block) for block in (some[0], *some[2:])]


def test_a_cluster_with_nothing_but_pyspark_reads_all_codecs(
    spark: SparkSession, blocks: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)

    codecs = codecs_of_jvm(spark)

    assert zstandard_by_package() is None
    assert sorted(codecs) == ["bzip2", "deflate", "null", "snappy", "xz", "zstandard"]
    assert list(codecs["zstandard"](blocks[:5])) == [_expected(block) for block in blocks[:5]]


def _snappy(data: bytes) -> bytes:
    return pyarrow.compress(data, codec="snappy", asbytes=True) + zlib.crc32(data).to_bytes(4, "big")


@pytest.fixture(params=["pyarrow", "jvm"])
def snappy(request: pytest.FixtureRequest, spark: SparkSession) -> Codec:
    found = {"pyarrow": snappy_by_pyarrow, "jvm": lambda: snappy_by_jvm(spark)}[request.param]()
    assert found is not None
    return found


def test_snappy_blocks_of_any_size_are_decompressed_in_their_order(snappy: Codec, blocks: list[bytes]) -> None:
    generator = random.Random(7)
    contents = [generator.randbytes(size) for size in (1, 400_000, 2_000_000, 5, 3_000_000, 0, 300_000)]
    contents += [bytes([byte]) * 3000 for byte in range(100)] + [_expected(block) for block in blocks[:50]]

    assert list(snappy([_snappy(content) for content in contents])) == contents
    assert list(snappy([])) == []


def test_broken_snappy_blocks_keep_no_other_from_being_decompressed(snappy: Codec) -> None:
    contents = [bytes([byte]) * 50 + bytes(range(200)) for byte in range(24)]
    some = [_snappy(content) for content in contents]
    damaged = {
        0: b"",
        2: b"x",
        4: b"\xff\xff\xff\xff\x7f\0\0\0\0",
        6: b"\x80\x80\x80\x80\x80\0\0\0\0",
        8: b"\x05\x00a\0\0\0\0",
        10: b"\x01\x04ab\0\0\0\0",
        12: b"\x08\x00a\x0d\x02\0\0\0\0",
        14: b"\x08\xf4\0\0\0\0",
        16: some[16][:-1] + b"\xff",
        18: some[18][:40] + b"\xff" + some[18][41:],
        20: some[20][:30],
        22: _snappy(bytes(MOST_BYTES + 1)),
    }

    found = snappy([damaged.get(index, block) for index, block in enumerate(some)])

    assert {index for index, data in enumerate(found) if isinstance(data, AvroError)} == damaged.keys()
    assert [data for index, data in enumerate(found) if index not in damaged] == [
        content for index, content in enumerate(contents) if index not in damaged
    ]
