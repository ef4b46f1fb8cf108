"""Index files of deletion vectors, written from Paimon's specification and the RoaringFormatSpec."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Mapping

from airflow_delta_provider.domain.paimon.index_manifest import VectorRange

_NO_RUNS = 12346
_MAGIC_32, _MAGIC_64 = 1581511376, 1681511377


def index_file(deleted: Mapping[str, Collection[int]], bits: int) -> tuple[bytes, tuple[VectorRange, ...]]:
    """Return an index file and its ranges.

    :param deleted: positions by the data file's name, all of them below 65,536
    :param bits: 32 or 64, the kind of bitmap
    """
    content = b"\x01"
    ranges = []
    for name, positions in deleted.items():
        bitmap = _bitmap(positions, bits)
        framed = struct.pack(">I", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))
        length = len(bitmap) if bits == 32 else len(framed)
        ranges.append(VectorRange(name, len(content), length, len(set(positions))))
        content += framed
    return content, tuple(ranges)


def _bitmap(positions: Collection[int], bits: int) -> bytes:
    rows = sorted(set(positions))
    if rows:
        array = struct.pack(f"<{len(rows)}H", *rows)
        roaring = struct.pack("<IIHHI", _NO_RUNS, 1, 0, len(rows) - 1, 16) + array
    else:
        roaring = struct.pack("<II", _NO_RUNS, 0)
    return struct.pack(">I", _MAGIC_32) + roaring if bits == 32 else struct.pack("<IQI", _MAGIC_64, 1, 0) + roaring
