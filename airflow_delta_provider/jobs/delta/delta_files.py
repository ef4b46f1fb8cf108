"""The data files of a Delta table, and the files of its deletion vectors."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import unquote

from airflow_delta_provider.domain.delta.deletion_vector import (
    BrokenDeletionVectorError,
    DeletionVector,
    bitmap_in_range,
    deleted_rows,
    inline_bitmap,
)
from airflow_delta_provider.domain.delta.file_path import is_absolute
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.tables.data_files import DataFiles, file_location


def file_uri(location: str, path: str) -> str:
    """Return the location of a file. Paths in the log are URI-encoded, and are decoded once."""
    decoded = unquote(path)
    return file_location(location, decoded) if is_absolute(path) else f"{location.rstrip('/')}/{decoded}"


class DeltaFiles(DataFiles):
    """The files of one table.

    :param location: the table's location as a URI
    """

    def uris(self, paths: Iterable[str]) -> list[str]:
        """Return the locations of files, given their paths in the log.

        :raises UnreadFileError: if the table must not use one of these places
        """
        return [self._storage.permitted(self._place(path)) for path in paths]

    def check_places(self, file: LiveFile) -> None:
        """Check that an engine without such a check may read a file and its deletion vector's file.

        :raises UnreadFileError: if one of them must not be read
        """
        paths = [file.path]
        with suppress(BrokenDeletionVectorError):
            if file.deletion_vector is not None and file.deletion_vector.file is not None:
                paths.append(file.deletion_vector.file)
        with suppress(MissingFileError):
            self.uris(paths)

    def _place(self, path: str) -> str:
        return file_uri(self._location, path)

    def deleted(self, file: LiveFile, rows: int | None) -> int:
        """Return the rows of a file that its deletion vector deletes, as a bit set.

        :param rows: number of rows of the file
        :raises MissingFileError: if the file of the deletion vector is missing
        :raises BrokenDeletionVectorError: if it is damaged
        :raises UnreadFileError: if its file cannot or must not be read
        """
        vector = file.deletion_vector
        return 0 if vector is None else deleted_rows(self._bitmap(vector), vector, rows)

    def _bitmap(self, vector: DeletionVector) -> bytes:
        path = vector.file
        if path is None:
            return inline_bitmap(vector)
        start, end = vector.byte_range
        return bitmap_in_range(self._storage.read_range(self._place(path), start, end), vector)
