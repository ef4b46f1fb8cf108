"""Reading parts of data files and of files of deletion vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.parse import unquote

from airflow_delta_provider.domain.delta.deletion_vector import (
    DeletionVector,
    bitmap_in_range,
    deleted_rows,
    inline_bitmap,
)
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError, footer_size, parse_footer
from airflow_delta_provider.jobs.storage.hadoop_storage import HadoopStorage
from airflow_delta_provider.jobs.storage.ranged_file import RangedFile

T = TypeVar("T")
S = TypeVar("S")

#: What is read of a file's end at once: enough for the footer of most files.
_TAIL = 32 * 1024
#: Reads under way at once, where they wait for a network.
_THREADS = 32


def file_uri(location: str, path: str) -> str:
    """Return where a file lies: paths in the log are URI-encoded, and relative unless they name a scheme."""
    decoded = unquote(path)
    return decoded if ":/" in path or path.startswith("/") else f"{location.rstrip('/')}/{decoded}"


class DataFiles:
    """The files of one table.

    :param location: the table's location as a URI
    """

    #: Bytes to look for behind a file's recorded end. Delta reads by the size that the log gives, whatever comes after.
    _beyond = 0

    def __init__(self, storage: HadoopStorage, location: str) -> None:
        self._storage = storage
        self._location = location
        self._last_footer: Footer | None = None

    def uri(self, file: LiveFile) -> str:
        """Return where a data file lies."""
        return file_uri(self._location, file.path)

    def open(self, file: LiveFile) -> RangedFile:
        """Return a data file to be read in parts; none of it is read yet."""
        return RangedFile(self._storage, self.uri(file), file.size)

    def footer(self, file: LiveFile) -> Footer:
        """Return the footer of a data file.

        :raises MissingFileError: if there is no such file
        :raises FooterError: if it is not a Parquet file of the size that the log says
        """
        uri = self.uri(file)
        tail = self._storage.read_range(uri, max(file.size - _TAIL, 0), file.size + self._beyond)
        expected = min(file.size, _TAIL)
        if len(tail) < expected:
            raise FooterError(f"it ends before the {file.size} bytes that are recorded of it")
        if len(tail) > expected:
            raise FooterError(f"it goes on behind the {file.size} bytes that are recorded of it")
        size = footer_size(tail)
        if size > file.size:
            raise FooterError(f"its footer claims {size} bytes of a file of {file.size}")
        if size > len(tail):
            tail = self._storage.read_range(uri, file.size - size, file.size)
        footer = parse_footer(tail, self._last_footer)
        self._last_footer = footer  # what other threads have put there meanwhile is theirs
        return footer

    def deleted(self, file: LiveFile, rows: int | None) -> int:
        """Return the rows of a file that its deletion vector deletes, as a bit set.

        :param rows: number of rows of the file
        :raises MissingFileError: if the file of the deletion vector is missing
        :raises BrokenDeletionVectorError: if it is damaged
        """
        vector = file.deletion_vector
        return 0 if vector is None else deleted_rows(self._bitmap(vector), vector, rows)

    def map(self, function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
        """Call ``function`` for each item, in order; many at once where the table is not on this machine."""
        if self._storage.is_local(self._location):
            yield from map(function, items)
            return
        with ThreadPoolExecutor(_THREADS) as pool:
            yield from pool.map(function, items)

    def _bitmap(self, vector: DeletionVector) -> bytes:
        path = vector.file
        if path is None:
            return inline_bitmap(vector)
        uri = file_uri(self._location, path)
        start, end = vector.byte_range
        return bitmap_in_range(self._storage.read_range(uri, start, end), vector)
