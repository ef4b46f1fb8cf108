"""A Python file object on a file of a table, for readers that need only parts of it."""

from __future__ import annotations

import io

from airflow_delta_provider.jobs.storage.storage import Storage


class RangedFile(io.RawIOBase):
    """Reads only the requested ranges of a file in storage.

    :param size: size of the file, in bytes
    """

    def __init__(self, storage: Storage, uri: str, size: int) -> None:
        self._storage = storage
        self._uri = uri
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer than ``size`` only at the file's end."""
        end = self._size if size < 0 else min(self._position + size, self._size)
        found = self._storage.read_range(self._uri, self._position, end) if self._position < end else b""
        self._position += len(found)
        return found
