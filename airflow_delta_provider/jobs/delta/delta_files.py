"""The data files of a Delta table, and the files of its deletion vectors."""

from __future__ import annotations

from urllib.parse import unquote

from airflow_delta_provider.domain.delta.deletion_vector import (
    DeletionVector,
    bitmap_in_range,
    deleted_rows,
    inline_bitmap,
)
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.row_ids.row_file import RowFile
from airflow_delta_provider.jobs.tables.data_files import DataFiles


def file_uri(location: str, path: str) -> str:
    """Return where a file lies: paths in the log are URI-encoded, and relative unless they name a scheme."""
    decoded = unquote(path)
    return decoded if ":/" in path or path.startswith("/") else f"{location.rstrip('/')}/{decoded}"


class DeltaFiles(DataFiles):
    """The files of one table.

    :param location: the table's location as a URI
    """

    def uri(self, file: RowFile) -> str:
        """Return where a data file lies."""
        return file_uri(self._location, file.path)

    def deleted(self, file: LiveFile, rows: int | None) -> int:
        """Return the rows of a file that its deletion vector deletes, as a bit set.

        :param rows: number of rows of the file
        :raises MissingFileError: if the file of the deletion vector is missing
        :raises BrokenDeletionVectorError: if it is damaged
        """
        vector = file.deletion_vector
        return 0 if vector is None else deleted_rows(self._bitmap(vector), vector, rows)

    def _bitmap(self, vector: DeletionVector) -> bytes:
        path = vector.file
        if path is None:
            return inline_bitmap(vector)
        uri = file_uri(self._location, path)
        start, end = vector.byte_range
        return bitmap_in_range(self._storage.read_range(uri, start, end), vector)
