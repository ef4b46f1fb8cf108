"""Memory that the values in a table's files may take: a few bytes can stand for any number of values."""

from __future__ import annotations

#: Bytes that values may take at least, and that each byte of a file adds. Checkpoints of engines come to some 80
#: times their size, with Zstandard and statistics that differ little.
_LEAST = 1 << 28
_PER_BYTE = 128
_MIB = 1 << 20


class TooLargeError(Exception):
    """The values take more memory than the files that hold them may: these are large indeed, or made to be."""


class Budget:
    """Bytes that the values of a table's files may still take, counted as they become, not as they are stored.

    :param stored: size of the first file, in bytes
    """

    __slots__ = ("_left", "_limit")

    def __init__(self, stored: int = 0) -> None:
        self._left = self._limit = _LEAST
        self.add_file(stored)

    def add_file(self, stored: int) -> None:
        """Allow memory for the values of another file.

        :param stored: its size in bytes
        """
        self._limit += _PER_BYTE * stored
        self._left += _PER_BYTE * stored

    @property
    def left(self) -> int:
        """Bytes that may still be taken."""
        return self._left

    def take(self, size: int) -> None:
        """Take bytes, before they are allocated.

        :raises TooLargeError: if there are not so many left
        """
        if size > self._left:
            raise TooLargeError(
                f"its values need more than {self._limit // _MIB:,} MiB of memory, the limit for files of its size"
            )
        self._left -= size

    def give_back_to(self, left: int) -> None:
        """Give back all that was taken since ``left`` bytes were left."""
        self._left = max(left, self._left)
