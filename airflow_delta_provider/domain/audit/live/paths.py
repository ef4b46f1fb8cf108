"""The paths of a table's live files in four bytes each: enough to know that a file is new."""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from airflow_delta_provider.domain.delta.file_path import is_odd, plain_path

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
