"""Reading footers and parts of data files, of tables of any format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError, footer_size, parse_footer
from airflow_delta_provider.domain.row_ids.row_file import RowFile
from airflow_delta_provider.jobs.storage.ranged_file import RangedFile
from airflow_delta_provider.jobs.storage.storage import Storage

T = TypeVar("T")
S = TypeVar("S")

#: What is read of a file's end at once: enough for the footer of most files.
_TAIL = 32 * 1024
#: Reads under way at once, where they wait for a network.
_THREADS = 32


def file_location(location: str, path: str) -> str:
    """Return where a file of the table at ``location`` lies; its path is relative to that, absolute or a URI."""
    return path if ":/" in path or path.startswith("/") else f"{location.rstrip('/')}/{path}"


class DataFiles:
    """The files of one table.

    :param location: the table's location as a URI
    """

    #: Bytes to look for after a file's recorded end; 0 where engines read by the recorded size.
    _beyond = 0

    def __init__(self, storage: Storage, location: str) -> None:
        self._storage = storage
        self._location = location
        self._last_footer: Footer | None = None

    def uri(self, file: RowFile) -> str:
        """Return where a data file lies."""
        return file_location(self._location, file.path)

    def open(self, file: RowFile) -> RangedFile:
        """Return a data file to be read in parts; none of it is read yet."""
        return RangedFile(self._storage, self.uri(file), file.size)

    def footer(self, file: RowFile) -> Footer:
        """Return the footer of a data file.

        :raises MissingFileError: if there is no such file
        :raises FooterError: if it is not a Parquet file of the recorded size
        """
        uri = self.uri(file)
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
        self._last_footer = footer  # any footer of the table will do: only its schema may be shared
        return footer

    def map(self, function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
        """Call ``function`` for each item, in order; many at once where the table is not on this machine."""
        if self._storage.is_local(self._location):
            yield from map(function, items)
            return
        with ThreadPoolExecutor(_THREADS) as pool:
            yield from pool.map(function, items)
