"""The border of a table: the files that its metadata may name.

Paths in a log or a manifest are untrusted. If they were trusted, anybody who can write a table could make a job read
any file that the job's user can read. All files of a table are therefore read through its :class:`TableStorage`.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import NoReturn

from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import RowFile
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError, footer_size, parse_footer
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.table_name import is_below, normal_location
from airflow_delta_provider.jobs.storage.errors import EngineError, MissingFileError, UnreadFileError
from airflow_delta_provider.jobs.storage.local_storage import is_link, list_links, local_path
from airflow_delta_provider.jobs.storage.storage import RangedFile, S, Storage, T
from airflow_delta_provider.jobs.tables.table import is_table

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(/.*)", re.DOTALL)
_NORMAL = re.compile(r"([a-z][a-z0-9+.-]*://)([^/]*)(/.*)", re.DOTALL)
_FILE = "file://"
#: Linux folders with special files: processes with their secrets, devices without an end.
_SYSTEM = ("/proc", "/sys", "/dev")
#: Stores with case-sensitive bucket names.
_CASED = ("s3://", "gs://", "gcs://")
_REMEDY = (
    "If the table may use this place, as a shallow clone does, add it to [delta_provider] allowed_locations "
    "(--allowed-location), together with the table's own location."
)

Understands = Callable[[Exception], EngineError]


class TableStorage(Storage):
    """Reads the files of one table, and no others.

    A file may lie within the table, or within the allowed locations. If there are none, it may lie on the same store:
    in the same bucket or container, or on this machine within any table, because a shallow clone uses another table's
    data files. Links are followed first. Paths that lead outside, and errors that concern a single file, are raised
    as UnreadFileError.

    :param location: location of the table, as a URI
    :param roots: allowed locations, with links followed; empty means no limit
    :param understand: returns the meaning of an error
    """

    def __init__(self, storage: Storage, location: str, roots: Sequence[str], understand: Understands) -> None:
        self._storage = storage
        self._location = location.rstrip("/")
        self._below = f"{self._location}/"
        self._is_local = _is_local(self._location)
        self._roots = roots
        self._understand = understand
        self._folders: dict[str, str | None] = {}
        self._tables: dict[str, bool] = {}

    def permitted(self, uri: str) -> str:
        """Return the URI of a file, without ``..``, if it may be read.

        :raises MissingFileError: if no file can have such a name
        :raises UnreadFileError: if it leads outside
        """
        if "\0" in uri:
            raise MissingFileError(uri)
        if not uri.startswith(self._below) or "/." in uri or uri.find("//", len(self._below)) >= 0:
            uri = _normalized(uri)
        folder = self._location if uri == self._location else uri.rpartition("/")[0]
        if folder not in self._folders:
            self._folders[folder] = self._why_outside(folder, folder)
        why = self._folders[folder]
        if why is None and uri.startswith("file:") and is_link(uri):
            why = self._why_outside(uri, posixpath.dirname(self._storage.real_location(uri)))
        if why is not None:
            evidence = f"The path {uri} leads {why}."
            refused = EngineError(requests.LOCATION_NOT_ALLOWED, Verdict.REFUSED, "", evidence, _REMEDY)
            raise UnreadFileError(uri, refused, f"it leads {why}")
        return uri

    def _why_outside(self, location: str, folder: str) -> str | None:
        """Return a phrase for a location that leads outside; None if files there may be read, or cannot exist.

        :param folder: folder of the file, with links followed if the file is a link
        """
        if not _is_local(location):
            return self._why_elsewhere(location)
        if not self._is_local and not any(map(_is_local, self._roots)):
            return "to the machine of the job, while the table is on another store"
        real = self._storage.real_location(location)
        path = normal_location(real).removeprefix(_FILE)
        if self._is_local and is_below(real, self._real):
            return None
        for system in _SYSTEM:
            if is_below(path, system):  # names there differ between processes
                return f"into {system}, which belongs to the operating system"
        if self._roots:
            return None if any(is_below(real, root) for root in self._roots) else self._outside(path)
        if self._is_in_table(path) or not os.path.isdir(local_path(folder) or ""):
            return None  # without its folder, a file is missing, whatever else is on this machine
        return f"to {path}, outside the table and any other table"

    def _why_elsewhere(self, location: str) -> str | None:
        if is_below(location, self._location):
            return None
        if not self._roots:
            return None if _store(location) == _store(self._location) else "to another store than the table's"
        if not any(is_below(location, root) for root in self._roots):
            return self._outside(location)
        real = self._storage.real_location(location)
        return None if any(is_below(real, root) for root in self._roots) else self._outside(real)

    def _outside(self, place: str) -> str:
        return f"to {place}, outside the table and the allowed locations ({', '.join(self._roots)})"

    @cached_property
    def _real(self) -> str:
        return self._storage.real_location(self._location)

    def _is_in_table(self, path: str) -> bool:
        """Return True if a local folder lies within some table."""
        folder = ""
        for name in path.strip("/").split("/"):
            folder = f"{folder}/{name}"
            if folder not in self._tables:
                if not os.path.isdir(folder):
                    return False
                self._tables[folder] = is_table(self._storage, f"file:{folder}")
            if self._tables[folder]:
                return True
        return False

    def _fail(self, path: str, error: Exception) -> NoReturn:
        """Raise an error, as UnreadFileError if it concerns only this file."""
        if not isinstance(error, MissingFileError):
            meaning = self._understand(error)
            about_file = not meaning.retryable or meaning.of_disk or not path.startswith(self._below)
            if meaning.rule is faults.STORAGE and about_file:
                raise UnreadFileError(path, meaning) from error
        raise error

    def read(self, path: str) -> bytes:
        path = self.permitted(path)
        try:
            return self._storage.read(path)
        except Exception as error:
            self._fail(path, error)

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        return self._storage.read_ahead([self.permitted(path) for path in paths])

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        return self._storage.read_present([self.permitted(path) for path in paths])

    def read_range(self, path: str, start: int, end: int) -> bytes:
        path = self.permitted(path)
        try:
            return self._storage.read_range(path, start, end)
        except Exception as error:
            self._fail(path, error)

    def size(self, path: str) -> int:
        path = self.permitted(path)
        try:
            return self._storage.size(path)
        except Exception as error:
            self._fail(path, error)

    def written_at(self, path: str) -> datetime:
        return self._storage.written_at(self.permitted(path))

    def list_names(self, directory: str) -> list[str]:
        return self._storage.list_names(self.permitted(directory))

    def list_folders(self, directory: str) -> list[str]:
        return self._storage.list_folders(self.permitted(directory))

    def list_from(self, directory: str, name: str) -> list[str]:
        return self._storage.list_from(self.permitted(directory), name)

    def write(self, path: str, content: bytes) -> None:
        self._storage.write(self.permitted(path), content)

    def copy(self, path: str, target: str) -> None:
        self._storage.copy(self.permitted(path), self.permitted(target))

    def delete(self, path: str) -> None:
        self._storage.delete(self.permitted(path))

    def is_local(self, location: str) -> bool:
        return self._storage.is_local(location)

    def read_each(self, location: str, read: Callable[[S], T], items: Iterable[S]) -> Iterator[tuple[S, T]]:
        return self._storage.read_each(location, read, items)

    def closed_files(self, *folders: str) -> dict[str, UnreadFileError]:
        """Return the files in folders of the table that are links to places that must not be read.

        :param folders: folders below the table
        """
        found: dict[str, UnreadFileError] = {}
        for folder in folders if self._is_local else ():  # no other store has links
            with suppress(MissingFileError):
                for name in list_links(f"{self._below}{folder}"):
                    try:
                        self.permitted(f"{self._below}{folder}/{name}")
                    except UnreadFileError as error:
                        found[f"{folder}/{name}"] = error
        return found

    def spellings(self, uri: str) -> set[str]:
        return self._storage.spellings(uri)

    def qualify(self, location: str) -> str:
        return self._storage.qualify(location)

    def real_location(self, location: str) -> str:
        return self._storage.real_location(location)


def _is_local(location: str) -> bool:
    return normal_location(location).startswith(f"{_FILE}/")


def _normalized(uri: str) -> str:
    """Return a URI with its scheme in lower case, and without ``.`` and ``..``. Readers treat both alike."""
    match = _URI.fullmatch(uri)
    if match is None:
        return uri
    authority = "" if match[2] is None or (not match[2] and match[1].lower() == "file") else f"//{match[2]}"
    return f"{match[1].lower()}:{authority}{posixpath.normpath(re.sub('/+', '/', match[3]))}"


def _store(location: str) -> tuple[str, str]:
    """Return the scheme of a location, and its bucket, container or host."""
    match = _NORMAL.fullmatch(normal_location(location))
    if match is None:
        return location, ""
    scheme, authority = match[1], match[2]
    return scheme, authority if scheme in _CASED else authority.casefold()


#: Bytes read first from a file's end: enough for the footer of most files, and at most so many.
_TAIL, _MOST_TAIL = 1 << 15, 1 << 20


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_STORE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?")


def file_location(location: str, path: str) -> str:
    """Return the location of a file of the table at ``location``.

    :param path: relative to the table, absolute on the table's store (RFC 2396, 5.2), or a URI
    """
    if _SCHEME.match(path):
        return path
    if path.startswith("/") and (store := _STORE.match(location)):
        return f"{store[0]}{path}"
    return f"{location.rstrip('/')}/{path}"


class DataFiles:
    """The data files of one table.

    :param location: the table's location as a URI
    """

    #: Bytes to look for after a file's recorded end; 0 if engines rely on the recorded size.
    _beyond = 0

    def __init__(self, storage: TableStorage, location: str) -> None:
        self._storage = storage
        self._location = location
        self._last_footer: Footer | None = None
        self._tail = _TAIL

    def uri(self, file: RowFile) -> str:
        """Return the URI of a data file, for readers that do not read through the table's storage.

        :raises UnreadFileError: if the table must not use this place
        """
        return self._storage.permitted(self._place(file.path))

    def _place(self, path: str) -> str:
        return file_location(self._location, path)

    def open(self, file: RowFile) -> RangedFile:
        """Return a data file for reading in parts. Nothing is read yet.

        :raises UnreadFileError: if the table must not use this place
        """
        return RangedFile(self._storage, self.uri(file), file.size)

    def footer(self, file: RowFile, tail: bytes | Exception | None = None) -> Footer:
        """Return the footer of a data file.

        :param tail: result of :meth:`tail`, if it was called before
        :raises MissingFileError: if there is no such file
        :raises FooterError: if it is not a Parquet file of the recorded size
        :raises UnreadFileError: if it cannot or must not be read
        """
        tail = self.tail(file) if tail is None else tail
        if isinstance(tail, Exception):
            raise tail
        footer = parse_footer(tail, self._last_footer)
        self._last_footer = footer  # any footer of the table works: only its schema may be shared
        return footer

    def tail(self, file: RowFile) -> bytes | Exception:
        """Return a part of a data file that ends with its footer, or the error that :meth:`footer` raises."""
        try:
            return self._read_tail(file)
        except (MissingFileError, FooterError, UnreadFileError) as error:
            return error

    def _read_tail(self, file: RowFile) -> bytes:
        uri = self._place(file.path)
        expected = min(file.size, self._tail)
        tail = self._storage.read_range(uri, file.size - expected, file.size + self._beyond)
        if len(tail) < expected:
            raise FooterError(f"it ends before the {file.size} bytes that are recorded of it")
        if len(tail) > expected:
            raise FooterError(f"it is longer than the {file.size} bytes recorded of it")
        size = footer_size(tail)
        if size > file.size:
            raise FooterError(f"its footer claims {size} bytes of a file of {file.size}")
        if size > len(tail):
            tail = self._storage.read_range(uri, file.size - size, file.size)
            self._tail = max(self._tail, min(size + size // 4, _MOST_TAIL))  # the table's other footers are as long
        return tail

    def read_each(self, read: Callable[[S], T], items: Iterable[S]) -> Iterator[tuple[S, T]]:
        """Call a function for each item, and yield items with results in order; see :meth:`Storage.read_each`."""
        return self._storage.read_each(self._location, read, items)
