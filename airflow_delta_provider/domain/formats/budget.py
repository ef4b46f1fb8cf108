"""Memory limit for the values in a table's files: a few bytes can expand to any number of values."""

from __future__ import annotations

#: Minimum limit in bytes, and the bytes that each byte of a file adds. Checkpoints of engines expand to about 80
#: times their size, with Zstandard and statistics that differ little.
_LEAST = 1 << 28
_PER_BYTE = 128
_MIB = 1 << 20


class TooLargeError(Exception):
    """Values that need more memory than their files allow: the files are very large, or crafted."""


class Budget:
    """The remaining memory for the values of a table's files, in bytes.

    Values count with their size in memory.

    :param stored: size of the first file, in bytes
    """

    __slots__ = ("_left", "_limit")

    def __init__(self, stored: int = 0) -> None:
        self._left = self._limit = _LEAST
        self.add_file(stored)

    def add_file(self, stored: int) -> None:
        """Add memory for the values of another file.

        :param stored: its size in bytes
        """
        self._limit += _PER_BYTE * stored
        self._left += _PER_BYTE * stored

    @property
    def left(self) -> int:
        """The remaining bytes."""
        return self._left

    def take(self, size: int) -> None:
        """Reserve bytes before they are allocated.

        :raises TooLargeError: if fewer bytes are left
        """
        if size > self._left:
            raise TooLargeError(
                f"its values need more than {self._limit // _MIB:,} MiB of memory, the limit for files of its size"
            )
        self._left -= size

    def give_back_to(self, left: int) -> None:
        """Return all bytes that were reserved since ``left`` bytes were left."""
        self._left = max(left, self._left)
