"""LZ4 against the library of that name: blocks, Hadoop's stream of blocks, and damaged bytes."""

from __future__ import annotations

import lz4.block
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.formats.lz4 import Lz4Error, decompress, decompress_hadoop

TEXTS = st.lists(
    st.sampled_from([b"a", b"numRecords", b'{"minValues":{"id":1', b"\x00\xff" * 40, bytes(range(256))]) | st.binary()
).map(b"".join)


def compressed(content: bytes, mode: str = "default") -> bytes:
    return bytes(lz4.block.compress(content, store_size=False, mode=mode))


def framed(*written: bytes, most: int = 1 << 18) -> bytes:
    """Return what Hadoop's codec makes of what is written at once, which it cuts into pieces."""
    stream = b""
    for content in written:
        stream += len(content).to_bytes(4, "big")
        for start in range(0, len(content), most):
            block = compressed(content[start : start + most])
            stream += len(block).to_bytes(4, "big") + block
    return stream


@given(TEXTS, st.integers(1, 300), st.sampled_from(["default", "high_compression"]))
def test_what_was_compressed_comes_back(content, times, mode):
    content *= times

    assert decompress(compressed(content, mode), len(content)) == content


@pytest.mark.parametrize(
    ("block", "content"),
    [
        (b"\x00", b""),
        (b"\x50hello", b"hello"),
        (b"\x11a\x01\x00\x50hello", b"a" * 6 + b"hello"),
        (b"\x20ab\x02\x00\x50hello", b"ababab" + b"hello"),
        (b"\x1fa\x01\x00\x02\x50hello", b"a" * 22 + b"hello"),
        (b"\xf0\x03" + b"x" * 18, b"x" * 18),
        (b"\xf0\xff\x01" + b"x" * 271, b"x" * 271),
    ],
    ids=["nothing", "literal", "overlapping match", "match", "long match", "long literal", "longer literal"],
)
def test_each_sequence_is_understood(block, content):
    assert decompress(block, len(content)) == content


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\x10",
        b"\x50hell",
        b"\xf0\xff",
        b"\x10a\x02\x00\x50hello",
        b"\x10a\x00\x00\x50hello",
        b"\x10a\x01",
        b"\x10a\x01\x00",
        b"\x1fa\x01\x00\xff",
        b"\xf0" + b"\xff" * 50 + b"\x00",
    ],
)
def test_damage_is_an_error(block):
    with pytest.raises(Lz4Error):
        decompress(block, 1000)


def test_block_that_stands_for_very_much_is_not_made():
    bomb = b"\x1fa\x01\x00" + b"\xff" * 1_000_000 + b"\x00\x50hello"

    with pytest.raises(Lz4Error, match="more than 1000 bytes"):
        decompress(bomb, 1000)


@given(TEXTS, st.data())
@settings(max_examples=300)
def test_of_damaged_bytes_no_more_is_read_than_the_library_reads(content, data):
    content *= 3
    block = bytearray(compressed(content))
    for _ in range(data.draw(st.integers(1, 3))):
        block[data.draw(st.integers(0, len(block) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(block)[: data.draw(st.integers(0, len(block)))]
    try:
        theirs = bytes(lz4.block.decompress(damaged, uncompressed_size=len(content)))
    except lz4.block.LZ4BlockError:
        theirs = None
    try:
        ours = decompress(damaged, len(content))
    except Lz4Error:
        ours = None
    # The library also holds writers to leave the last bytes uncompressed.
    assert ours == theirs or (theirs is None and ours is not None and len(ours) <= len(content))


@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(1, 60))
def test_stream_of_hadoop_is_read_in_whichever_pieces(written, most):
    stream, content = framed(*written, most=most), b"".join(written)

    assert decompress_hadoop(stream, len(content)) == content


@pytest.mark.parametrize(
    "stream", [b"\x00", framed(b"abc")[:-1], framed(b"abc")[:6], b"\x00\x00\x00\x03" + b"\x00" * 4]
)
def test_stream_that_ends_early_is_damage(stream):
    with pytest.raises(Lz4Error):
        decompress_hadoop(stream, 3)


def test_stream_that_says_it_is_longer_is_damage():
    with pytest.raises(Lz4Error, match="not to 3"):
        decompress_hadoop(framed(b"abcd"), 3)
