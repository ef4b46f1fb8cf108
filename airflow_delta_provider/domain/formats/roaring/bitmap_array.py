"""Sets of 64-bit numbers: 32-bit Roaring bitmaps, the buckets, by the upper 32 bits.

PROTOCOL.md of delta-io/delta, Deletion Vector Format; Apache Paimon also writes the portable format. A set is an int
used as a bit set.
"""

from __future__ import annotations

import struct

from airflow_delta_provider.domain.formats.roaring.bitmap import BrokenBitmapError, read_bitmap

#: The format of PROTOCOL.md.
_PORTABLE_MAGIC = struct.pack("<I", 1681511377)
#: Layouts of the number of buckets and of the value before each bucket, by the bytes of the magic. The first format is
#: the portable one; its value is the bucket's key. The others are RoaringBitmapArray's own, whose value is the bucket's
#: size. delta-io/delta reads that format little-endian. The inline example in PROTOCOL.md is an older, big-endian one,
#: although the text there says otherwise.
_FORMATS = {
    _PORTABLE_MAGIC: ("<Q", "<I"),
    struct.pack("<I", 1681511376): ("<I", "<I"),
    struct.pack(">I", 1681511376): (">I", ">I"),
}
_BUCKET_BITS = 32


def read_array(data: bytes, limit: int) -> int:
    """Read a set in any of its formats.

    The result never has more than ``limit`` bits.

    :param limit: upper limit, exclusive, of the numbers in the set
    :raises BrokenBitmapError: if the bytes are not such a set, end too early, or a number reaches the limit
    """
    try:
        return _read(data, limit)
    except struct.error:
        raise BrokenBitmapError("it ends too early") from None


def _read(data: bytes, limit: int) -> int:
    magic = data[:4]
    if magic not in _FORMATS:
        raise BrokenBitmapError("it does not begin as one of the known formats does")
    count_layout, head_layout = _FORMATS[magic]
    portable = magic == _PORTABLE_MAGIC
    (count,) = struct.unpack_from(count_layout, data, 4)
    position = 4 + struct.calcsize(count_layout)
    rows = 0
    following = 0
    for index in range(count):  # each bucket has bytes, so a false count ends with them
        (head,) = struct.unpack_from(head_layout, data, position)
        position += 4
        bucket = head if portable else index
        if bucket < following:
            raise BrokenBitmapError("its buckets are out of order")
        base = bucket << _BUCKET_BITS
        bitmap = read_bitmap(data, position, min(max(limit - base, 0), 1 << _BUCKET_BITS))
        if not portable and bitmap.end != position + head:
            raise BrokenBitmapError("one of its bitmaps does not have the size that it is said to have")
        if bitmap.bits:
            rows = rows | bitmap.bits << base if base else bitmap.bits
        position = bitmap.end
        following = bucket + 1
    return rows
