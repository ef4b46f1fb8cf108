"""Index files of deletion vectors, written from Paimon's specification and the RoaringFormatSpec."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Collection, Mapping

from airflow_delta_provider.domain.paimon.index_manifest import VectorRange, deleted_rows
from tests.tables.paimon.editing import EditedTable, Records

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


def reencode(table: EditedTable, change: Callable[[int, dict[str, list[int]]], None] = lambda *_: None) -> None:
    """Re-encode the deletion vectors of a table with 64 bits; the connector wrote them with 32.

    :param change: may change what a snapshot's index file deletes: positions by the data file's name
    """
    done: set[str] = set()
    for number in table.snapshot_ids():
        name = table.body(number).get("indexManifest")
        if name is None or name in done:
            continue
        done.add(name)

        def in_64_bits(records: Records, number: int = number) -> None:
            for record in records:
                path = table.root / "index" / record["_FILE_NAME"]
                ranges = record["_DELETIONS_VECTORS_RANGES"]
                deleted = {
                    found["f0"]: _positions(path.read_bytes(), VectorRange(found["f0"], found["f1"], found["f2"], None))
                    for found in ranges
                }
                change(number, deleted)
                content, encoded = index_file(deleted, 64)
                renamed = path.with_name(f"{path.name}-{number}")
                renamed.write_bytes(content)
                record |= {"_FILE_NAME": renamed.name, "_FILE_SIZE": len(content)}
                record["_DELETIONS_VECTORS_RANGES"] = [
                    {**old, "f1": new.offset, "f2": new.length, "_CARDINALITY": new.cardinality}
                    for old, new in zip(ranges, encoded)
                ]

        table.records(name, in_64_bits)


def _positions(content: bytes, vector: VectorRange) -> list[int]:
    bits = deleted_rows(content, vector, 1 << 16)
    return [position for position in range(bits.bit_length()) if bits >> position & 1]


def _bitmap(positions: Collection[int], bits: int) -> bytes:
    rows = sorted(set(positions))
    if rows:
        array = struct.pack(f"<{len(rows)}H", *rows)
        roaring = struct.pack("<IIHHI", _NO_RUNS, 1, 0, len(rows) - 1, 16) + array
    else:
        roaring = struct.pack("<II", _NO_RUNS, 0)
    return struct.pack(">I", _MAGIC_32) + roaring if bits == 32 else struct.pack("<IQI", _MAGIC_64, 1, 0) + roaring
