from __future__ import annotations

import io
import json
import struct
import time
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.formats import budget
from airflow_delta_provider.domain.formats.avro.file import MOST_BYTES, read_rows
from airflow_delta_provider.domain.formats.avro.primitives import AvroError, LargeAvroError
from airflow_delta_provider.domain.formats.avro.schema import Column, Row
from tests.tables.avro_files import CODECS as CODEC_NAMES
from tests.tables.avro_files import avro_file, recompressed
from tests.tables.paimon.archive import table_of
from tests.unit.paimon_tables import CODECS

_SYNC = bytes(range(16))
_LONGS = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}
_A = (Column("a", "long"),)
_AB = (Column("a", "long"), Column("b", "string"))


def _read(content: bytes, columns: tuple[Column, ...] = _A) -> list[Row]:
    [found] = read_rows([content], columns, CODECS)
    if isinstance(found, AvroError):
        raise found
    return found


def _long(value: int) -> bytes:
    encoded = (value << 1) ^ (value >> 63)
    out = bytearray()
    while encoded >= 0x80:
        out.append(encoded & 0x7F | 0x80)
        encoded >>= 7
    return bytes([*out, encoded])


def _file(schema: Any, *blocks: tuple[int, bytes], codec: str = "null") -> bytes:
    """Write a file by hand."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    header = b"Obj\x01" + _long(2)
    for key, value in ((b"avro.schema", text), (b"avro.codec", codec.encode())):
        header += _long(len(key)) + key + _long(len(value)) + value
    header += _long(0) + _SYNC
    return header + b"".join(_long(count) + _long(len(data)) + data + _SYNC for count, data in blocks)


def _record(**types: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in types.items()]}


#: Types as fastavro takes them, each with values.
_TYPES: st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]] = st.recursive(
    st.sampled_from(
        [
            ("int", st.integers(-(1 << 31), (1 << 31) - 1)),
            ("long", st.integers(-(1 << 63), (1 << 63) - 1)),
            ("float", st.floats(width=32, allow_nan=False)),
            ("double", st.floats(allow_nan=False)),
            ("boolean", st.booleans()),
            ("string", st.text(max_size=100)),
            ("bytes", st.binary(max_size=100)),
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda made: ({"type": "array", "items": made[0]}, st.lists(made[1], max_size=70))),
        inner.map(lambda made: ({"type": "map", "values": made[0]}, st.dictionaries(st.text(max_size=5), made[1]))),
        inner.filter(lambda made: not isinstance(made[0], list)).map(
            lambda made: (["null", made[0]], st.none() | made[1])
        ),
    ),
    max_leaves=3,
)


@st.composite
def _files(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Draw a schema of one record within another, and records."""
    outer, inner = draw(st.lists(_TYPES, max_size=4)), draw(st.lists(_TYPES, min_size=1, max_size=4))
    fields = {f"f{index}": made for index, made in enumerate(outer)}
    below = {f"g{index}": made for index, made in enumerate(inner)}
    within = {**_record(**{name: made[0] for name, made in below.items()}), "name": "within"}
    first = {"id": "long", **{name: made[0] for name, made in fields.items()}}
    schema = _record(**first, within=within, last={"type": "enum", "name": "e", "symbols": ["x", "y"]})
    values = st.fixed_dictionaries(
        {
            "id": st.integers(0, 100),
            **{name: made[1] for name, made in fields.items()},
            "within": st.fixed_dictionaries({name: made[1] for name, made in below.items()}),
            "last": st.sampled_from(["x", "y"]),
        }
    )
    return schema, draw(st.lists(values, max_size=8))


def _columns(schema: dict[str, Any], prefix: str = "") -> list[Column]:
    """Return all columns below records."""
    found = []
    for field in schema["fields"]:
        kind, path = field["type"], prefix + field["name"]
        if isinstance(kind, dict) and kind["type"] == "record":
            found += _columns(kind, f"{path}.")
            continue
        value = kind[1] if isinstance(kind, list) else kind
        name = value if isinstance(value, str) else value["type"]
        found.append(Column(path, name, optional=isinstance(kind, list)))
    return found


def _at(record: dict[str, Any], path: str) -> Any:
    for name in path.split("."):
        record = record[name]
    return record


@given(_files(), st.randoms(), st.sampled_from(CODEC_NAMES))
def test_any_columns_in_any_order_of_any_file_are_what_fastavro_reads(
    file: tuple[dict[str, Any], list[dict[str, Any]]], random: Any, codec: str
) -> None:
    schema, records = file
    content = avro_file(schema, records, codec)
    columns = _columns(schema)
    columns = random.sample(columns, random.randint(1, len(columns)))
    if codec != "snappy":  # which fastavro cannot read without a further package
        records = list(fastavro.reader(io.BytesIO(content)))

    rows = _read(content, tuple(columns))

    assert rows == [tuple(_at(record, column.path) for column in columns) for record in records]


def test_a_record_that_no_column_points_into_is_read_whole() -> None:
    schema = _record(a="long", within={**_record(c="long", d="string"), "name": "within"})
    content = avro_file(schema, [{"a": 1, "within": {"c": 2, "d": "x"}}])

    assert _read(content, (Column("within", "record"),)) == [({"c": 2, "d": "x"},)]


def test_a_type_that_is_named_again_is_read_like_the_first() -> None:
    point = {"type": "record", "name": "p", "namespace": "n", "fields": [{"name": "x", "type": "int"}]}
    schema = {**_record(a=point, b="n.p", c={"type": "fixed", "name": "f", "size": 3}), "namespace": "m"}
    content = avro_file(schema, [{"a": {"x": 1}, "b": {"x": 2}, "c": b"abc"}])

    assert _read(content, (Column("a.x", "long"), Column("b.x", "long"), Column("c", "fixed"))) == [(1, 2, b"abc")]


def test_items_whose_bytes_are_counted_are_read_and_passed_over() -> None:
    items = _long(-2) + _long(3) + _long(7) + _long(300) + _long(1) + _long(-9) + _long(0)
    content = _file(_record(b={"type": "array", "items": "long"}, a="long"), (1, items + _long(5)))

    assert _read(content, (Column("b", "array"), Column("a", "long"))) == [([7, 300, -9], 5)]
    assert _read(content) == [(5,)]


def test_optional_columns_that_a_file_has_not_are_none() -> None:
    columns = (Column("x", "long", optional=True), Column("a", "long"), Column("y.z", "string", optional=True))

    assert _read(avro_file(_LONGS, [{"a": 1, "b": "x"}]), columns) == [(None, 1, None)]


def test_the_largest_numbers_are_read() -> None:
    numbers = [(1 << 63) - 1, -(1 << 63), 0, -1, 63, 64, -64, -65]

    assert _read(avro_file(_LONGS, [{"a": number, "b": ""} for number in numbers])) == [(number,) for number in numbers]


def test_a_broken_file_keeps_no_other_from_being_read() -> None:
    good = [avro_file(_LONGS, [{"a": 1, "b": ""}], codec) for codec in CODEC_NAMES]
    broken = [b"", good[4][:-20], _file(_LONGS, (1, b"nonsense"), codec="zstandard")]

    found = read_rows([*broken, *good, *broken], _A, CODECS)

    assert found[3:-3] == [[(1,)]] * len(good)
    assert all(isinstance(result, AvroError) for result in found[:3] + found[-3:])


_ONE = _long(1) + _long(0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "it is empty", id="empty"),
        pytest.param(b"PAR1", "does not begin as an Avro file", id="another format"),
        pytest.param(_file(_LONGS)[:-80], "ends within its header", id="header cut"),
        pytest.param(_file(_LONGS)[:-1], "ends within its header", id="sync marker of the header cut"),
        pytest.param(b"Obj\x01" + _long(1 << 40), "items are said to follow", id="header of a trillion entries"),
        pytest.param(b"Obj\x01" + _long(1) + _long(1 << 60), "ends within its header", id="huge key"),
        pytest.param(b"Obj\x01" + b"\xff" * 20, "more than 64 bits", id="number without end"),
        pytest.param(b"Obj\x01" + b"\xff" * 9 + b"\x7f", "more than 64 bits", id="number of 70 bits"),
        pytest.param(_file(b"\xff"), "avro.schema is not UTF-8", id="schema is no text"),
        pytest.param(_file(b"{"), "not JSON", id="schema is not JSON"),
        pytest.param(_file(b"[" * 100_000), "not JSON", id="schema nested without end"),
        pytest.param(_file("long"), "values of type long, not records", id="no records"),
        pytest.param(_file(_record(a="unheard")), "no type 'unheard'", id="unknown type"),
        pytest.param(_file(_record(a=["null", "r"])), "'r' contains itself", id="schema contains itself"),
        pytest.param(_file(b'{"type":"array","items":' * 90 + b'"long"' + b"}" * 90), "deeper", id="schema too deep"),
        pytest.param(_file({"type": "record", "name": "r"}), "without fields", id="record without fields"),
        pytest.param(_file({"type": "record", "fields": []}), "without a name", id="record without name"),
        pytest.param(_file(_record(a={"type": "fixed", "name": "f", "size": -1})), "size -1", id="fixed of no size"),
        pytest.param(_file(_record(a=17)), "17 where a type belongs", id="number for a type"),
        pytest.param(_file(_record(b="long")), "no a", id="column missing"),
        pytest.param(_file(_record(a="string")), "a is of type string, not long", id="column of another type"),
        pytest.param(_file(_record(a=["null", "long"]), (1, _long(0))), "a is null", id="null where none may be"),
        pytest.param(_file(_record(a=["null", "long"]), (1, _long(2))), "no branch 2", id="unknown branch"),
        pytest.param(_file(_LONGS, (1, _ONE), codec="lz77"), "compressed with 'lz77'", id="unknown codec"),
        pytest.param(_file(_LONGS, (2, _ONE)), "ends within record 2 of 2", id="fewer records than said"),
        pytest.param(_file(_LONGS, (1, _ONE * 2)), "2 bytes behind its 1 records", id="more records than said"),
        pytest.param(_file(_LONGS, (1 << 50, _ONE)), "said to have", id="a petabyte of records"),
        pytest.param(_file(_LONGS, (-1, _ONE)), "said to have -1", id="negative count"),
        pytest.param(_file(_LONGS, (1, _long(1) + _long(-5))), "length at byte 1 is -5", id="negative length"),
        pytest.param(_file(_LONGS, (1, _long(1) + _long(1 << 62))), "ends within record 1", id="huge length"),
        pytest.param(_file(_LONGS) + _long(1) + _long(-3), "length at byte", id="block of negative size"),
        pytest.param(_file(_LONGS, (1, _ONE))[:-1] + b"x", "sync marker", id="corrupt sync marker"),
        pytest.param(_file(_LONGS, (1, _ONE))[:-1], "ends within the block", id="sync marker cut"),
        pytest.param(_file(_LONGS, (1, b"\xff"), codec="deflate"), "cannot be decompressed", id="deflate broken"),
        pytest.param(_file(_LONGS, (1, b"x"), codec="bzip2"), "cannot be decompressed", id="bzip2 broken"),
        pytest.param(_file(_LONGS, (1, b"x"), codec="xz"), "too early|decompressed", id="xz broken"),
        pytest.param(_file(_LONGS, (1, b""), codec="bzip2"), "ends too early", id="bzip2 empty"),
    ],
)  # fmt: skip
def test_what_is_no_file_to_read_says_why(content: bytes, message: str) -> None:
    with pytest.raises(AvroError, match=message):
        _read(content)


def test_an_enum_without_that_symbol_is_damage_where_it_is_read() -> None:
    content = _file(_record(a={"type": "enum", "name": "e", "symbols": ["s"]}), (1, b"\x02"))

    with pytest.raises(AvroError, match="no symbol 1"):
        _read(content, (Column("a", "enum"),))


@pytest.mark.parametrize("items", ["null", _record(), {**_record(x="null"), "name": "within"}])
def test_items_that_take_no_byte_have_no_bound_and_are_refused(items: Any) -> None:
    content = _file({**_record(a="long", b={"type": "array", "items": items}), "name": "outer"}, (1, _long(1) + b"\0"))

    with pytest.raises(AvroError, match="items take no byte"):
        _read(content)


def test_more_items_than_bytes_are_damage() -> None:
    content = _file(_record(a="long", b={"type": "array", "items": "int"}), (1, _long(1) + _long(1 << 40) + _long(0)))

    with pytest.raises(AvroError, match="items are said to follow"):
        _read(content)


def test_a_small_block_that_comes_to_gigabytes_is_refused_at_a_bound() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    bomb = packer.compress(bytes(2 * MOST_BYTES)) + packer.flush()

    with pytest.raises(AvroError, match=f"more than {MOST_BYTES} bytes"):
        _read(_file(_LONGS, (1, bomb), codec="deflate"))


def test_blocks_that_come_to_too_much_together_are_left_out_and_no_other_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_LEAST", 1 << 23)
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(1 << 20)) + packer.flush()
    schema = _record(a="long")
    small, large = _file(schema, (1, _long(7))), _file(schema, *[(1 << 20, block)] * 60, codec="deflate")
    assert len(large) < 100_000

    tracemalloc.start()
    found = read_rows([small, large, small], _A, CODECS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [found[0], found[2]] == [[(7,)], [(7,)]]
    assert isinstance(found[1], LargeAvroError)
    assert "need more than" in str(found[1])
    assert peak < 1 << 26


def _manifest(paimon_archive: Path) -> bytes:
    directory = table_of(paimon_archive, "big/p/final") / "manifest"
    return max((path.read_bytes() for path in directory.glob("manifest-*") if "list" not in path.name), key=len)


_ENTRY = (Column("_KIND", "long"), Column("_FILE._FILE_NAME", "string"), Column("_FILE._FIRST_ROW_ID", "long", True))


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_a_manifest_that_is_cut_anywhere_is_damage_and_no_other_error(paimon_archive: Path, codec: str) -> None:
    content = recompressed(_manifest(paimon_archive), codec)
    ends = [*range(0, len(content), 7), len(content) - 1]

    results = [read_rows([content[:end]], _ENTRY, CODECS)[0] for end in ends]

    # Cut behind the header it is a file without records: only its size tells.
    assert [result for result in results if not isinstance(result, AvroError)] in ([], [[]])


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_a_manifest_with_any_byte_changed_is_read_or_is_damage_and_takes_no_time(
    paimon_archive: Path, codec: str
) -> None:
    content = recompressed(_manifest(paimon_archive), codec)
    started = time.monotonic()
    count = 0

    for position in range(0, len(content), 3):
        changed = bytearray(content)
        changed[position] ^= 0xFF
        [result] = read_rows([bytes(changed)], _ENTRY, CODECS)
        count += isinstance(result, AvroError)

    assert count > 0
    assert time.monotonic() - started < 30


@given(st.binary(max_size=200), st.integers(0, 5))
def test_any_bytes_in_a_block_are_records_or_damage(data: bytes, count: int) -> None:
    schema = _record(
        a="long",
        b={"type": "array", "items": ["null", "long", {"type": "map", "values": "bytes"}]},
        c=["null", "string", "double"],
    )
    for columns in (_A, (Column("a", "long"), Column("b", "array"), Column("c", "string", True))[:2]):
        [result] = read_rows([_file(schema, (count, data))], columns, CODECS)
        assert isinstance(result, (AvroError, list))


def test_floats_are_read() -> None:
    content = _file(_record(x="float", y="double"), (1, struct.pack("<fd", 1.5, -2.25)))

    assert _read(content, (Column("y", "double"), Column("x", "double"))) == [(-2.25, 1.5)]
