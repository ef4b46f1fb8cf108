"""The live files of a table in about 14 bytes each: enough to continue an audit without reading its log again."""

from __future__ import annotations

import sys
import zlib
from array import array
from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import sub
from typing import Any

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import is_odd, plain_path
from airflow_delta_provider.domain.delta.partial_files import UnlistedFiles

#: Maximum number of files to save, about 28 MB as text. If a table has more, its files are read again.
MOST = 2_000_000
_FOUR_BYTES = "I"
#: Bytes of a record: checksum of the path, digest of the file, and its number of rows plus one, or 0 if unknown.
_PATH, _DIGEST, _ROWS = 4, 6, 8
_RECORD = _PATH + _DIGEST + _ROWS


@dataclass(frozen=True)
class FileRecords:
    """Live files, as records in ascending order.

    A digest covers the values of an ``add`` that a ``remove`` repeats: path, size, row ids, deletion vector.
    """

    records: bytes

    def __len__(self) -> int:
        return len(self.records) // _RECORD

    def and_also(self, files: Iterable[LiveFile]) -> FileRecords | None:
        """Return these files and others; None if there are too many, or a number of rows is impossible."""
        try:
            found = sorted([*self._each(), *map(_record, files)])
        except OverflowError:
            return None
        return FileRecords(b"".join(found)) if len(found) <= MOST else None

    def without(self, files: Iterable[LiveFile]) -> FileRecords:
        """Return these files except some of them."""
        excluded = set(map(_record, files))
        return FileRecords(b"".join(record for record in self._each() if record not in excluded)) if excluded else self

    def find(self, file: LiveFile) -> LiveFile | None:
        """Return a file with its number of rows; None unless exactly one live file has the same values.

        :param file: values that a ``remove`` action repeats
        """
        wanted = _record(file)[:-_ROWS]
        known = [record for record in self._with_path(file.path) if record[:-_ROWS] == wanted]
        if len(known) != 1:
            return None
        rows = int.from_bytes(known[0][-_ROWS:], "big")
        return file._replace(num_records=rows - 1 if rows else None)

    def number_of(self, path: str) -> int:
        """Return the most files that may be live under a path, or another spelling of it; 0 is certain."""
        return sum(1 for _ in self._with_path(path))

    def _with_path(self, path: str) -> Iterator[bytes]:
        checksum = path_checksum(path).to_bytes(_PATH, "big")
        place = bisect_left(range(len(self)), checksum, key=lambda place: self._record_at(place)[:_PATH])
        while (record := self._record_at(place))[:_PATH] == checksum:
            yield record
            place += 1

    def _record_at(self, place: int) -> bytes:
        return self.records[place * _RECORD : (place + 1) * _RECORD]

    def _each(self) -> Iterator[bytes]:
        return map(self._record_at, range(len(self)))

    def to_json(self) -> str:
        """Return the wire form, in Base64: the digests, then compressed columns of the other bytes."""
        paths = array(_FOUR_BYTES, map(sub, self._checksums(), chain([0], self._checksums())))
        steps, records = _big_endian(paths).tobytes(), self.records
        columns = [steps[place::_PATH] for place in range(_PATH)]
        columns += [records[place::_RECORD] for place in range(_PATH + _DIGEST, _RECORD)]
        digests = bytearray(len(self) * _DIGEST)
        for place in range(_DIGEST):
            digests[place::_DIGEST] = records[_PATH + place :: _RECORD]
        return b64encode(bytes(digests) + zlib.compress(b"".join(columns))).decode()

    def _checksums(self) -> array[int]:
        content = bytearray(len(self) * _PATH)
        for place in range(_PATH):
            content[place::_PATH] = self.records[place::_RECORD]
        return _big_endian(array(_FOUR_BYTES, bytes(content)))

    @classmethod
    def from_json(cls, wire: str, number: int) -> FileRecords:
        """Read the wire form.

        :param number: number of files
        :raises ValueError: if it is damaged
        """
        content = b64decode(wire, validate=True)
        size = number * (_RECORD - _DIGEST)
        try:
            columns = zlib.decompressobj().decompress(content[number * _DIGEST :], size + 1)
        except zlib.error as error:
            raise ValueError(f"the live files cannot be decompressed: {error}") from error
        if len(columns) != size:
            raise ValueError(f"{number} live files need {size} bytes, not {len(columns)}")
        steps = bytearray(number * _PATH)
        for place in range(_PATH):
            steps[place::_PATH] = columns[place * number : (place + 1) * number]
        checksums = array(_FOUR_BYTES, accumulate(_big_endian(array(_FOUR_BYTES, bytes(steps)))))
        paths = _big_endian(checksums).tobytes()
        records = bytearray(number * _RECORD)
        for place in range(_PATH):
            records[place::_RECORD] = paths[place::_PATH]
        for place in range(_DIGEST):
            records[_PATH + place :: _RECORD] = content[place : number * _DIGEST : _DIGEST]
        for place in range(_PATH, _RECORD - _DIGEST):
            records[_DIGEST + place :: _RECORD] = columns[place * number : (place + 1) * number]
        return cls(bytes(records))


NO_FILES = FileRecords(b"")


def path_checksum(path: str) -> int:
    """Return the same number for all paths of one file relative to the table."""
    return zlib.crc32((plain_path(path) if is_odd(path) else path).encode(errors="surrogatepass"))


def _record(file: LiveFile) -> bytes:
    """Return the record of a file.

    :raises OverflowError: if its number of rows is impossible
    """
    from hashlib import blake2b  # late: it loads OpenSSL, and few audits keep records

    path, size, base, version, rows, vector, _ = file
    values = f"{size} {base} {version} {'' if vector is None else tuple(vector)!a} {path}"
    digest = blake2b(values.encode(errors="surrogatepass"), digest_size=_DIGEST).digest()
    if rows is not None and rows < 0:
        raise OverflowError("a number of rows is negative")
    number = 0 if rows is None else rows + 1
    return path_checksum(path).to_bytes(_PATH, "big") + digest + number.to_bytes(_ROWS, "big")


def _big_endian(numbers: array[int]) -> array[int]:
    """Convert numbers from the order of this machine, or back."""
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


#: Lower bounds of the bins of deleted rows, except the first bin, which has no deleted rows.
_DELETED = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 2_147_483_647)


class LiveCounts:
    """Running counts of the live files.

    :param files: files that are live now
    :param bounds: lower bound of each size bin, ascending from 0
    :param others: further files
    """

    def __init__(self, files: Iterable[LiveFile], bounds: tuple[int, ...], others: UnlistedFiles | None = None) -> None:
        self.bounds = bounds
        self.numbers = [0] * len(bounds)
        """Number of files per size bin."""
        self.bytes = [0] * len(bounds)
        """Total size in bytes per size bin."""
        self.deleted_counts = [0] * (len(_DELETED) + 1)
        """Number of files per bin of deleted rows."""
        self.vectors = 0
        """Number of files with deletion vectors."""
        self.deleted = 0
        """Number of rows that those delete."""
        self.take(files, 1)
        for size_bin, deleted_bin, (number, size, vectors, deleted) in (
            others.histogram(bounds, _DELETED) if others is not None and others.number else ()
        ):
            if bounds:
                self.numbers[size_bin] += number
                self.bytes[size_bin] += size
            self.deleted_counts[deleted_bin] += number
            self.vectors += vectors
            self.deleted += deleted

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiveCounts) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        return {
            "bounds": list(self.bounds),
            "numbers": self.numbers,
            "bytes": self.bytes,
            "deleted_counts": self.deleted_counts,
            "vectors": self.vectors,
            "deleted": self.deleted,
        }

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> LiveCounts:
        """Read saved counts.

        :raises ValueError: if they are damaged; KeyError and TypeError likewise
        """
        counts = cls((), tuple(map(int, wire["bounds"])))
        counts.numbers, counts.bytes = list(map(int, wire["numbers"])), list(map(int, wire["bytes"]))
        counts.deleted_counts = list(map(int, wire["deleted_counts"]))
        counts.vectors, counts.deleted = int(wire["vectors"]), int(wire["deleted"])
        sizes = len(counts.numbers), len(counts.bytes), len(counts.deleted_counts)
        if sizes != (len(counts.bounds), len(counts.bounds), len(_DELETED) + 1):
            raise ValueError(f"the counts of live files have {sizes} bins")
        return counts

    def take(self, files: Iterable[LiveFile], by: int) -> None:
        """Count files that were added or removed.

        :param by: 1 for added files, -1 for removed files
        """
        for file in files:
            if self.bounds:
                place = bisect_right(self.bounds, file.size) - 1
                self.numbers[place] += by
                self.bytes[place] += by * file.size
            vector = file.deletion_vector
            cardinality = 0 if vector is None else vector.cardinality
            self.deleted_counts[bisect_right(_DELETED, cardinality)] += by
            if vector is not None:
                self.vectors += by
                self.deleted += by * cardinality
