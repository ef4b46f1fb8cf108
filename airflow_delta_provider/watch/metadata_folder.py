"""A folder of a table's metadata, reached through Airflow's object storage."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from inspect import signature
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_delta_provider.domain.table_name import TableName, TableNameError, normal_location
from airflow_delta_provider.exceptions import DeltaProviderError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class DeltaLogUnreadableError(DeltaProviderError):
    """Storage, connection or log stayed unreadable; another try of the task may succeed."""


class DeltaWatchImpossibleError(DeltaProviderError, AirflowFailException):
    """A package for reading the log is missing, or the log cannot give the answer; a retry does not help."""


class StorageSetupError(DeltaWatchImpossibleError):
    """A package for the storage or the checkpoint is not installed where the log is read."""


class CatalogManagedTableError(DeltaWatchImpossibleError):
    """The table must be read through its catalog: its directory does not hold all of its commits."""


class UnhealthyTableError(DeltaWatchImpossibleError):
    """An audit found broken rules or could not decide; the message names the findings."""


def newest_after(number: int, stamp_of: Callable[[int], str | None]) -> tuple[int, str | None]:
    """Return the newest number of an unbroken series, and its stamp.

    It needs one or two requests if little is new.

    :param number: a number that exists
    :param stamp_of: function that returns the state of a number's file, None if there is no file
    :return: ``number`` and None if nothing follows it
    """
    newest, stamp, step = number, None, 1
    while (found := stamp_of(newest + step)) is not None:
        newest, stamp, step = newest + step, found, step * 2
    missing = newest + step
    while missing - newest > 1:
        middle = (newest + missing) // 2
        found = stamp_of(middle)
        if found is None:
            missing = middle
        else:
            newest, stamp = middle, found
    return newest, stamp


#: The package that contains a scheme's filesystem.
PACKAGES = {
    "s3": "apache-airflow-providers-amazon[s3fs]",
    "abfss": "apache-airflow-providers-microsoft-azure",
    "adl": "apache-airflow-providers-microsoft-azure",
    "gs": "apache-airflow-providers-google",
}
#: Schemes that Airflow does not have, or has under another name.
_SCHEMES = {"wasbs": "abfss", "gcs": "gs"}
_AZURE = "abfss"


@dataclass(frozen=True)
class StorageAddress:
    """A directory in a store.

    :param scheme: scheme of Airflow's filesystem; ``file`` for local paths
    :param url: address of the directory for ``ObjectStoragePath``
    :param account: Azure storage account in the location, or None
    """

    scheme: str
    url: str
    account: str | None = None

    @classmethod
    def of(cls, table: str) -> StorageAddress:
        """Return the address of ``table``.

        ``s3a://``, ``s3n://`` and ``s3://`` are equal, as are ``abfs://`` and ``abfss://``. For
        ``abfss://container@account.dfs.core.windows.net/path``, the address contains only the container. The account
        belongs to the connection, and is kept here for a comparison with it.

        :raises TableNameError: for a catalog name, a relative path, or credentials in the URI
        """
        name = TableName.parse(table)
        if name.location is None:
            raise TableNameError(
                f"{table!r} is a catalog name; resolving it needs a JVM, and this sensor never starts one. Give "
                "the table's location, a path or a URI: DESCRIBE DETAIL shows it."
            )
        if "://" not in name.location and not name.location.startswith(("/", "file:/")):
            raise TableNameError(
                f"{table!r} is relative to the folder of the process that reads it. Give an absolute path or a URI."
            )
        scheme, _, rest = normal_location(name.location).partition("://")
        scheme = _SCHEMES.get(scheme, scheme)
        authority, slash, path = rest.partition("/")
        if scheme == "file":
            return cls(scheme, slash + path)
        user, at, host = authority.rpartition("@")
        if at and scheme == _AZURE:
            return cls(scheme, f"{scheme}://{user}{slash}{path}", host.partition(".")[0])
        if at:
            raise TableNameError(
                f"a table on {host!r} is named together with a user or a connection before the @. Leave that out of "
                "the location and name the connection by storage_conn_id."
            )
        return cls(scheme, f"{scheme}://{authority}{slash}{path}")

    @property
    def package(self) -> str | None:
        """The package that contains this store's filesystem, or None if unknown."""
        return PACKAGES.get(self.scheme)


def filesystem_of(address: StorageAddress, conn_id: str | None) -> AbstractFileSystem:
    """Return the filesystem of a location.

    :param conn_id: Airflow connection of the store; with None, credentials come from the environment
    :raises DeltaLogUnreadableError: if there is no such connection
    :raises StorageSetupError: if Airflow has no such filesystem here, or the connection is for another account
    """
    # These imports take seconds the first time, so they run here, in the reading thread.
    from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook

    try:
        if conn_id is not None:
            BaseHook.get_connection(conn_id)  # Amazon's filesystem falls back to no credentials at all
        filesystem = _filesystem(address.scheme, conn_id)
    except AirflowNotFoundException as error:
        raise DeltaLogUnreadableError(
            f"storage_conn_id {conn_id!r} does not exist. Create the connection, name another, or leave it "
            "out to take credentials from the environment."
        ) from error
    except (ImportError, ValueError) as error:
        package = f"Install {address.package}" if address.package else "Install the provider that brings one"
        raise StorageSetupError(
            f"Airflow has no filesystem for {address.scheme}:// where this runs: {error}. {package} on workers "
            "and triggerers, or name the table by a scheme that it has."
        ) from error
    connected = getattr(filesystem, "account_name", None)
    if address.account and connected and connected != address.account:
        raise StorageSetupError(
            f"the table lies in the storage account {address.account!r}, and connection {conn_id!r} "
            f"is of {connected!r}. Name the connection of that account by storage_conn_id."
        )
    return filesystem


def _filesystem(scheme: str, conn_id: str | None) -> AbstractFileSystem:
    """Return Airflow's filesystem for a scheme and a connection, and create it on first use."""
    from airflow.sdk.io import attach, get_fs

    store = attach(scheme, conn_id)
    if "fs" not in vars(store):
        # ``store.fs`` is a cached_property: before Python 3.12, a store that hangs in it would block all others.
        store.fs = get_fs(scheme, conn_id)
    return store.fs


#: Keys for the state of a file in a filesystem's listing; the first one present is used.
_STAMPS = ("ETag", "etag", "generation", "LastModified", "last_modified", "updated", "mtime", "created")
#: Maximum number of files to request at once, and the bytes above which fewer are requested.
_MOST_AT_ONCE, _MOST_BYTES = 64, 16 * 1024 * 1024
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
    of_small_files: Mapping[str, Any]
    """Options for reading a small file: by default, s3fs first requests its size."""


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
        directory = self._directory
        content: bytes = directory.filesystem.cat_file(self._checked(name), **directory.of_small_files)
        return content

    def read_ahead(self, names: Iterable[str]) -> Iterator[bytes]:
        """Yield the contents of files, in order. The store is asked for more and more of them at once.

        :raises FileNotFoundError: if one is missing, when it is its turn
        """
        left, wanted, read = iter(names), 1, 0
        while some := list(islice(left, wanted)):
            found: Iterable[Any] = map(self.read, some)
            if len(some) > 1 and self._address.scheme != _LOCAL:
                paths = list(map(self._path, some))
                directory = self._directory
                options = directory.of_small_files
                found = directory.filesystem.cat_ranges(paths, None, None, on_error="return", **options)
            size = 0
            for content in found:
                if isinstance(content, BaseException):
                    raise content
                size += len(content)
                yield content
            read += len(some)
            wanted = min(read, _MOST_AT_ONCE) if size < _MOST_BYTES else max(1, wanted // 2)

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
        read = getattr(filesystem, "_cat_file", None)
        in_one_request = read and "max_concurrency" in signature(read).parameters
        return _Directory(filesystem, directory.path, {"max_concurrency": 1} if in_one_request else {})


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
