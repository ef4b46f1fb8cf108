"""Interface of all storages, and files that are read by ranges."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from airflow_delta_provider.jobs.storage.errors import MissingFileError

S = TypeVar("S")
T = TypeVar("T")


class Storage(ABC):
    """Lists, reads and writes files. Paths are URIs, as :meth:`qualify` returns them.

    A failed operation is tried twice more if that may help. Every method raises MissingFileError if there is no such
    file or directory. For other failures, it raises StorageError or an error of the storage's library.
    """

    @abstractmethod
    def list_names(self, directory: str) -> list[str]:
        """Return the names of the entries directly in ``directory``."""

    @abstractmethod
    def list_folders(self, directory: str) -> list[str]:
        """Return the names of the directories directly in ``directory``."""

    def list_from(self, directory: str, name: str) -> list[str]:
        """Return the names in ``directory`` that are ``name`` or sort after it, by one short listing if possible."""
        return [found for found in self.list_names(directory) if found >= name]

    @abstractmethod
    def read(self, path: str) -> bytes: ...

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of files of one storage, in order. Many remote files are read at once."""
        return map(self.read, paths)

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of files as :meth:`read_ahead` does, and None for a missing file."""
        for path in paths:
            content = None
            with suppress(MissingFileError):
                content = self.read(path)
            yield content

    def read_each(
        self,
        location: str,  # noqa: ARG002  # some storages serve several kinds
        read: Callable[[S], T],
        items: Iterable[S],
    ) -> Iterator[tuple[S, T]]:
        """Call a function that reads files of ``location`` for each item, and yield items with results in order.

        A storage with high latency calls it for many items at once, each in a thread.
        """
        return ((item, read(item)) for item in items)

    @abstractmethod
    def size(self, path: str) -> int:
        """Return the size of a file, in bytes."""

    @abstractmethod
    def written_at(self, path: str) -> datetime:
        """Return the storage's time of the last write to a file, in UTC, to the millisecond."""

    @abstractmethod
    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from ``start`` to before ``end``, fewer if the file ends earlier."""

    @abstractmethod
    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole if the storage can: readers see the old one or the new one.

        Missing directories are created.
        """

    def copy(self, path: str, target: str) -> None:
        """Copy a file of the same storage, and check the copy's size."""
        self.write(target, self.read(path))
        if self.size(target) != self.size(path):
            raise OSError(f"{target} is not a whole copy of {path}")

    def delete(self, path: str) -> None:
        """Delete a file."""
        raise NotImplementedError(f"{type(self).__name__} deletes no file")

    def read_stamped(self, path: str) -> tuple[bytes, str]:
        """Return the content of a file, and a stamp that changes when it is written; see :meth:`replace`."""
        content = self.read(path)
        return content, _digest(content)

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if nobody else wrote it meanwhile; return True if it was written.

        If the storage has no conditional writes, the file is read first. If two processes do that at the same moment,
        the last one wins.

        :param stamp: stamp of the content that is replaced; None if the file must not exist
        """
        now = None
        with suppress(MissingFileError):
            now = _digest(self.read(path))
        if now == stamp:
            self.write(path, content)
        return now == stamp

    def is_local(self, location: str) -> bool:  # noqa: ARG002  # most storages are elsewhere
        """Return True if files of ``location`` are read without a network."""
        return False

    def permitted(self, uri: str) -> str:
        """Return the URI of a file that metadata names, if it may be read. Only a table's storage restricts this."""
        return uri

    @abstractmethod
    def spellings(self, uri: str) -> set[str]:
        """Return the URIs that engines may write for a file: encoded or not, with or without authority."""

    @abstractmethod
    def qualify(self, location: str) -> str:
        """Return the absolute URI of a location."""

    def real_location(self, location: str) -> str:
        """Return the absolute URI of a location with links and mounts followed.

        If the location does not exist, the existing part of its path is followed.
        """
        return self.qualify(location)


def _digest(content: bytes) -> str:
    from hashlib import sha256  # imported late: it loads OpenSSL, and few files need a stamp

    return sha256(content).hexdigest()


#: Bytes of a block, number of blocks that are kept, and number that are read at once of a part that is read in order.
_BLOCK, _MOST_BLOCKS, _AT_ONCE = 1 << 20, 16, 4


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


class BlockFile(RangedFile):
    """Reads a file in blocks, and keeps the last ones. It can also be sliced, as bytes can.

    A reader of Parquet goes through many columns side by side, each in small steps. A part that is larger than a block
    is not kept.
    """

    def __init__(self, storage: Storage, uri: str, size: int) -> None:
        super().__init__(storage, uri, size)
        self._blocks: dict[int, bytes] = {}
        self.failure: Exception | None = None
        """The error of the storage that ended the last read: libraries may raise another one for it."""

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, end, _ = part.indices(self._size)
        if start >= end:
            return b""
        first, last = start // _BLOCK, (end - 1) // _BLOCK
        if end - start > _BLOCK and not all(number in self._blocks for number in range(first, last + 1)):
            return self._read(start, end)
        content = self._block(first) if first == last else b"".join(map(self._block, range(first, last + 1)))
        return content[start - first * _BLOCK : end - first * _BLOCK]

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._position + size, self._size)
        found = self[self._position : end]
        self._position += len(found)
        return found

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            last = (self._size - 1) // _BLOCK
            wanted = range(number, min(number + _AT_ONCE, last + 1) if number - 1 in self._blocks else number + 1)
            missing = [place for place in wanted if place not in self._blocks]
            for place, content in self._storage.read_each(self._uri, self._read_block, missing):
                if len(self._blocks) >= _MOST_BLOCKS:
                    del self._blocks[next(iter(self._blocks))]
                self._blocks[place] = content
        content = self._blocks.pop(number)
        self._blocks[number] = content  # as the last one that was used
        return content

    def _read_block(self, number: int) -> bytes:
        return self._read(number * _BLOCK, min((number + 1) * _BLOCK, self._size))

    def _read(self, start: int, end: int) -> bytes:
        try:
            content = self._storage.read_range(self._uri, start, end)
            if len(content) < end - start:
                raise MissingFileError(self._uri)  # it was replaced by a shorter one
        except Exception as error:
            self.failure = error
            raise
        return content
