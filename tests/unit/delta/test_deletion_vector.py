from __future__ import annotations

import random
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.data_files.files import unreadable_vector
from airflow_delta_provider.domain.delta.deletion_vector import (
    BrokenDeletionVectorError,
    DeletionVector,
    LargeDeletionVectorError,
    bitmap_in_range,
    decode_z85,
    deleted_rows,
    inline_bitmap,
)
from airflow_delta_provider.domain.formats.roaring import BrokenBitmapError, read_bitmap
from airflow_delta_provider.domain.report.report import Severity

#: The examples of PROTOCOL.md, JSON Example 1 to 3.
RELATIVE = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
ABSOLUTE = {
    "storageType": "p",
    "pathOrInlineDv": "s3://mytable/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
INLINE = {
    "storageType": "i",
    "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 40,
    "cardinality": 6,
}


def bitmap_in_file(content: bytes, vector: DeletionVector) -> bytes:
    start, end = vector.byte_range
    return bitmap_in_range(content[start:end], vector)


#: Files that DELETE of Delta 4.4.0 wrote: descriptor, content, rows of the data file, rows deleted.
REAL = [
    pytest.param(
        {
            "storageType": "u",
            "pathOrInlineDv": ".S7b^[<(ojXj^>X-IAe1",
            "offset": 1,
            "sizeInBytes": 44,
            "cardinality": 6,
        },
        "010000002cd1d339640100000000000000000000003a3000000100000000000500100000000300040007000b0012001d00acd74a79",
        40,
        {3, 4, 7, 11, 18, 29},
        id="small",
    ),
    pytest.param(
        {
            "storageType": "u",
            "pathOrInlineDv": "yY]YF7D>IZUV25+.Axdm",
            "offset": 1,
            "sizeInBytes": 38,
            "cardinality": 3,
        },
        "0100000026d1d339640100000000000000000000003a30000001000000000002001000000001000200e7031763fa8800"
        "000026d1d339640100000000000000000000003a30000001000000000002001000000001000200e7031763fa88000000"
        "26d1d339640100000000000000000000003a30000001000000000002001000000001000200e7031763fa8800000026d1"
        "d339640100000000000000000000003a30000001000000000002001000000001000200e7031763fa88",
        1000,
        {1, 2, 999},
        id="several",
    ),
    pytest.param(
        {
            "storageType": "u",
            "pathOrInlineDv": "hvYEG:09]rQwn^xVAtBn",
            "offset": 1,
            "sizeInBytes": 70,
            "cardinality": 15,
        },
        "0100000046d1d339640100000000000000000000003a300000020000000000090001000400180000002c000000030005"
        "00f21ee13dd05cbf7bae9a9db98cd87bf770116a165935485437730ba4044200000044d1d33964010000000000000000"
        "0000003a300000020000000000080001000400180000002a000000860b752a64495368428731a651c320c50fe4fe02ed"
        "21dc40cb5fba7eeeb5d4db",
        100000,
        {3, 5, 7922, 15841, 23760, 31679, 39598, 47517, 55436, 63355, 70000, 71274, 79193, 87112, 95031},
        id="scattered",
    ),
]


def bits(rows: set[int]) -> int:
    marks = bytearray(b"0") * (max(rows, default=0) + 1)
    for row in rows:
        marks[~row] = ord("1")
    return int(marks, 2)


def positions(rows: int) -> set[int]:
    return {position for position, bit in enumerate(bin(rows)[:1:-1]) if bit == "1"}


# An encoder of its own, from the RoaringFormatSpec, in which the test chooses the kind of each container.


def container(kind: str, lows: list[int]) -> bytes:
    if kind == "array":
        return struct.pack(f"<{len(lows)}H", *lows)
    if kind == "bitset":
        return sum(1 << low for low in lows).to_bytes(8192, "little")
    runs: list[list[int]] = []
    for low in lows:
        if runs and low == sum(runs[-1]) + 1:
            runs[-1][1] += 1
        else:
            runs.append([low, 0])
    return struct.pack(f"<{1 + 2 * len(runs)}H", len(runs), *[number for run in runs for number in run])


def bitmap32(numbers: set[int], with_runs: bool) -> bytes:
    """Every other container as runs, where runs are allowed; else as its cardinality bids."""
    lows: dict[int, list[int]] = {}
    for number in sorted(numbers):
        lows.setdefault(number >> 16, []).append(number & 0xFFFF)
    keys = list(lows)
    with_runs = with_runs and bool(keys)
    kinds = [
        "run" if with_runs and index % 2 == 0 else "array" if len(lows[key]) <= 4096 else "bitset"
        for index, key in enumerate(keys)
    ]
    if with_runs:
        head = struct.pack("<I", 12347 | len(keys) - 1 << 16)
        head += sum(1 << index for index, kind in enumerate(kinds) if kind == "run").to_bytes(
            (len(keys) + 7) // 8, "little"
        )
    else:
        head = struct.pack("<II", 12346, len(keys))
    head += b"".join(struct.pack("<HH", key, len(lows[key]) - 1) for key in keys)
    bodies = [container(kind, lows[key]) for kind, key in zip(kinds, keys)]
    if not with_runs or len(keys) >= 4:
        at = len(head) + 4 * len(keys)
        for body in bodies:
            head += struct.pack("<I", at)
            at += len(body)
    return head + b"".join(bodies)


def portable(rows: set[int], with_runs: bool = False) -> bytes:
    buckets = sorted({row >> 32 for row in rows})
    return struct.pack("<IQ", 1681511377, len(buckets)) + b"".join(
        struct.pack("<I", bucket) + bitmap32({row & 0xFFFFFFFF for row in rows if row >> 32 == bucket}, with_runs)
        for bucket in buckets
    )


def native(rows: set[int], with_runs: bool = False) -> bytes:
    bitmap = bitmap32(rows, with_runs)
    return struct.pack("<III", 1681511376, 1, len(bitmap)) + bitmap


def native_big_endian(rows: set[int], with_runs: bool = False) -> bytes:
    bitmap = bitmap32(rows, with_runs)
    return struct.pack(">III", 1681511376, 1, len(bitmap)) + bitmap


def vector(bitmap: bytes, cardinality: int, offset: int | None = 1) -> DeletionVector:
    return DeletionVector("u", RELATIVE["pathOrInlineDv"], offset, len(bitmap), cardinality)


def stored(*bitmaps: bytes) -> bytes:
    return b"\x01" + b"".join(
        struct.pack(">I", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap)) for bitmap in bitmaps
    )


rows_of_a_file = st.one_of(
    st.sets(st.integers(0, 300), max_size=50),
    st.sets(st.integers(0, 1_000_000), max_size=50),
    # Containers of every density, at the ends of the 16-bit blocks too.
    st.builds(
        lambda seed, blocks: {
            (block << 16) + low for block, size in blocks for low in random.Random(seed).sample(range(65536), size)
        },
        st.integers(0, 1000),
        st.lists(
            st.tuples(st.integers(0, 30), st.sampled_from([1, 300, 1799, 1800, 4096, 4097, 30000, 65536])), max_size=6
        ),
    ),
    st.lists(st.tuples(st.integers(0, 500_000), st.integers(1, 100_000)), max_size=4).map(
        lambda runs: {row for first, length in runs for row in range(first, first + length)}
    ),
)


@pytest.mark.parametrize("write", [portable, native, native_big_endian])
@settings(max_examples=25, deadline=None)
@given(rows=rows_of_a_file, with_runs=st.booleans())
def test_rows_come_back_from_every_kind_of_container(write, rows, with_runs):
    bitmap = write(rows, with_runs)
    num_rows = max(rows, default=0) + 1
    expected = bits(rows)

    assert deleted_rows(bitmap, vector(bitmap, len(rows)), num_rows) == expected
    assert deleted_rows(bitmap, vector(bitmap, len(rows)), None) == expected


def test_inline_example_of_the_protocol_has_its_rows():
    dv = DeletionVector.from_json(INLINE)

    assert positions(deleted_rows(inline_bitmap(dv), dv, 30)) == {3, 4, 7, 11, 18, 29}
    assert dv.unique_id == f"i{INLINE['pathOrInlineDv']}"
    assert dv.file is None


def test_relative_example_of_the_protocol_has_its_path():
    dv = DeletionVector.from_json(RELATIVE)

    assert dv.file == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert dv.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"
    assert dv.byte_range == (4, 52)


def test_relative_path_without_a_prefix_is_in_the_tables_directory():
    dv = DeletionVector.from_json(RELATIVE | {"pathOrInlineDv": "^-aqEH.-t@S}K{vb[*k^"})

    assert dv.file == "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def test_absolute_path_stands_as_it_is():
    assert DeletionVector.from_json(ABSOLUTE).file == ABSOLUTE["pathOrInlineDv"]


def test_offset_that_is_not_there_is_no_part_of_the_unique_id_and_reads_as_0():
    dv = DeletionVector.from_json({key: value for key, value in RELATIVE.items() if key != "offset"})

    assert dv.unique_id == "uab^-aqEH.-t@S}K{vb[*k^"
    assert dv.byte_range == (0, 48)


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ({}, "lacks 'storageType'"),
        (RELATIVE | {"storageType": "x"}, "none of u, p and i"),
        (RELATIVE | {"sizeInBytes": "many"}, "malformed"),
        (RELATIVE | {"cardinality": None}, "malformed"),
        (RELATIVE | {"cardinality": 1.5}, "malformed"),
        (RELATIVE | {"pathOrInlineDv": None}, "malformed"),
        (RELATIVE | {"offset": -1}, "negative"),
        (None, "malformed"),
        ([], "malformed"),
    ],
)
def test_malformed_descriptor_is_refused(wire, message):
    with pytest.raises(BrokenDeletionVectorError, match=message):
        DeletionVector.from_json(wire)


@pytest.mark.parametrize("encoded", ["", "abc", "~" * 20, "#" * 20])
def test_path_that_is_no_uuid_is_refused(encoded):
    with pytest.raises(BrokenDeletionVectorError, match="not a UUID"):
        _ = DeletionVector.from_json(RELATIVE | {"pathOrInlineDv": encoded}).file


def test_z85_example_of_its_specification():
    assert decode_z85("HelloWorld") == bytes.fromhex("864fd26fb559f75b")


@pytest.mark.parametrize(("wire", "content", "num_rows", "deleted"), REAL)
def test_vector_that_delta_wrote_has_the_rows_that_were_deleted(wire, content, num_rows, deleted):
    dv = DeletionVector.from_json(wire)

    assert positions(deleted_rows(bitmap_in_file(bytes.fromhex(content), dv), dv, num_rows)) == deleted


def test_padding_of_an_inline_vector_is_cut_off():
    padded = DeletionVector.from_json(INLINE | {"sizeInBytes": 38})

    assert len(inline_bitmap(padded)) == 38


@pytest.mark.parametrize("size", [36, 41])
def test_inline_vector_of_another_size_is_refused(size):
    with pytest.raises(BrokenDeletionVectorError, match="40 bytes"):
        inline_bitmap(DeletionVector.from_json(INLINE | {"sizeInBytes": size}))


def test_each_of_several_vectors_in_a_file_is_found_by_its_offset():
    first, second = portable({1, 5}), portable(set(range(100_000)), with_runs=True)
    content = stored(first, second)
    in_second_place = vector(second, 100_000, offset=1 + 8 + len(first))

    assert bitmap_in_file(content, vector(first, 2)) == first
    assert bitmap_in_file(content, in_second_place) == second


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: b"", "ends before it"),
        (lambda content: content[:-1], "ends before it"),
        (lambda content: content[:1], "ends before it"),
        (lambda content: content[:4] + b"\xff" + content[5:], "gives it"),
        (lambda content: content[:10] + bytes([content[10] ^ 1]) + content[11:], "checksum"),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "checksum"),
    ],
)
def test_damaged_file_is_refused(damage, message):
    bitmap = portable({1, 5})

    with pytest.raises(BrokenDeletionVectorError, match=message):
        bitmap_in_file(damage(stored(bitmap)), vector(bitmap, 2))


@pytest.mark.parametrize("cardinality", [1, 3])
def test_other_number_of_rows_than_the_log_says_is_refused(cardinality):
    bitmap = portable({1, 5})

    with pytest.raises(BrokenDeletionVectorError, match="deletes 2 rows"):
        deleted_rows(bitmap, vector(bitmap, cardinality), 10)


@pytest.mark.parametrize("row", [10, 70_000, 1 << 31, 1 << 32, (1 << 63) - 1])
def test_row_that_the_file_has_not_is_refused(row):
    bitmap = portable({1, row})

    with pytest.raises(BrokenDeletionVectorError, match="below"):
        deleted_rows(bitmap, vector(bitmap, 2), 10)


@pytest.mark.parametrize("row", [1 << 28, 1 << 32, (1 << 63) - 1])
def test_great_row_without_a_number_of_rows_is_refused_not_made_room_for(row):
    bitmap = portable({row})

    with pytest.raises(BrokenDeletionVectorError, match="below"):
        deleted_rows(bitmap, vector(bitmap, 1), None)


def test_row_beyond_what_is_read_is_not_called_damage():
    bitmap = portable({1 << 31})

    with pytest.raises(LargeDeletionVectorError, match=r"below 1073741824"):
        deleted_rows(bitmap, vector(bitmap, 1), 1 << 33)
    assert unreadable_vector("p", LargeDeletionVectorError("so")).severity is Severity.UNDECIDED


def test_row_of_a_bucket_behind_an_empty_one_is_judged_by_its_64_bits():
    empty = struct.pack("<I", 0) + bitmap32(set(), False)
    second = struct.pack("<I", 1) + bitmap32({5}, False)
    bitmap = struct.pack("<IQ", 1681511377, 2) + empty + second

    with pytest.raises(BrokenDeletionVectorError, match="below 0"):
        deleted_rows(bitmap, vector(bitmap, 1), 1 << 20)


def test_buckets_out_of_order_are_refused():
    bucket = struct.pack("<I", 0) + bitmap32({5}, False)
    bitmap = struct.pack("<IQ", 1681511377, 2) + bucket + bucket

    with pytest.raises(BrokenDeletionVectorError, match="out of order"):
        deleted_rows(bitmap, vector(bitmap, 1), 10)


def test_containers_out_of_order_are_refused():
    damaged = bytearray(bitmap32({5, 70_000}, False))
    damaged[8:10] = b"\x07\x00"

    with pytest.raises(BrokenBitmapError, match="out of order"):
        read_bitmap(bytes(damaged), 0, 1 << 20)


def test_runs_that_overlap_or_leave_their_container_are_refused():
    head = struct.pack("<IBHH", 12347, 1, 0, 9)
    for runs in ([5, 4, 7, 4], [65530, 9]):
        with pytest.raises(BrokenBitmapError, match="runs overlap"):
            read_bitmap(head + struct.pack(f"<{1 + len(runs)}H", len(runs) // 2, *runs), 0, 1 << 20)


samples = st.sampled_from(
    [
        portable(set(range(0, 400_000, 7)), with_runs=True),
        portable({3, 4, 7, 11, 18, 29}),
        portable(set(range(200_000)), with_runs=True),
        native({1, 2, 90_000}),
    ]
)


def decode_or_refuse(bitmap: bytes) -> None:
    for num_rows in (400_000, None):
        try:
            rows = deleted_rows(bitmap, vector(bitmap, 6), num_rows)
        except BrokenDeletionVectorError:
            continue
        assert rows.bit_count() == 6


@given(samples, st.data())
def test_truncated_bitmap_is_refused(bitmap, data):
    cut = bitmap[: data.draw(st.integers(0, len(bitmap) - 1))]

    with pytest.raises(BrokenDeletionVectorError):
        deleted_rows(cut, vector(cut, 1), 400_000)


@given(samples, st.data())
def test_corrupt_bitmap_is_refused_or_has_as_many_rows_as_said(bitmap, data):
    damaged = bytearray(bitmap)
    for at, byte in data.draw(
        st.lists(st.tuples(st.integers(0, min(len(bitmap), 60) - 1), st.integers(0, 255)), min_size=1, max_size=4)
    ):
        damaged[at] = byte

    decode_or_refuse(bytes(damaged))


@given(st.binary(max_size=200), st.sampled_from([b"", b"\xd1\xd3\x39\x64", b"\xd0\xd3\x39\x64", b"\x64\x39\xd3\xd0"]))
def test_random_bytes_are_refused_or_have_as_many_rows_as_said(noise, magic):
    decode_or_refuse(magic + noise)
