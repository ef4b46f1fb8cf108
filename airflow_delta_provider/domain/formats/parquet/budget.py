"""What a file may come to in memory: few damaged bytes can say that they stand for any number of values."""

from __future__ import annotations

from airflow_delta_provider.domain.formats.parquet.parquet_error import TooLargeError

#: Bytes that the smallest file may come to, and that each byte of a larger one may add.
_LEAST = 1 << 29
_PER_BYTE = 64


class Budget:
    """Bytes that the rows of a file may still take.

    :param file_size: in bytes
    """

    __slots__ = ("_left",)

    def __init__(self, file_size: int) -> None:
        self._left = _LEAST + _PER_BYTE * file_size

    def take(self, size: int) -> None:
        """Take bytes, before they are allocated.

        :raises TooLargeError: if there are not so many left
        """
        self._left -= size
        if self._left < 0:
            raise TooLargeError("it comes to more than is read here of a file of its size")
