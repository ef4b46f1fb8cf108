"""A partition's bytes to its values, and these to where its files lie."""

from __future__ import annotations

import contextlib
import struct
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.paimon.binary_row import Timestamp, read_partition
from airflow_delta_provider.domain.paimon.index_manifest import IndexFile
from airflow_delta_provider.domain.paimon.layout import (
    DataLayout,
    branch_names,
    escape_path_name,
    schema_ids,
    snapshot_ids,
    tag_names,
)
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKind, FileSource
from airflow_delta_provider.domain.paimon.schema import DataField, DataType, PaimonFormatError, TableOptions

_FIXED = {"BOOLEAN": "?", "TINYINT": "b", "SMALLINT": "h", "INT": "i", "BIGINT": "q", "FLOAT": "f", "DOUBLE": "d"}


def _row(types: list[str], values: list[Any]) -> tuple[bytes, tuple[DataField, ...]]:
    """Write a row as Paimon does, from its values as they are within: dates as days, times as milliseconds."""
    fields = tuple(DataField(index, f"p{index}", DataType.from_json(text)) for index, text in enumerate(types))
    head_size = (len(types) + 8 + 63) // 64 * 8
    nulls, words, rest = 0, b"", b""
    for index, (field, value) in enumerate(zip(fields, values)):
        root, arguments = field.type.root, field.type.arguments
        behind = head_size + 8 * len(types) + len(rest)
        if value is None:
            nulls |= 1 << 8 + index
            word = bytes(8)
        elif root in _FIXED:
            word = struct.pack("<" + _FIXED[root], value)
        elif root in ("DATE", "TIME"):
            word = struct.pack("<i", value)
        elif root.startswith("TIMESTAMP") and arguments[0] > 3:
            word = struct.pack("<II", value[1], behind)
            rest += struct.pack("<q", value[0])
        elif root.startswith("TIMESTAMP"):
            word = struct.pack("<q", value[0])
        elif root == "DECIMAL" and arguments[0] > 18:
            content = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
            word = struct.pack("<II", len(content), behind)
            rest += content.ljust(16, b"\0")
        elif root == "DECIMAL":
            word = struct.pack("<q", value)
        else:
            content = value.encode() if isinstance(value, str) else value
            if len(content) <= 7:
                word = content.ljust(7, b"\0") + bytes([0x80 | len(content)])
            else:
                word = struct.pack("<II", len(content), behind)
                rest += content + bytes(-len(content) % 8)
        words += word.ljust(8, b"\0")
    return struct.pack(">i", len(types)) + nulls.to_bytes(head_size, "little") + words + rest, fields


_VALUES: list[tuple[str, st.SearchStrategy[Any]]] = [
    ("BOOLEAN", st.booleans()),
    ("TINYINT", st.integers(-128, 127)),
    ("SMALLINT", st.integers(-(1 << 15), (1 << 15) - 1)),
    ("INT", st.integers(-(1 << 31), (1 << 31) - 1)),
    ("BIGINT", st.integers(-(1 << 63), (1 << 63) - 1)),
    ("FLOAT", st.floats(width=32, allow_nan=False)),
    ("DOUBLE", st.floats(allow_nan=False)),
    ("STRING", st.text(max_size=20)),
    ("CHAR(3)", st.text(max_size=3)),
    ("BYTES", st.binary(max_size=20)),
]
_COLUMNS = st.one_of([st.tuples(st.just(name), st.none() | values) for name, values in _VALUES])
_TYPE_NAMES = [*(name for name, _ in _VALUES), "DATE", "DECIMAL(30, 2)", "TIMESTAMP(9)"]


@given(st.lists(_COLUMNS, max_size=70))
def test_values_of_partitions_are_read(columns: list[tuple[str, Any]]) -> None:
    data, fields = _row([text for text, _ in columns], [value for _, value in columns])

    assert read_partition(data, fields) == tuple(value for _, value in columns)


@pytest.mark.parametrize(
    ("data_type", "within", "value"),
    [
        ("DATE", 19723, date(2024, 1, 1)),
        ("DATE", -1, date(1969, 12, 31)),
        ("TIME(3)", 3_723_004, time(1, 2, 3, 4000)),
        ("DECIMAL(18, 2)", -(10**17), Decimal("-1000000000000000.00")),
        ("DECIMAL(38, 10)", 10**37 + 1, Decimal("1000000000000000000000000000.0000000001")),
        ("DECIMAL(20, 0)", -1, Decimal("-1")),
        ("DECIMAL(5, 2)", 0, Decimal("0.00")),
        ("TIMESTAMP(3)", (1_704_067_200_123, 0), Timestamp(datetime(2024, 1, 1), 123_000_000)),
        ("TIMESTAMP(9)", (-1, 999_999), Timestamp(datetime(1969, 12, 31, 23, 59, 59), 999_999_999)),
        ("TIMESTAMP_LTZ(6)", (0, 5000), Timestamp(datetime(1970, 1, 1), 5000)),
    ],
)
def test_dates_times_and_decimals_are_read(data_type: str, within: Any, value: Any) -> None:
    data, fields = _row([data_type, "STRING"], [within, "a longer text"])

    assert read_partition(data, fields) == (value, "a longer text")


def test_a_partition_as_paimon_wrote_it_is_read() -> None:
    written = bytes.fromhex("0000000100000000000000006430000000000082")

    assert read_partition(written, (DataField(0, "dt", DataType("VARCHAR")),)) == ("d0",)
    assert _row(["STRING"], ["d0"])[0] == written


@pytest.mark.parametrize(
    ("data", "types", "message"),
    [
        (b"", ["INT"], "has 0 bytes"),
        (_row(["INT", "INT"], [1, 2])[0], ["INT"], "has 2 values, but the table has 1"),
        (_row(["INT"], [1])[0][:-1], ["INT"], "has only 15 bytes"),
        (_row(["STRING"], ["x" * 20])[0][:-8], ["STRING"], "that its 32 do not hold"),
        (_row(["BYTES"], [b"\xff\xfe"])[0], ["STRING"], "p0 is not UTF-8"),
        (_row(["INT"], [1])[0][:-1] + b"\x88", ["STRING"], "8 bytes, but only 7 fit"),
        (_row(["INT"], [1 << 30])[0], ["DATE"], "p0 is damaged"),
        (_row(["BIGINT"], [1 << 62])[0], ["TIMESTAMP(3)"], "p0 is damaged"),
        (_row(["INT"], [1])[0], ["VARIANT"], "of type VARIANT, which is not known"),
    ],
)  # fmt: skip
def test_a_damaged_partition_says_why(data: bytes, types: list[str], message: str) -> None:
    fields = tuple(DataField(index, f"p{index}", DataType.from_json(text)) for index, text in enumerate(types))
    with pytest.raises(PaimonFormatError, match=message):
        read_partition(data, fields)


@given(st.binary(max_size=80), st.lists(st.sampled_from(_TYPE_NAMES), max_size=3))
def test_any_bytes_are_a_partition_or_damage(data: bytes, types: list[str]) -> None:
    fields = tuple(DataField(index, "p", DataType.from_json(text)) for index, text in enumerate(types))
    with contextlib.suppress(PaimonFormatError):
        read_partition(len(types).to_bytes(4, "big") + data, fields)


def _options(options: dict[str, str], fields: tuple[DataField, ...] = ()) -> DataLayout:
    return DataLayout(fields, TableOptions.from_mapping(options, 3))


_NOT_LEGACY = {"partition.legacy-name": "false"}


@pytest.mark.parametrize(
    ("data_type", "within", "legacy", "cast"),
    [
        ("STRING", "2024-01-01", "2024-01-01", "2024-01-01"),
        ("STRING", "a/b=c:d%e", "a%2Fb%3Dc%3Ad%25e", "a%2Fb%3Dc%3Ad%25e"),
        ("STRING", "x\x01\x7f{}[]^?*'\"#\\", "x%01%7F%7B%7D%5B%5D%5E%3F%2A%27%22%23%5C", None),
        ("STRING", "é 语😀", "é 语😀", "é 语😀"),
        ("STRING", "", "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"),
        ("STRING", " \t", "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"),
        ("STRING", "\u00a0", "\u00a0", "\u00a0"),
        ("STRING", None, "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"),
        ("INT", -5, "-5", "-5"),
        ("BIGINT", None, "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"),
        ("BOOLEAN", True, "true", "true"),
        ("DECIMAL(30, 10)", 1, "0.0000000001", "0.0000000001"),
        ("DATE", 19723, "19723", "2024-01-01"),
        ("TIME(0)", 3_723_000, "3723000", "01%3A02%3A03"),
        ("TIME(3)", 3_723_040, "3723040", "01%3A02%3A03.04"),
        ("TIME(3)", 3_723_000, "3723000", "01%3A02%3A03.0"),
        ("TIMESTAMP(3)", (1_704_067_200_000, 0), "2024-01-01T00%3A00", "2024-01-01 00%3A00%3A00.000"),
        ("TIMESTAMP(6)", (1_704_067_201_500, 0), "2024-01-01T00%3A00%3A01.500", "2024-01-01 00%3A00%3A01.500000"),
        ("TIMESTAMP(0)", (1_704_067_260_000, 0), "2024-01-01T00%3A01", "2024-01-01 00%3A01%3A00"),
        ("TIMESTAMP(9)", (0, 1), "1970-01-01T00%3A00%3A00.000000001", "1970-01-01 00%3A00%3A00.000000001"),
    ],
)
def test_a_partitions_directory_is_named_as_paimon_names_it(
    data_type: str, within: Any, legacy: str, cast: str | None
) -> None:
    data, fields = _row([data_type], [within])

    assert _options({}, fields).bucket_directory(data, 0) == f"p0={legacy}/bucket-0"
    if cast is not None:
        assert _options(_NOT_LEGACY, fields).bucket_directory(data, 0) == f"p0={cast}/bucket-0"


@pytest.mark.parametrize(
    ("data_type", "within", "options"),
    [
        ("DOUBLE", 1e10, {}),
        ("FLOAT", 0.5, _NOT_LEGACY),
        ("BYTES", b"x", {}),
        ("TIMESTAMP_LTZ(3)", (0, 0), _NOT_LEGACY),
    ],
)
def test_a_directory_that_depends_on_the_writer_cannot_be_told(
    data_type: str, within: Any, options: dict[str, str]
) -> None:
    data, fields = _row([data_type], [within])

    with pytest.raises(PaimonFormatError, match=f"p0 of type {fields[0].type.root} are named as"):
        _options(options, fields).bucket_directory(data, 0)


def _file(**changes: Any) -> DataFile:
    file = DataFile(
        bytes(12), 0, "data-1-0.parquet", 1, 1, 1, 1, 0, 0, (), None, None, None, FileSource.APPEND, None, 0, None
    )
    return file._replace(**changes)


def _index(**changes: Any) -> IndexFile:
    values: dict[str, Any] = {"partition": bytes(12), "external_path": None, **changes}
    return IndexFile(
        FileKind.ADD, bucket=0, type="DELETION_VECTORS", name="index-1-0", size=1, row_count=1, vectors=(), **values
    )


def test_files_lie_in_the_bucket_of_their_partition_unless_they_say_where_they_are() -> None:
    data, fields = _row(["STRING", "INT"], ["a", 7])
    layout = _options({}, fields)

    assert layout.data_file_path(_file(partition=data)) == "p0=a/p1=7/bucket-0/data-1-0.parquet"
    assert _options({}).data_file_path(_file(bucket=3)) == "bucket-3/data-1-0.parquet"
    assert _options({}).data_file_path(_file(bucket=-2)) == "bucket-postpone/data-1-0.parquet"
    assert _options({}).data_file_path(_file(external_path="s3://b/x/data.parquet")) == "s3://b/x/data.parquet"
    directory = {"data-file.path-directory": "data"}
    assert (
        _options(directory, fields).data_file_path(_file(partition=data)) == "data/p0=a/p1=7/bucket-0/data-1-0.parquet"
    )


def test_index_files_lie_apart_beside_the_data_or_where_they_say() -> None:
    data, fields = _row(["STRING"], ["a"])
    beside = _options({"index-file-in-data-file-dir": "true"}, fields)

    assert _options({}, fields).index_file_path(_index(partition=data)) == "index/index-1-0"
    assert beside.index_file_path(_index(partition=data)) == "p0=a/bucket-0/index-1-0"
    assert beside.index_file_path(_index(partition=data, external_path="s3://b/i")) == "s3://b/i"


def test_listings_are_read_in_the_order_of_numbers_and_leave_out_what_is_no_name() -> None:
    assert snapshot_ids(["snapshot-10", "snapshot-9", "LATEST", "EARLIEST", ".snapshot-11.tmp", "snapshot-x"]) == [
        9,
        10,
    ]
    assert schema_ids(["schema-0", "schema-10", "schema-2", "schema-"]) == [0, 2, 10]
    assert tag_names(["tag-b", "tag-a-1", ".tag-c.tmp"]) == ["a-1", "b"]
    assert branch_names(["branch-x", "other"]) == ["x"]


def test_names_of_partition_columns_are_escaped_too() -> None:
    assert escape_path_name("a=b/c") == "a%3Db%2Fc"
