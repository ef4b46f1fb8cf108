"""Rows of Parquet files that pyarrow wrote, with all of its options, and damaged ones."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from decimal import Decimal
from math import isnan
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.formats.budget import TooLargeError
from airflow_delta_provider.domain.formats.parquet.encodings import longest_byte_array
from airflow_delta_provider.domain.formats.parquet.rows import ParquetFile, assembled, fields_of
from airflow_delta_provider.domain.formats.parquet.schema import Struct
from airflow_delta_provider.domain.formats.parquet.thrift import BrokenValueError, MissingCodecError, ParquetError

EPOCH = datetime(1970, 1, 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
SHORT_TEXTS = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    ["", "a", "part-00000", "part-00001"]
)

#: Arrow types of single values, with values of them.
SINGLE: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint16(), st.integers(0, 2**16 - 1)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1) | st.integers(0, 3)),
    (pa.uint32(), st.integers(0, 2**32 - 1)),
    (pa.int64(), LONGS | st.integers(0, 300)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.string(), SHORT_TEXTS),
    (pa.binary(), st.binary(max_size=20)),
    (pa.binary(5), st.binary(min_size=5, max_size=5)),
    (pa.decimal128(9, 2), st.decimals(Decimal("-9999999.99"), Decimal("9999999.99"), places=2)),
    (pa.decimal128(38, 18), st.decimals(Decimal(-(10**19)), Decimal(10**19), places=18)),
    (pa.date32(), st.integers(-800_000, 4_000_000)),
    (pa.timestamp("us"), st.integers(-(10**17), 9 * 10**17)),
    (pa.timestamp("ms", "UTC"), st.integers(-(10**14), 9 * 10**14)),  # PyArrow writes no years of 15 bits and more
    (pa.timestamp("ns"), LONGS),
    (pa.time64("us"), st.integers(0, 86_400_000_000 - 1)),
]


def _optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values | values


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Types of lists, maps and structs of others, each with values of it."""

    def listed(of: Any) -> Any:
        kind, values = of
        return pa.list_(kind), st.lists(_optional(values), max_size=4)

    def mapped(of: Any) -> Any:
        kind, values = of
        entries = st.dictionaries(SHORT_TEXTS, _optional(values), max_size=3).map(lambda found: list(found.items()))
        return pa.map_(pa.string(), kind), entries

    def structured(of: Any) -> Any:
        names = [f"f{number}" for number in range(len(of))]
        fields = [pa.field(name, kind) for name, (kind, _) in zip(names, of)]
        values = {name: _optional(values) for name, (_, values) in zip(names, of)}
        return pa.struct(fields), st.fixed_dictionaries(values)

    return inner.map(listed) | inner.map(mapped) | st.lists(inner, min_size=1, max_size=4).map(structured)


TYPES = st.recursive(st.sampled_from(SINGLE), _nested, max_leaves=6)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    columns = {}
    rows = draw(st.integers(0, 40))
    for number in range(draw(st.integers(1, 3))):
        kind, values = draw(TYPES)
        found = draw(st.lists(_optional(values), min_size=rows, max_size=rows))
        columns[f"c{number}"] = pa.array(found, kind)
    return pa.table(columns)


OPTIONS = st.fixed_dictionaries(
    {
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "compression": st.sampled_from(["none", "snappy", "gzip"]),
        "row_group_size": st.sampled_from([1, 7, 1000]),
        "data_page_size": st.sampled_from([30, 100_000]),
        "write_batch_size": st.sampled_from([1, 5, 1024]),
        "use_dictionary": st.booleans(),
        "dictionary_pagesize_limit": st.sampled_from([1, 50, 100_000]),
        "use_compliant_nested_type": st.booleans(),
        "write_page_checksum": st.booleans(),
        "store_decimal_as_integer": st.booleans(),
        "write_statistics": st.booleans(),
    }
)


def written(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def rows(content: bytes, *names: str) -> dict[str, list[Any]]:
    """All rows, by column."""
    file = ParquetFile(content)
    found: dict[str, list[Any]] = {field.name: [] for field in file.fields if field.name in names or not names}
    for group in file.row_groups():
        for field in file.fields:
            if field.name in found:
                values = assembled(field, group.columns(field)).values
                found[field.name] += [None] * group.num_rows if values is None else values
    return found


def values_of(array: Any) -> Iterator[Any]:
    """Values of an array as they are compared here: dates and times as texts, maps as dicts."""
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        for chunk in array.chunks:
            yield from values_of(chunk)
        return
    there = array.is_valid().to_pylist()
    if pa.types.is_temporal(kind):
        yield from array.cast(pa.string()).to_pylist()
    elif pa.types.is_struct(kind):
        names = [field.name for field in kind]
        parts = zip(*map(values_of, array.flatten()))
        yield from (dict(zip(names, row)) if is_there else None for row, is_there in zip(parts, there))
    elif pa.types.is_map(kind) or pa.types.is_list(kind):
        is_map = pa.types.is_map(kind)
        items = list(zip(values_of(array.keys), values_of(array.items)) if is_map else values_of(array.values))
        ends = array.offsets.to_pylist()
        for start, end, is_there in zip(ends, ends[1:], there):
            found = items[start:end]
            yield (dict(found) if is_map else found) if is_there else None
    else:
        yield from array.to_pylist()


@given(tables(), OPTIONS)
def test_rows_are_those_that_pyarrow_wrote(table, options):
    expected = {name: list(values_of(table.column(name))) for name in table.column_names}

    assert rows(written(table, **options)) == expected


#: Encodings other than PLAIN and dictionaries, by the types that have them.
ENCODINGS = [
    ("DELTA_BINARY_PACKED", pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    ("DELTA_BINARY_PACKED", pa.int64(), LONGS),
    ("DELTA_BINARY_PACKED", pa.int64(), st.integers(1_700_000_000_000, 1_700_000_001_000)),
    ("DELTA_BINARY_PACKED", pa.int64(), st.just(7)),
    ("DELTA_LENGTH_BYTE_ARRAY", pa.string(), SHORT_TEXTS),
    ("DELTA_BYTE_ARRAY", pa.string(), SHORT_TEXTS),
    ("DELTA_BYTE_ARRAY", pa.binary(5), st.binary(min_size=5, max_size=5)),
    ("BYTE_STREAM_SPLIT", pa.float64(), st.floats(allow_nan=False)),
    ("BYTE_STREAM_SPLIT", pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    ("BYTE_STREAM_SPLIT", pa.binary(5), st.binary(min_size=5, max_size=5)),
    ("RLE", pa.bool_(), st.booleans()),
    ("PLAIN", pa.bool_(), st.booleans()),
]


@pytest.mark.parametrize(("encoding", "kind", "values"), ENCODINGS, ids=lambda part: str(part)[:30])
@given(data=st.data(), version=st.sampled_from(["1.0", "2.0"]))
@settings(max_examples=30)
def test_each_encoding_is_decoded(encoding, kind, values, data, version):
    found = data.draw(st.lists(_optional(values), max_size=40)) * data.draw(st.integers(1, 20))
    table = pa.table({"c": pa.array(found, kind)})
    options = {"use_dictionary": False, "column_encoding": encoding, "data_page_size": 200, "write_batch_size": 64}

    content = written(table, data_page_version=version, **options)

    assert rows(content) == {"c": found}


@pytest.mark.parametrize("distinct", [1, 2, 3, 5, 17, 100, 200, 300, 5000, 70_000])
def test_dictionary_of_any_size_is_looked_up(distinct):
    values = [f"value {number * 7919 % distinct}" for number in range(2 * distinct + 3)]

    content = written(pa.table({"c": values}), dictionary_pagesize_limit=10_000_000)

    assert rows(content) == {"c": values}


@given(
    st.lists(st.sampled_from([b"", b"a", b"a", b"a", b"bb" * 99]), max_size=60), st.integers(0, 70), st.integers(0, 400)
)
def test_longest_value_of_a_dictionary_is_found(values, count, cut):
    data = b"".join(len(value).to_bytes(4, "little") + value for value in values * 5)[: -cut or None]
    sizes, position = [0], 0
    while len(sizes) <= count and position + 4 <= len(data):
        sizes.append(int.from_bytes(data[position : position + 4], "little"))
        position += 4 + sizes[-1]
    if len(sizes) <= count:
        with pytest.raises(ParquetError, match="too few values"):
            longest_byte_array(data, count)
    else:
        assert longest_byte_array(data, count) == max(sizes)


def test_numbers_that_are_none_are_read():
    (value,) = rows(written(pa.table({"c": [float("nan")]})))["c"]

    assert isnan(value)


def test_old_timestamps_are_read():
    moments = [EPOCH, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999), None]
    near = [EPOCH, datetime(1700, 1, 1, 1, 1, 1, 5), datetime(2261, 12, 31, 23, 59, 59, 999_999), None]
    table = pa.table({"old": pa.array(near, pa.timestamp("us")), "new": pa.array(moments, pa.timestamp("us"))})

    assert rows(written(table.select(["old"]), use_deprecated_int96_timestamps=True))["old"] == [
        "1970-01-01 00:00:00.000000",
        "1700-01-01 01:01:01.000005",
        "2261-12-31 23:59:59.999999",
        None,
    ]
    assert rows(written(table))["new"][1:3] == ["0001-01-01 00:00:00.000000", "9999-12-31 23:59:59.999999"]


def test_times_behind_the_year_9999_are_read():
    table = pa.table(
        {
            "day": pa.array([3_663_584, -719_163], pa.date32()),
            "moment": pa.array([253_402_300_800_000_000, 0], pa.timestamp("us", "UTC")),
        }
    )

    assert rows(written(table)) == {
        "day": ["12000-07-21", "0000-12-31"],
        "moment": ["10000-01-01 00:00:00.000000Z", "1970-01-01 00:00:00.000000Z"],
    }


NESTED = pa.table(
    {
        "id": [1, 2, 3, 4],
        "add": [
            {"path": "a", "size": 1, "stats": {"rows": 5, "nulls": {"x": 0}}, "tags": None},
            None,
            {"path": "b", "size": None, "stats": None, "tags": None},
            {"path": "c", "size": 3, "stats": {"rows": None, "nulls": None}, "tags": None},
        ],
        "text": ["x", "y", "z", None],
    },
    schema=pa.schema(
        [
            ("id", pa.int64()),
            (
                "add",
                pa.struct(
                    [
                        ("path", pa.string()),
                        ("size", pa.int64()),
                        ("stats", pa.struct([("rows", pa.int64()), ("nulls", pa.struct([("x", pa.int32())]))])),
                        ("tags", pa.map_(pa.string(), pa.string())),
                    ]
                ),
            ),
            ("text", pa.string()),
        ]
    ),
)


def struct_of(file: ParquetFile, name: str) -> Struct:
    (found,) = (field for field in file.fields if field.name == name)
    assert isinstance(found, Struct)
    return found


def test_fields_of_a_struct_are_read_where_it_is_there():
    file = ParquetFile(written(NESTED))
    (group,) = file.row_groups()
    add = struct_of(file, "add").only([("size",), ("stats", "rows"), ("tags",), ("nothing",), ("path", "below")])

    count, found = group.fields(add)

    assert count == 3
    assert found == {"size": [1, None, 3], "stats": [{"rows": 5}, None, {"rows": None}], "tags": None}


def test_first_rows_of_a_struct_are_read():
    file = ParquetFile(written(NESTED))
    (group,) = file.row_groups()

    struct = struct_of(file, "add")
    count, found = fields_of(struct, group.columns(struct), 2)

    assert count == 2
    assert found["path"] == ["a", "b"]
    assert found["size"] == [1, None]


def test_columns_that_nobody_asks_for_are_not_looked_at():
    content = bytearray(written(NESTED, compression="none", use_dictionary=False, write_statistics=False))
    at = content.index(b"\x01\x00\x00\x00x\x01\x00\x00\x00y")
    content[at : at + 4] = b"\xff\xff\xff\xff"

    assert rows(bytes(content), "id", "add")["id"] == [1, 2, 3, 4]
    with pytest.raises(ParquetError):
        rows(bytes(content), "text")


def test_two_fields_of_one_name_are_an_error():
    twice = pa.schema([pa.field("s", pa.struct([pa.field("a", pa.int64()), pa.field("a", pa.int64())]))])
    array = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], fields=list(twice.field("s").type))
    file = ParquetFile(written(pa.table([array], schema=twice)))

    with pytest.raises(ParquetError, match="two fields of the name a"):
        struct_of(file, "s").only([("a",)])


@pytest.mark.parametrize("codec", ["zstd", "brotli"])
def test_codec_that_python_lacks_is_named(codec):
    content = written(pa.table({"c": ["x"]}), compression=codec)

    with pytest.raises(MissingCodecError) as error:
        rows(content)
    assert error.value.codec == codec.upper()


def test_codec_that_is_passed_in_is_used():
    content = written(pa.table({"c": ["x", "y"]}), compression="zstd")
    sizes = []

    def zstd(page: bytes, size: int) -> bytes:
        sizes.append(size)
        return bytes(pa.decompress(page, size, codec="zstd", asbytes=True))

    file = ParquetFile(content, {"ZSTD": zstd})
    (field,) = file.fields

    assert [assembled(field, group.columns(field)).values for group in file.row_groups()] == [["x", "y"]]
    assert sizes


# What is damaged.


def test_page_without_its_checksum_is_damage():
    content = bytearray(written(pa.table({"c": ["some text"]}), compression="none", write_page_checksum=True))
    content[content.index(b"some text")] ^= 1

    with pytest.raises(ParquetError, match="checksum"):
        rows(bytes(content))


def test_text_that_is_none_is_damage_of_its_own():
    content = bytearray(written(pa.table({"c": ["some text"]}), compression="none"))
    content[content.index(b"some text")] = 0xFF

    with pytest.raises(BrokenValueError, match="column c"):
        rows(bytes(content))


def test_column_of_another_type_than_its_schema_says_is_damage():
    content = bytearray(written(pa.table({"c": pa.array([1, 2], pa.int64())}), compression="none"))
    metadata = bytes([0x15, 2 * 2, 0x19])  # of a column: its type, an int64, and the list of its encodings
    content[content.rindex(metadata) + 1] = 0

    with pytest.raises(ParquetError, match="column c has another type in a row group than in the schema"):
        rows(bytes(content))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"garbage" * 10, b"\x00" * 100, b"PAR1" + b"\x00" * 4 + b"PAR1"])
def test_what_is_no_parquet_is_damage(content):
    with pytest.raises(ParquetError):
        rows(content)


def test_key_that_a_map_has_twice_is_damage():
    content = written(pa.table({"c": pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))}))

    with pytest.raises(ParquetError, match="a map c has a key twice"):
        rows(content)


def sample(**options: Any) -> bytes:
    kinds = {
        "text": pa.array(["a", None, "part-1", "part-2"] * 20),
        "number": pa.array([1, 2**40, None, -3] * 20),
        "flag": pa.array([True, None, False, True] * 20),
        "map": pa.array([[("a", "b")], None, [], [("c", None), ("d", "e")]] * 20, pa.map_(pa.string(), pa.string())),
        "list": pa.array([[{"x": 1}, None], [], None, [{"x": None}]] * 20),
        "decimal": pa.array([Decimal("1.25"), None, Decimal(0), Decimal("-7.5")] * 20, pa.decimal128(20, 2)),
        "moment": pa.array([datetime(2024, 2, 29, tzinfo=timezone.utc), None] * 40, pa.timestamp("us", "UTC")),
    }
    return written(pa.table(kinds), **options)


SAMPLES = [
    sample(),
    sample(compression="none", use_dictionary=False, data_page_size=50),
    sample(data_page_version="2.0", compression="gzip"),
    sample(data_page_version="2.0", compression="none", use_dictionary=False, version="2.6", write_page_checksum=True),
    written(
        pa.table({"i": list(range(300)), "s": [f"part-{number:05d}" for number in range(300)]}),
        use_dictionary=False,
        compression="none",
        column_encoding={"i": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"},
    ),
]


@given(st.sampled_from(SAMPLES), st.data())
@settings(max_examples=400)
def test_damaged_bytes_are_an_error_or_other_rows(content, data):
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        kind = data.draw(st.sampled_from(["bit", "byte", "cut", "grow"]))
        if kind == "bit":
            damaged[at] ^= 1 << data.draw(st.integers(0, 7))
        elif kind == "byte":
            damaged[at] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
        elif kind == "cut":
            del damaged[at : at + data.draw(st.integers(1, 9))]
        else:
            damaged[at:at] = data.draw(st.binary(min_size=1, max_size=5))
    with suppress(ParquetError):
        rows(bytes(damaged))


def test_few_bytes_that_stand_for_many_rows_are_not_read():
    """Structs of nulls take no bytes in the file, and 250 each in memory."""
    many = pa.nulls(8_000_000, pa.int32())
    content = written(pa.table({"c": pa.StructArray.from_arrays([many], ["x"])}), row_group_size=8_000_000)

    assert len(content) < 100_000
    with pytest.raises(TooLargeError):
        rows(content)


def test_many_rows_without_a_struct_are_read():
    many = pa.nulls(2_000_000, pa.struct([("x", pa.int32())]))

    assert ParquetFile(written(pa.table({"c": many}), row_group_size=2_000_000)).fields
    assert set(rows(written(pa.table({"c": many})))["c"]) == {None}
