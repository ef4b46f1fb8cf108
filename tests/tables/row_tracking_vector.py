"""Deletion vectors that lie in the log itself, written from PROTOCOL.md and the RoaringFormatSpec."""

from __future__ import annotations

import struct
from collections.abc import Collection

from tests.tables.log import Action

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_MAGIC = 1681511377
_NO_RUNS = 12346


def inline(positions: Collection[int]) -> Action:
    """Return the descriptor of a vector that deletes ``positions``, all of them below 65,536."""
    rows = sorted(positions)
    array = struct.pack(f"<{len(rows)}H", *rows)
    header = struct.pack("<IIHHI", _NO_RUNS, 1, 0, len(rows) - 1, 16)
    bitmap = struct.pack("<iQI", _MAGIC, 1, 0) + header + array
    padded = bitmap + bytes(-len(bitmap) % 4)
    return {
        "storageType": "i",
        "pathOrInlineDv": _encode(padded),
        "sizeInBytes": len(bitmap),
        "cardinality": len(rows),
    }


def _encode(data: bytes) -> str:
    characters = []
    for (block,) in struct.iter_unpack(">I", data):
        characters += [_Z85[block // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(characters)
