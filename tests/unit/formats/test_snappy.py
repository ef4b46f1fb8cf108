from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.formats.snappy import SnappyError, decompress, decompressed_size

TEXTS = st.lists(st.sampled_from([b"a", b"numRecords", b'{"minValues":{"id":1', b"\x00\xff" * 40]) | st.binary()).map(
    b"".join
)


def compressed(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="snappy", asbytes=True))


@given(TEXTS, st.integers(1, 300))
def test_what_was_compressed_comes_back(content, times):
    content *= times
    stream = compressed(content)

    assert decompressed_size(stream) == len(content)
    assert decompress(stream) == content


@pytest.mark.parametrize(
    ("stream", "content"),
    [
        (b"\x00", b""),
        (b"\x08" + bytes([3 << 2]) + b"abcd" + bytes([3 << 2 | 2]) + b"\x04\x00", b"abcdabcd"),
        (b"\x0b" + bytes([0]) + b"a" + bytes([9 << 2 | 3]) + b"\x01\x00\x00\x00", b"a" * 11),
        (b"\x07" + bytes([1 << 2]) + b"ab" + bytes([1 << 2 | 1]) + b"\x02", b"abababa"),
        (b"\x04" + bytes([60 << 2]) + b"\x03abcd", b"abcd"),
        (b"\x04" + bytes([63 << 2]) + b"\x03\x00\x00\x00abcd", b"abcd"),
    ],
    ids=["nothing", "copy", "far copy that overlaps", "near copy that overlaps", "long", "longest"],
)
def test_each_element_is_understood(stream, content):
    assert decompress(stream) == content


@pytest.mark.parametrize(
    "stream",
    [
        b"",
        b"\xff" * 5,
        b"\xff\xff\xff\xff\x0f" + b"\x00a",
        b"\x05\x00a",
        b"\x01\x04a",
        b"\x02\x04a",
        b"\x05\x00a" + bytes([3 << 2 | 2]) + b"\x02\x00",
        b"\x05\x00a" + bytes([3 << 2 | 2]) + b"\x00\x00",
        b"\x05\x00a" + bytes([3 << 2 | 2]) + b"\x01",
        b"\x05\x00a" + bytes([3 << 2 | 3]) + b"\x01\x00",
        b"\x05\x00a" + bytes([0 << 2 | 1]),
        b"\x05\x00a" + bytes([62 << 2]) + b"\x01",
    ],
)
def test_damage_is_an_error(stream):
    with pytest.raises(SnappyError):
        decompress(stream)


@given(TEXTS, st.data())
def test_damaged_bytes_are_an_error_or_other_content(content, data):
    stream = bytearray(compressed(content * 20))
    for _ in range(data.draw(st.integers(1, 3))):
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    with suppress(SnappyError):
        assert len(decompress(bytes(stream))) == decompressed_size(bytes(stream))
