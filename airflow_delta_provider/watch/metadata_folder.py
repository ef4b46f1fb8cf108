"""A folder of a table's metadata, reached through Airflow's object storage."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from airflow_delta_provider.watch.airflow_filesystem import filesystem_of
from airflow_delta_provider.watch.storage_address import StorageAddress

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

#: Keys for the state of a file in a filesystem's listing; the first one present is used.
_STAMPS = ("ETag", "etag", "generation", "LastModified", "last_modified", "updated", "mtime", "created")
#: The scheme of files of this machine.
_LOCAL = "file"
#: Keys for the time when a file was written.
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")


@dataclass(frozen=True)
class FileState:
    """A file, as the store describes it.

    :param stamp: string that changes when the file is rewritten
    :param written: time of writing, in seconds since the epoch; None if the store does not say
    """

    stamp: str
    written: float | None


@dataclass(frozen=True)
class _Directory:
    filesystem: AbstractFileSystem
    path: str


class MetadataFolder:
    """Lists and reads the files of a folder.

    It does not access the store before the first call; every call blocks. Not thread-safe.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store; with None, credentials come from the environment
    :param folder: name of the folder, below the table
    """

    def __init__(self, table: str, storage_conn_id: str | None, folder: str) -> None:
        self._folder = folder
        self._address = StorageAddress.of(table)
        self._conn_id = storage_conn_id
        self._opened: _Directory | None = None

    @property
    def key(self) -> Hashable:
        """A key that is equal for the same folder with the same connection."""
        return self._address, self._folder, self._conn_id

    def names(self) -> list[str]:
        """List the names of files and directories in the folder, bypassing the filesystem's cache.

        :raises FileNotFoundError: if there is no such directory
        """
        directory = self._directory
        directory.filesystem.invalidate_cache(directory.path)
        self._check_within(directory.path)
        # Without details: on a local disk, details of 20,000 commits take four times as long as names.
        return [path.rsplit("/", 1)[-1] for path in directory.filesystem.ls(directory.path, detail=False)]

    def stamp(self, name: str) -> str | None:
        """Return a string that changes when a file is rewritten; None if there is no file.

        Bypasses the cache.
        """
        state = self.state(name)
        return None if state is None else state.stamp

    def state(self, name: str) -> FileState | None:
        """Return the state of a file, bypassing the filesystem's cache; None if there is no file.

        A listing may be older than the file, so this requests only the file.
        """
        directory = self._directory
        directory.filesystem.invalidate_cache(directory.path)
        try:
            entry = directory.filesystem.info(self._path(name))
        except FileNotFoundError:
            return None
        return FileState(_stamp(entry), next(filter(None, map(_seconds, map(entry.get, _TIMES))), None))

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        :raises FileNotFoundError: if there is none
        """
        content: bytes = self._directory.filesystem.cat_file(self._checked(name))
        return content

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading in parts.

        :raises FileNotFoundError: if there is none
        """
        opened: AbstractContextManager[BinaryIO] = self._directory.filesystem.open(self._checked(name), "rb")
        return opened

    def _checked(self, name: str) -> str:
        """Return the path of a file that may be read.

        :raises OSError: if it is a local file that leads outside the table, or is a pipe or a device
        """
        path = self._path(name)
        if self._address.scheme == _LOCAL:
            self._check_within(path)
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise OSError(errno.ENOTSUP, "Not a regular file", path)
        return path

    def _check_within(self, path: str) -> None:
        """Check that no link leads outside the table: its files are written by others."""
        if self._address.scheme != _LOCAL:
            return
        table, real = (os.path.realpath(place) for place in (os.path.dirname(self._directory.path), path))
        if not real.startswith(f"{table.rstrip('/')}/"):
            raise OSError(errno.EPERM, f"A link leads to {real}, outside the table", path)

    def _path(self, name: str) -> str:
        return f"{self._directory.path.rstrip('/')}/{name}"

    @property
    def _directory(self) -> _Directory:
        # Not a cached_property: before Python 3.12, that admits only one thread at a time for all logs.
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> _Directory:
        filesystem = filesystem_of(self._address, self._conn_id)
        from airflow.providers.common.compat.sdk import ObjectStoragePath

        directory = ObjectStoragePath(self._address.url, conn_id=self._conn_id) / self._folder
        return _Directory(filesystem, directory.path)


def _seconds(time: Any) -> float | None:
    """Return a filesystem's time in seconds since the epoch, whatever its type; None if it is not a time."""
    if isinstance(time, str):
        with contextlib.suppress(ValueError):
            time = datetime.fromisoformat(time.replace("Z", "+00:00"))
    if isinstance(time, datetime):
        return time.timestamp()
    return float(time) if isinstance(time, int | float) else None


def _stamp(entry: Mapping[str, Any]) -> str:
    with contextlib.suppress(StopIteration):
        return f"{entry.get('size')} {next(entry[key] for key in _STAMPS if entry.get(key))}"
    return str(entry.get("size"))
