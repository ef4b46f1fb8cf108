"""Reads footers and parts of data files, for tables of any format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError, footer_size, parse_footer
from airflow_delta_provider.domain.row_ids.row_file import RowFile
from airflow_delta_provider.jobs.storage.ranged_file import RangedFile
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

T = TypeVar("T")
S = TypeVar("S")

#: Bytes read at once from a file's end: enough for the footer of most files.
_TAIL = 32 * 1024
#: Number of concurrent reads over a network.
_THREADS = 32


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

    def footer(self, file: RowFile) -> Footer:
        """Return the footer of a data file.

        :raises MissingFileError: if there is no such file
        :raises FooterError: if it is not a Parquet file of the recorded size
        :raises UnreadFileError: if it cannot or must not be read
        """
        uri = self._place(file.path)
        tail = self._storage.read_range(uri, max(file.size - _TAIL, 0), file.size + self._beyond)
        expected = min(file.size, _TAIL)
        if len(tail) < expected:
            raise FooterError(f"it ends before the {file.size} bytes that are recorded of it")
        if len(tail) > expected:
            raise FooterError(f"it is longer than the {file.size} bytes recorded of it")
        size = footer_size(tail)
        if size > file.size:
            raise FooterError(f"its footer claims {size} bytes of a file of {file.size}")
        if size > len(tail):
            tail = self._storage.read_range(uri, file.size - size, file.size)
        footer = parse_footer(tail, self._last_footer)
        self._last_footer = footer  # any footer of the table works: only its schema may be shared
        return footer

    def map(self, function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
        """Call ``function`` for each item, and yield the results in order; concurrently if the table is not local."""
        if self._storage.is_local(self._location):
            yield from map(function, items)
            return
        with ThreadPoolExecutor(_THREADS) as pool:
            yield from pool.map(function, items)
