from __future__ import annotations

import contextlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.paimon.index_manifest import VectorRange, deleted_rows
from airflow_delta_provider.domain.paimon.schema import PaimonFormatError
from tests.tables.paimon.vectors import index_file

_POSITIONS = st.sets(st.integers(0, 4000), max_size=50)


@given(st.dictionaries(st.text(min_size=1, max_size=5), _POSITIONS, min_size=1, max_size=4), st.sampled_from([32, 64]))
def test_every_vector_of_a_file_is_read_in_both_kinds_of_bitmap(deleted: dict[str, set[int]], bits: int) -> None:
    content, ranges = index_file(deleted, bits)

    for vector in ranges:
        assert deleted_rows(content, vector, 4001) == sum(1 << row for row in deleted[vector.data_file])


def test_a_vector_of_an_old_writer_says_no_number_of_rows() -> None:
    content, [vector] = index_file({"f": {1, 3}}, 32)

    assert deleted_rows(content, VectorRange("f", vector.offset, vector.length, None), 4) == 0b1010


@pytest.mark.parametrize("bits", [32, 64])
def test_a_vector_that_deletes_rows_that_the_file_has_not_says_so(bits: int) -> None:
    content, [vector] = index_file({"f": {1, 4}}, bits)

    with pytest.raises(PaimonFormatError, match="deletion vector of f is damaged: it has the number 4"):
        deleted_rows(content, vector, 4)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content, vector: (b"", vector), "it is empty"),
        (lambda content, vector: (b"\x02" + content[1:], vector), "does not begin with version 1"),
        (lambda content, vector: (content[:-1], vector), "ends before the deletion vector"),
        (lambda content, vector: (content, VectorRange("f", 10_000, vector.length, 2)), "ends before"),
        (lambda content, vector: (content, VectorRange("f", 0, vector.length, 2)), "manifest says|ends before"),
        (lambda content, vector: (content, VectorRange("f", 1, vector.length + 1, 2)), "manifest says"),
        (lambda content, vector: (content, VectorRange("f", 1, vector.length, 3)), "deletes 2 rows"),
        (lambda content, vector: (content[:-1] + bytes([content[-1] ^ 1]), vector), "not have its checksum"),
    ],
)  # fmt: skip
def test_a_damaged_file_says_why(bits: int, change, message: str) -> None:  # type: ignore[no-untyped-def]  # any callable
    content, [vector] = index_file({"f": {1, 3}}, bits)

    with pytest.raises(PaimonFormatError, match=message):
        deleted_rows(*change(content, vector), 100)


def test_a_bitmap_of_a_third_kind_is_refused() -> None:
    bitmap = struct.pack(">I", 17) + b"x"
    content = b"\x01" + struct.pack(">I", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))

    with pytest.raises(PaimonFormatError, match="does not begin as one of the known formats"):
        deleted_rows(content, VectorRange("f", 1, len(bitmap), None), 10)


@given(st.binary(max_size=60), st.integers(0, 70), st.integers(0, 70))
def test_any_bytes_are_rows_or_damage(content: bytes, offset: int, length: int) -> None:
    with contextlib.suppress(PaimonFormatError):
        deleted_rows(b"\x01" + content, VectorRange("f", offset, length, None), 1000)
