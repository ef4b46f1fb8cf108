"""What every storage can do, whichever way its files are reached."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime

from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


class Storage(ABC):
    """Lists, reads and writes files. Paths are URIs, as :meth:`qualify` returns them.

    What a storage could not do it is asked for again, twice, where another try may help. Every method raises
    MissingFileError if there is no such file or directory, and StorageError, or what the storage's library raises, if
    it cannot be done.
    """

    @abstractmethod
    def list_names(self, directory: str) -> list[str]:
        """Return the names of what lies directly in ``directory``."""

    @abstractmethod
    def list_folders(self, directory: str) -> list[str]:
        """Return the names of the directories that lie directly in ``directory``."""

    def list_from(self, directory: str, name: str) -> list[str]:
        """Return the names in ``directory`` that are ``name`` or sort after it, by one short listing where it can."""
        return [found for found in self.list_names(directory) if found >= name]

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return the content of a file."""

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of files of one storage, in order; of some that are not here, many are read at once."""
        return map(self.read, paths)

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of files as :meth:`read_ahead` does, and None for one that is not there."""
        for path in paths:
            content = None
            with suppress(MissingFileError):
                content = self.read(path)
            yield content

    @abstractmethod
    def size(self, path: str) -> int:
        """Return the size of a file, in bytes."""

    @abstractmethod
    def written_at(self, path: str) -> datetime:
        """Return when a file was last written, as the storage says, in UTC, to the millisecond."""

    @abstractmethod
    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from ``start`` to before ``end``, fewer where it ends before."""

    @abstractmethod
    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole, where the storage can: readers see the old one or the new one.

        Directories that are missing are made.
        """

    def read_stamped(self, path: str) -> tuple[bytes, str]:
        """Return the content of a file, and a stamp that changes when it is written; see :meth:`replace`."""
        content = self.read(path)
        return content, _digest(content)

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if nobody else did meanwhile, as far as the storage can tell, and return whether that was so.

        Where the storage has no writes under a condition, the file is looked at before: of two that do so within the
        same moment, the last one wins.

        :param stamp: of the content that is replaced; None if there must be no such file
        """
        now = None
        with suppress(MissingFileError):
            now = _digest(self.read(path))
        if now == stamp:
            self.write(path, content)
        return now == stamp

    def is_local(self, location: str) -> bool:  # noqa: ARG002  # most storages are elsewhere
        """Whether files of ``location`` are read without a network."""
        return False

    def permitted(self, uri: str) -> str:
        """Return the URI of a file that metadata names, if it may be read; the storage of a table knows which may."""
        return uri

    @abstractmethod
    def spellings(self, uri: str) -> set[str]:
        """Return the ways in which engines may write the URI of a file: encoded or not, with or without authority."""

    @abstractmethod
    def qualify(self, location: str) -> str:
        """Return the absolute URI of a location."""

    def real_location(self, location: str) -> str:
        """Return the absolute URI of where a location really lies, with links and mounts followed; of what is not
        there, as far as its path is."""
        return self.qualify(location)


def _digest(content: bytes) -> str:
    from hashlib import sha256  # late: it loads OpenSSL, and few files need a stamp

    return sha256(content).hexdigest()
