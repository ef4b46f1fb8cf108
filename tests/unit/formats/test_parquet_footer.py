from __future__ import annotations

import datetime
import decimal
import io
import struct
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.formats.parquet.footer import (
    EncryptedFooterError,
    Footer,
    FooterError,
    footer_size,
    parse_footer,
)
from airflow_delta_provider.domain.formats.parquet.schema import (
    LogicalKind,
    LogicalType,
    PhysicalType,
    Repetition,
    Schema,
    SchemaElement,
    TimeUnit,
)
from airflow_delta_provider.domain.formats.parquet.thrift import Cursor, ThriftError, WireType

INSTANT = datetime.datetime(2024, 2, 29, 12, 30, 1, 5)


def logical(kind: LogicalKind, **said: Any) -> LogicalType:
    return LogicalType(kind, **said)


def integer(bits: int, signed: bool = True) -> LogicalType:
    return logical(LogicalKind.INTEGER, bit_width=bits, signed=signed)


def number(precision: int, scale: int) -> LogicalType:
    return logical(LogicalKind.DECIMAL, precision=precision, scale=scale)


def timestamp(unit: TimeUnit, utc: bool, **said: Any) -> LogicalType:
    return logical(LogicalKind.TIMESTAMP, unit=unit, adjusted_to_utc=utc, **said)


#: Older releases of PyArrow write no Bloom filters, and every time as one in UTC.
OPTIONS = pq.ParquetWriter.__doc__ or ""
BLOOM_FILTER = {"bloom_filter_options": {"int": True}} if "bloom_filter_options" in OPTIONS else {}
TIMES_IN_UTC = "write_time_adjusted_to_utc" not in OPTIONS

#: Arrow type, values, and what the file then says of the column: physical and logical type.
COLUMNS: dict[str, tuple[pa.DataType, list[Any], PhysicalType, LogicalType | None]] = {
    "flag": (pa.bool_(), [True, None, False], PhysicalType.BOOLEAN, None),
    "byte": (pa.int8(), [-128, None, 127], PhysicalType.INT32, integer(8)),
    "short": (pa.int16(), [-32768, None, 32767], PhysicalType.INT32, integer(16)),
    "int": (pa.int32(), [-(2**31), None, 2**31 - 1], PhysicalType.INT32, None),
    "long": (pa.int64(), [-(2**63), None, 2**63 - 1], PhysicalType.INT64, None),
    "unsigned_byte": (pa.uint8(), [0, None, 255], PhysicalType.INT32, integer(8, False)),
    "unsigned_int": (pa.uint32(), [1, None, 2**32 - 1], PhysicalType.INT32, integer(32, False)),
    "unsigned_long": (pa.uint64(), [1, None, 2**64 - 1], PhysicalType.INT64, integer(64, False)),
    "half": (
        pa.float16(),
        [b"\x00\x38", None, b"\x00\x3e"],
        PhysicalType.FIXED_LEN_BYTE_ARRAY,
        logical(LogicalKind.FLOAT16),
    ),
    "float": (pa.float32(), [0.5, None, 1.5], PhysicalType.FLOAT, None),
    "double": (pa.float64(), [0.5, None, 1.5], PhysicalType.DOUBLE, None),
    "text": (pa.string(), ["a", None, "ü"], PhysicalType.BYTE_ARRAY, logical(LogicalKind.STRING)),
    "bytes": (pa.binary(), [b"a", None, b"\xff"], PhysicalType.BYTE_ARRAY, None),
    "date": (pa.date32(), [INSTANT.date(), None, INSTANT.date()], PhysicalType.INT32, logical(LogicalKind.DATE)),
    "time": (
        pa.time64("us"),
        [INSTANT.time(), None, INSTANT.time()],
        PhysicalType.INT64,
        logical(LogicalKind.TIME, unit=TimeUnit.MICROS, adjusted_to_utc=TIMES_IN_UTC),
    ),
    "instant": (
        pa.timestamp("us", "UTC"),
        [INSTANT, None, INSTANT],
        PhysicalType.INT64,
        timestamp(TimeUnit.MICROS, True),
    ),
    "ntz": (pa.timestamp("us"), [INSTANT, None, INSTANT], PhysicalType.INT64, timestamp(TimeUnit.MICROS, False)),
    "millis": (pa.timestamp("ms"), [0, None, 1], PhysicalType.INT64, timestamp(TimeUnit.MILLIS, False)),
    "nanos": (pa.timestamp("ns"), [0, None, 1000], PhysicalType.INT64, timestamp(TimeUnit.NANOS, False)),
    "decimal": (
        pa.decimal128(38, 3),
        [decimal.Decimal("1.125"), None, decimal.Decimal("-1.000")],
        PhysicalType.FIXED_LEN_BYTE_ARRAY,
        number(38, 3),
    ),
    "nothing": (pa.null(), [None, None, None], PhysicalType.INT32, logical(LogicalKind.NULL)),
}


def written(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def table_of_all() -> pa.Table:
    return pa.table({name: array_of(values, kind) for name, (kind, values, _, _) in COLUMNS.items()})


def array_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    if kind != pa.float16():
        return pa.array(values, kind)
    return pa.array(values, pa.binary(2)).view(kind)  # before PyArrow 21, only NumPy's numbers make halves


def nested_table() -> pa.Table:
    return pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "s": pa.array([{"a": 1, "deep": {"b": "x"}}, None, {"a": None, "deep": None}]),
            "l": pa.array([[1, 2], [], None], pa.list_(pa.int32())),
            "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        }
    )


def agrees_with_pyarrow(content: bytes) -> Footer:
    """Compare all that a footer says with what pyarrow reads."""
    footer = parse_footer(content)
    metadata = pq.read_metadata(io.BytesIO(content))
    assert footer_size(content[-8:]) == metadata.serialized_size + 8
    assert footer.num_rows == metadata.num_rows
    leaves = [element for element in footer.schema if element.is_leaf]
    assert len(leaves) == metadata.num_columns
    for ordinal, element in enumerate(leaves):
        column = metadata.schema.column(ordinal)
        path = tuple(column.path.split("."))
        assert footer.leaf(path) is element
        assert element.name == column.name
        assert element.physical_type is not None
        assert element.physical_type.name == column.physical_type
        chunks = footer.chunks(path)
        assert len(chunks) == metadata.num_row_groups
        for group, chunk in enumerate(chunks):
            said = metadata.row_group(group).column(ordinal)
            statistics = said.statistics
            assert chunk.num_values == said.num_values
            if statistics is None or not statistics.has_null_count:
                assert chunk.null_count is None
            else:
                assert chunk.null_count == statistics.null_count
            if statistics is None or not statistics.has_min_max or said.physical_type not in ("INT32", "INT64"):
                assert (chunk.minimum, chunk.maximum) == (None, None)
            else:
                unsigned = 0xFFFFFFFFFFFFFFFF if said.physical_type == "INT64" else 0xFFFFFFFF
                for mine, theirs in ((chunk.minimum, statistics.min_raw), (chunk.maximum, statistics.max_raw)):
                    assert mine is not None
                    assert mine & unsigned == theirs & unsigned
    return footer


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 1},
        {"write_statistics": False},
        {"data_page_version": "2.0", "use_dictionary": False},
        {"version": "1.0"},
        {"version": "2.4", "write_page_index": True, "store_schema": False},
        {"use_deprecated_int96_timestamps": True},
        {"store_decimal_as_integer": True},
        {"sorting_columns": [pq.SortingColumn(1)], **BLOOM_FILTER},
        {"compression": "none", "column_encoding": "PLAIN", "use_dictionary": False},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "table", [table_of_all(), nested_table(), table_of_all().slice(0, 0)], ids=["all", "nested", "empty"]
)
def test_footer_says_what_pyarrow_reads(table, options):
    if "sorting_columns" in options and "int" not in table.column_names:
        options = {}
    agrees_with_pyarrow(written(table, **options))


@pytest.mark.parametrize("name", COLUMNS)
def test_type_of_a_column_is_read(name):
    footer = parse_footer(written(table_of_all(), version="2.6"))
    _, _, physical_type, logical_type = COLUMNS[name]

    element = footer.leaf((name,))

    assert element is not None
    assert element.physical_type is physical_type
    assert element.logical_type == logical_type or logical_type is None
    assert element.repetition is Repetition.OPTIONAL


def test_bounds_of_integers_are_read_signed_and_unsigned():
    footer = parse_footer(written(table_of_all()))

    bounds = {name: (chunk.minimum, chunk.maximum) for name in COLUMNS for chunk in footer.chunks((name,))}

    for name in ("byte", "short", "int", "long", "unsigned_byte", "unsigned_int", "unsigned_long"):
        assert bounds[name] == (COLUMNS[name][1][0], COLUMNS[name][1][2])
    for name in ("float", "text", "flag", "nothing", "decimal"):
        assert bounds[name] == (None, None)


def test_nested_columns_are_found_by_their_whole_path():
    footer = parse_footer(written(nested_table()))

    assert footer.schema[0].num_children == 4
    assert footer.leaf(("s", "deep", "b")) is not None
    assert footer.leaf(("s", "deep")) is None
    assert footer.leaf(("deep", "b")) is None
    assert footer.chunks(("l", "list", "element"))[0].num_values == 4
    with pytest.raises(KeyError):
        footer.chunks(("s",))


def test_field_ids_are_read():
    fields = [
        pa.field("a", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "7"}),
        pa.field("b", pa.string(), metadata={"PARQUET:field_id": "2000000001"}),
    ]
    footer = parse_footer(written(pa.table([[1], ["x"]], schema=pa.schema(fields))))

    assert [element.field_id for element in footer.schema[1:]] == [7, 2000000001]
    assert footer.schema[1].repetition is Repetition.REQUIRED


def test_file_without_columns_has_its_rows():
    assert agrees_with_pyarrow(written(pa.table({}))).num_rows == 0


def test_footer_like_another_shares_its_schema_and_says_the_same():
    first, second = written(nested_table()), written(nested_table().slice(0, 2), row_group_size=1)
    alone = parse_footer(second)

    like = parse_footer(second, parse_footer(first))

    assert like == alone
    assert like.num_rows == 2
    assert like.chunks(("id",)) == alone.chunks(("id",))
    assert like.schema == alone.schema


def test_footer_of_another_schema_is_not_taken_for_its_model():
    model = parse_footer(written(nested_table()))
    content = written(table_of_all())

    assert parse_footer(content, model) == parse_footer(content)


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=40), st.integers(1, 40))
def test_chunks_say_what_was_written(values, row_group_size):
    content = written(pa.table({"id": pa.array(values, pa.int64())}), row_group_size=row_group_size)

    chunks = parse_footer(content).chunks(("id",))

    groups = [values[start : start + row_group_size] for start in range(0, len(values), row_group_size)]
    assert [(chunk.num_values, chunk.null_count) for chunk in chunks if chunk.num_values] == [
        (len(group), group.count(None)) for group in groups
    ]
    known = [[value for value in group if value is not None] for group in groups]
    assert [(chunk.minimum, chunk.maximum) for chunk in chunks if chunk.num_values] == [
        (min(group), max(group)) if group else (None, None) for group in known
    ]


# What pyarrow no longer writes, in Thrift written here.


def field(delta: int, wire_type: WireType, body: bytes = b"") -> bytes:
    return bytes([delta << 4 | wire_type]) + body


def varint(value: int) -> bytes:
    head = b""
    while value > 127:
        head, value = head + bytes([value & 0x7F | 0x80]), value >> 7
    return head + bytes([value])


def i32(value: int) -> bytes:
    return varint((value << 1) ^ (value >> 63))


def binary(value: bytes) -> bytes:
    return varint(len(value)) + value


def list_of(*bodies: bytes) -> bytes:
    return bytes([len(bodies) << 4 | WireType.STRUCT]) + b"".join(bodies)


def leaf(name: bytes, physical: int, *more: bytes) -> bytes:
    """An element with type and name; ``more`` begins behind field 4."""
    return field(1, WireType.I32, i32(physical)) + field(3, WireType.BINARY, binary(name)) + b"".join(more) + b"\x00"


def root(children: int) -> bytes:
    return field(4, WireType.BINARY, binary(b"root")) + field(1, WireType.I32, i32(children)) + b"\x00"


def chunk(name: bytes, *statistics: bytes) -> bytes:
    path = bytes([1 << 4 | WireType.BINARY]) + binary(name)
    body = field(3, WireType.LIST, path) + field(2, WireType.I64, i32(3))
    body += field(7, WireType.STRUCT, b"".join(statistics) + b"\x00") if statistics else b""
    return field(3, WireType.STRUCT, body + b"\x00") + b"\x00"


def file_of(schema: bytes, groups: bytes, rows: int = 3) -> bytes:
    metadata = field(1, WireType.I32, i32(2)) + field(1, WireType.LIST, schema)
    metadata += field(1, WireType.I64, i32(rows)) + field(1, WireType.LIST, groups) + b"\x00"
    return ended(metadata)


def ended(metadata: bytes, magic: bytes = b"PAR1") -> bytes:
    return metadata + struct.pack("<I", len(metadata)) + magic


def group(*chunks: bytes) -> bytes:
    return field(1, WireType.LIST, list_of(*chunks)) + b"\x00"


@pytest.mark.parametrize(
    ("converted", "expected"),
    [
        (0, logical(LogicalKind.STRING)),
        (6, logical(LogicalKind.DATE)),
        (9, timestamp(TimeUnit.MILLIS, True, inferred=True)),
        (10, timestamp(TimeUnit.MICROS, True, inferred=True)),
        (13, integer(32, False)),
        (15, integer(8)),
        (16, integer(16)),
        (18, integer(64)),
        (21, logical(LogicalKind.INTERVAL)),
        (99, logical(LogicalKind.UNKNOWN)),
    ],
)
def test_converted_type_alone_is_read_as_what_it_means(converted, expected):
    element = leaf(b"c", 1, field(2, WireType.I32, i32(converted)))

    footer = parse_footer(file_of(list_of(root(1), element), list_of()))

    assert footer.schema[1].logical_type == expected


def test_converted_decimal_has_precision_and_scale():
    more = [field(delta, WireType.I32, i32(value)) for delta, value in ((2, 5), (1, 2), (1, 9))]

    footer = parse_footer(file_of(list_of(root(1), leaf(b"c", 2, *more)), list_of()))

    assert footer.schema[1].logical_type == number(9, 2)


def test_logical_type_of_a_newer_format_is_unknown_not_an_error():
    newer = field(6, WireType.STRUCT, field(0, WireType.STRUCT, i32(77) + b"\x00") + b"\x00")

    footer = parse_footer(file_of(list_of(root(1), leaf(b"c", 2, newer)), list_of()))

    assert footer.schema[1].logical_type == logical(LogicalKind.UNKNOWN)


def test_deprecated_bounds_stand_in_where_there_are_no_others():
    old = field(1, WireType.BINARY, binary(struct.pack("<q", 9))) + field(
        1, WireType.BINARY, binary(struct.pack("<q", -9))
    )

    footer = parse_footer(file_of(list_of(root(1), leaf(b"c", 2)), list_of(group(chunk(b"c", old)))))

    assert [(c.num_values, c.null_count, c.minimum, c.maximum) for c in footer.chunks(("c",))] == [(3, None, -9, 9)]


def test_deprecated_bounds_of_unsigned_numbers_are_not_believed():
    old = field(1, WireType.BINARY, binary(struct.pack("<q", 9))) + field(
        1, WireType.BINARY, binary(struct.pack("<q", -9))
    )
    unsigned = leaf(b"c", 2, field(2, WireType.I32, i32(14)))

    footer = parse_footer(file_of(list_of(root(1), unsigned), list_of(group(chunk(b"c", old)))))

    assert (footer.chunks(("c",))[0].minimum, footer.chunks(("c",))[0].maximum) == (None, None)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (list_of(group()), "lacks a column"),
        (list_of(group(chunk(b"other"))), "column other where c belongs"),
        (list_of(group(b"\x00")), "no metadata of column c"),
        (list_of(group(chunk(b"c", field(5, WireType.BINARY, binary(b"123"))))), "8 bytes has 3"),
        (list_of(group(chunk(b"c", field(3, WireType.I64, i32(4))))), "3 values and 4 nulls"),
        (list_of(group(chunk(b"c", field(3, WireType.I64, i32(-1))))), "3 values and -1 nulls"),
    ],
)
def test_row_group_that_does_not_fit_the_schema_is_damage(groups, message):
    footer = parse_footer(file_of(list_of(root(1), leaf(b"c", 2)), groups))

    with pytest.raises(FooterError, match=message):
        footer.chunks(("c",))


def test_encrypted_column_is_told_apart_from_damage():
    encrypted = field(8, WireType.STRUCT, b"\x00") + b"\x00"
    footer = parse_footer(file_of(list_of(root(1), leaf(b"c", 2)), list_of(group(encrypted))))

    with pytest.raises(EncryptedFooterError, match="column c is encrypted"):
        footer.chunks(("c",))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (list_of(), "no root"),
        (list_of(leaf(b"c", 1)), "no root"),
        (list_of(root(2), leaf(b"c", 1)), "lacks elements"),
        (list_of(root(1), leaf(b"c", 1), leaf(b"d", 1)), "outside of the root"),
        (list_of(root(-1)), "impossible number"),
        (list_of(root(1), leaf(b"c", 8)), "physical type 8"),
        (list_of(root(1), field(1, WireType.I32, i32(1)) + b"\x00"), "no name"),
        (list_of(root(1), leaf(b"\xff", 1)), "damaged"),
    ],
)
def test_elements_that_make_no_schema_are_damage(schema, message):
    with pytest.raises(FooterError, match=message):
        parse_footer(file_of(schema, list_of()))


def test_negative_number_of_rows_is_damage():
    with pytest.raises(FooterError, match="-1 rows"):
        parse_footer(file_of(list_of(root(0)), list_of(), rows=-1))


def test_schema_that_nests_without_end_is_damage():
    deep = tuple(SchemaElement("g", None, None, 1) for _ in range(5000))

    with pytest.raises(ValueError, match="nests more"):
        Schema((*deep, SchemaElement("c", PhysicalType.INT32, None)))


@pytest.mark.parametrize(
    ("opening", "level"), [(b"", b"\x1c"), (b"\x19", b"\x19"), (b"\x1b", b"\x01\xbb"), (b"", b"\x19\x1b\x01\xcc")]
)
def test_endless_nesting_is_damage(opening, level):
    with pytest.raises(FooterError, match="nested"):
        parse_footer(ended(opening + level * 50_000))


@pytest.mark.parametrize("wire_type", [WireType.LIST, WireType.SET, WireType.MAP, WireType.BINARY, WireType.I64])
def test_length_beyond_the_end_is_damage_before_anything_is_made_of_it(wire_type):
    huge = b"\xf5" if wire_type in (WireType.LIST, WireType.SET) else b""

    with pytest.raises(ThriftError):
        Cursor(huge + b"\xff" * 9 + b"\x7f" * (wire_type != WireType.I64)).skip(wire_type)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "too few"),
        (b"PAR1", "too few"),
        (b"\x00" * 20, "not a Parquet file"),
        (ended(b"")[:-1] + b"0", "not a Parquet file"),
        (ended(b""), "ends within a struct"),
        (ended(b"\x00"), "lacks the schema"),
        (ended(b"\x00")[1:], "9 bytes, but only 8"),
        (b"\xff\xff\xff\xffPAR1", "but only 8"),
    ],
)
def test_what_ends_no_parquet_file_is_refused(content, message):
    with pytest.raises(FooterError, match=message):
        parse_footer(content)


def test_encrypted_footer_is_told_apart_from_damage():
    with pytest.raises(EncryptedFooterError, match="encrypted"):
        footer_size(ended(b"\x00", b"PARE"))


METADATA = [
    written(table)[-footer_size(written(table)) : -8]
    for table in (table_of_all(), nested_table(), pa.concat_tables([nested_table()] * 3))
]


def read_all_or_refuse(metadata: bytes) -> None:
    try:
        footer = parse_footer(ended(metadata), parse_footer(ended(METADATA[1])))
        assert footer == parse_footer(ended(metadata))
        for path in footer._schema.leaves:
            footer.chunks(path)
    except FooterError:
        pass


@given(st.sampled_from(METADATA), st.data())
def test_truncated_footer_is_refused_or_lacks_only_what_is_not_read(metadata, data):
    read_all_or_refuse(metadata[: data.draw(st.integers(0, len(metadata) - 1))])


@given(
    st.sampled_from(METADATA),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=5),
)
def test_corrupt_footer_is_refused_or_read_and_nothing_else(metadata, damage):
    damaged = bytearray(metadata)
    for at, byte in damage:
        damaged[int(at * len(damaged))] = byte
    read_all_or_refuse(bytes(damaged))


@given(st.binary(max_size=300))
def test_random_bytes_are_refused_or_read_and_nothing_else(noise):
    read_all_or_refuse(noise)
    read_all_or_refuse(field(1, WireType.I32, i32(2)) + noise)


@given(st.binary(max_size=60))
def test_random_bytes_for_a_whole_file_are_refused(noise):
    with pytest.raises(FooterError):
        parse_footer(noise)
