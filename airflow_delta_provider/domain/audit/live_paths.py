"""The paths of a table's live files in four bytes each: enough to know that a file is new."""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import is_odd, plain_path

#: Maximum number of paths to save, about 11 MB as text. If a table has more, its files are read again.
MOST = 2_000_000
_FOUR_BYTES = "I"


@dataclass(frozen=True)
class LivePaths:
    """Checksums of paths, ascending.

    About one in some thousand new paths is mistaken for a live one; never the reverse.
    """

    checksums: array[int]

    def and_also(self, paths: Iterable[str]) -> LivePaths | None:
        """Return these paths and others; None if there are too many."""
        found = array(
            _FOUR_BYTES, sorted([*self.checksums, *(_checksum(name) for path in paths for name in _names(path))])
        )
        return LivePaths(found) if len(found) <= MOST else None

    def may_have(self, path: str) -> bool:
        """Return True if a path, or another spelling of it, may be live; False is certain."""
        return any(self._may_have(_checksum(name)) for name in _names(path))

    def _may_have(self, checksum: int) -> bool:
        place = bisect_left(self.checksums, checksum)
        return place < len(self.checksums) and self.checksums[place] == checksum

    def to_json(self) -> str:
        """Return the wire form: the bytes of the checksums, least significant first, in Base64."""
        return b64encode(_little_endian(self.checksums).tobytes()).decode()

    @classmethod
    def from_json(cls, wire: str) -> LivePaths:
        """Read the wire form.

        :raises ValueError: if it is damaged
        """
        checksums = array(_FOUR_BYTES)
        checksums.frombytes(b64decode(wire, validate=True))
        return cls(_little_endian(checksums))


NO_PATHS = LivePaths(array(_FOUR_BYTES))


def _names(path: str) -> list[str]:
    """Return a path and its plain spelling, if that differs."""
    return [path, plain_path(path)] if is_odd(path) else [path]


def _checksum(path: str) -> int:
    return crc32(path.encode(errors="surrogatepass"))


def _little_endian(checksums: array[int]) -> array[int]:
    if sys.byteorder == "little":
        return checksums
    swapped = array(_FOUR_BYTES, checksums)
    swapped.byteswap()
    return swapped


#: Lower bounds of the bins of deleted rows, except the first bin, which has no deleted rows.
_DELETED = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 2_147_483_647)


class LiveCounts:
    """Running counts of the live files.

    :param files: files that are live now
    :param bounds: lower bound of each size bin, ascending from 0
    """

    def __init__(self, files: Iterable[LiveFile], bounds: tuple[int, ...]) -> None:
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
