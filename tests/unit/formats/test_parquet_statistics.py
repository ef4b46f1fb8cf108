"""Statistics in footers: the same by patterns, by Thrift, and by PyArrow; of damaged footers, errors and no more."""

from __future__ import annotations

import io
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.formats.parquet.chunk_shapes import shape_of
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError, parse_footer
from airflow_delta_provider.domain.formats.parquet.statistics import (
    ChunkStatistics,
    ShapeCache,
    Writer,
    encoded_path,
    read_row_groups,
)

WORDS = ["a", "bb" * 30, "é", "", "z" * 200]


def tail(seed: int, **options: Any) -> bytes:
    chance = random.Random(seed)
    rows = pa.table(
        {
            "i": pa.array([chance.choice([None, chance.randrange(-(2**60), 2**60)]) for _ in range(30)], pa.int64()),
            "f": pa.array([chance.random() for _ in range(30)], pa.float32()),
            "s": pa.array([chance.choice(WORDS[: 1 + seed % 5]) for _ in range(30)]),
            "n": pa.nulls(30, pa.int32()),
            "a.b": [{"c": chance.randrange(9), "d": chance.choice([None, "x"])} for _ in range(30)],
            "l": [[1, None]] * 30,
        }
    )
    out = io.BytesIO()
    pq.write_table(rows, out, row_group_size=10, **options)
    return out.getvalue()


OPTIONS: list[dict[str, Any]] = [{}, {"use_dictionary": False}, {"write_page_index": True}, {"compression": "zstd"}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_patterns_read_the_same_as_thrift_and_pyarrow(options):
    like: Footer | None = None
    for seed in range(25):
        content = tail(seed, **options)
        like = parse_footer(content, like)
        found, writer = like.statistics()
        assert (found, writer) == parse_footer(content).statistics()
        assert writer.created_by.startswith("parquet-cpp-arrow")
        assert all(writer.in_type_order)
        metadata = pq.ParquetFile(io.BytesIO(content)).metadata
        for number, group in enumerate(found):
            for ordinal, chunk in enumerate(group.chunks):
                column = metadata.row_group(number).column(ordinal)
                assert chunk.num_values == column.num_values
                assert chunk.null_count == (column.statistics.null_count if column.statistics else None)
                has_bounds = column.statistics is not None and column.statistics.has_min_max
                assert (chunk.minimum is not None, chunk.maximum is not None) == (has_bounds, has_bounds)
                if has_bounds and column.physical_type == "INT64":
                    bounds = (int.from_bytes(bound or b"", "little", signed=True) for bound in chunk[3:5])
                    assert tuple(bounds) == (column.statistics.min, column.statistics.max)
                if has_bounds and column.physical_type == "BYTE_ARRAY":
                    assert (chunk.minimum or b"").decode() == column.statistics.min


def test_paths_are_encoded_as_in_row_groups():
    footer = parse_footer(tail(0))
    (first, *_), _ = footer.statistics()
    assert [*first.paths] == [encoded_path(path) for path in footer.layout.leaves]
    assert encoded_path(("x",) * 20)[:2] == b"\xf8\x14"
    assert encoded_path(("n" * 200,))[1:3] == b"\xc8\x01"


def text_tail(chance: random.Random, size: int) -> bytes:
    """Return a file of one row group, with strings of up to a size, a column of NULLs now and then, and decimals."""
    texts = ["v" * chance.randrange(size) for _ in range(5)]
    nulls = chance.random() < 0.2
    rows = {
        "s": pa.array(texts),
        "b": pa.array([text.encode() + b"\x18\x00" for text in texts]),
        "i": pa.array([None if nulls else chance.randrange(-9, 2**40)] * 5, pa.int64()),
        "d": pa.array([Decimal(chance.randrange(999))] * 5, pa.decimal128(30, 2)),
    }
    out = io.BytesIO()
    pq.write_table(pa.table(rows), out)
    return out.getvalue()


def outcome(content: bytes, like: Footer | None) -> Any:
    try:
        return parse_footer(content, like).statistics()
    except FooterError as error:
        return type(error)


@pytest.mark.parametrize("size", [2, 90, 500], ids="strings of {} bytes".format)
def test_row_groups_of_known_shapes_are_read_as_thrift_even_if_bytes_change(size):
    chance = random.Random(size)
    like: Footer | None = None
    for _ in range(200):
        content = text_tail(chance, size)
        like = parse_footer(content, like)
        assert like.statistics() == parse_footer(content).statistics()
    assert like is not None
    assert like._shapes.of_groups
    sound = [text_tail(chance, size) for _ in range(20)]
    for _ in range(600):
        changed = bytearray(chance.choice(sound))
        start = len(changed) - int.from_bytes(changed[-8:-4], "little") - 8
        for _ in range(chance.randrange(1, 3)):
            changed[chance.randrange(start, len(changed) - 8)] = chance.choice([0, 1, 2, 24, 127, 128, 255, 17, 18])
        assert outcome(bytes(changed), like) == outcome(bytes(changed), None)


def test_damaged_footers_are_read_the_same_by_patterns_and_by_thrift():
    sound, chance = tail(3), random.Random(7)
    like: Footer | None = None
    for _ in range(50):
        like = parse_footer(sound, like)
        like.statistics()
    assert like is not None
    assert like._shapes.of_groups
    for _ in range(1500):
        content = bytearray(sound)
        start = len(content) - int.from_bytes(content[-8:-4], "little") - 8
        for _ in range(chance.randrange(1, 4)):
            content[chance.randrange(start, len(content) - 8)] = chance.randrange(256)
        assert outcome(bytes(content), like) == outcome(bytes(content), None)


@pytest.mark.parametrize(
    ("created_by", "binaries_are_reliable", "truncation_is_marked", "omits_zero"),
    [
        ("parquet-mr version 1.13.1 (build db4183109d5b734ec5930d870cdae161e408ddba)", True, True, False),
        ("parquet-mr version 1.7.0 (build 1)", False, False, False),
        ("parquet-mr", False, False, False),
        ("parquet-mr compatible Photon version 0.2 (build 16.4)", True, False, False),
        ("parquet-mr-trino version 435 (build 1)", True, False, False),
        ("Trino version 478 (build 1)", True, False, False),
        ("parquet-cpp-arrow version 26.0.1", True, True, False),
        ("parquet-cpp version 1.5.1-SNAPSHOT", True, False, False),
        ("parquet-rs version 52.0.0", True, True, True),
        ("parquet-rs version 53.0.0", True, True, False),
        ("delta-rs version py-1.6.6", True, True, False),
        ("DuckDB version v1.5.5 (build 1)", True, True, False),
        ("Polars", True, True, False),
        ("", False, False, False),
    ],
)
def test_writers_are_trusted_as_readers_do(created_by, binaries_are_reliable, truncation_is_marked, omits_zero):
    writer = Writer(created_by, (), {})
    assert writer.has_reliable_binary_bounds is binaries_are_reliable
    assert writer.marks_truncated_strings is truncation_is_marked
    assert writer.omits_zero is omits_zero


@pytest.mark.parametrize(
    ("version", "is_proleptic"),
    [(b"2.4.8", False), (b"3.0.0", True), (b"4.1.0-SNAPSHOT", True), (b"10.0.1", True), (b"", False), (b"x", False)],
)
def test_calendar_of_old_dates_follows_from_the_major_version_of_spark(version, is_proleptic):
    created_by = "parquet-mr version 1.13.1 (build 1)"
    assert Writer(created_by, (), {b"org.apache.spark.version": version}).uses_proleptic_calendar is is_proleptic
    legacy = {b"org.apache.spark.version": version, b"org.apache.spark.legacyDateTime": b""}
    assert not Writer(created_by, (), legacy).uses_proleptic_calendar
    assert not Writer(created_by, (), {}).uses_proleptic_calendar


@pytest.mark.parametrize(
    ("statistics", "minimum", "maximum", "is_deprecated"),
    [
        (b"\x28\x00", b"", None, True),
        (b"\x18\x00", None, b"", True),
        (b"\x68\x00", b"", None, False),
        (b"\x58\x00", None, b"", False),
        (b"\x18\x01z\x18\x00\x48\x00", b"", None, False),
        (b"", None, None, False),
    ],
    ids=["old minimum", "old maximum", "minimum", "maximum", "minimum beside old bounds", "none"],
)
def test_empty_bounds_are_bounds(statistics, minimum, maximum, is_deprecated):
    # ColumnChunk {3: ColumnMetaData {1: BYTE_ARRAY, 3: ["c"], 5: 3, 12: statistics}}
    chunk = b"\x3c\x15\x0c\x29\x18\x01c\x26\x06\x7c" + statistics + b"\x00\x00\x00"
    (group,), end = read_row_groups(b"\x1c\x19\x1c" + chunk + b"\x00", 0, ShapeCache())
    assert end == len(chunk) + 4
    assert group.chunks == [ChunkStatistics(b"\x18\x01c", 3, None, minimum, maximum, True, is_deprecated)]
    shape = shape_of([chunk])
    assert shape is not None
    values, _ = shape.read(chunk, 0)
    assert (values[3:], shape.are_deprecated) == ((minimum, maximum), (is_deprecated,))
