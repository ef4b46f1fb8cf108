"""What every storage can do, whichever way its files are reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol


class Storage(Protocol):
    """Lists, reads and writes files. Paths are URIs, as :meth:`qualify` returns them.

    What a storage could not do it is asked for again, twice, where another try may help.
    """

    def list_names(self, directory: str) -> list[str]:
        """Return the names of what lies directly in ``directory``.

        :raises MissingFileError: if there is no such directory
        """
        ...

    def list_folders(self, directory: str) -> list[str]:
        """Return the names of the directories that lie directly in ``directory``.

        :raises MissingFileError: if there is no such directory
        """
        ...

    def list_from(self, directory: str, name: str) -> list[str]:
        """Return the names in ``directory`` that are ``name`` or sort after it, by one short listing where it can.

        :raises MissingFileError: if there is no such directory
        """
        ...

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        :raises MissingFileError: if there is no such file
        """
        ...

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of files of one storage, in order; of some that are not here, many are read at once.

        :raises MissingFileError: if one of them is gone
        """
        ...

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of files as :meth:`read_ahead` does, and None for one that is not there."""
        ...

    def size(self, path: str) -> int:
        """Return the size of a file, in bytes.

        :raises MissingFileError: if there is no such file
        """
        ...

    def written_at(self, path: str) -> datetime:
        """Return when a file was last written, as the storage says, in UTC.

        :raises MissingFileError: if there is no such file
        """
        ...

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from ``start`` to before ``end``, fewer where it ends before.

        :raises MissingFileError: if there is no such file
        """
        ...

    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole; readers see the old one or the new one."""
        ...

    def read_stamped(self, path: str) -> tuple[bytes, str]:
        """Return the content of a file, and a stamp that changes when it is written; see :meth:`replace`.

        :raises MissingFileError: if there is no such file
        """
        ...

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if nobody else did meanwhile, as far as the storage can tell, and return whether that was so.

        :param stamp: of the content that is replaced; None if there must be no such file
        """
        ...

    def is_local(self, location: str) -> bool:
        """Whether files of ``location`` are read without a network."""
        ...

    def spellings(self, uri: str) -> set[str]:
        """Return the ways in which engines may write the URI of a file: encoded or not, with or without authority."""
        ...

    def qualify(self, location: str) -> str:
        """Return the absolute URI of a location."""
        ...

    def real_location(self, location: str) -> str:
        """Return the absolute URI of where a location really lies, with links and mounts followed; of what is not
        there, as far as its path is."""
        ...
