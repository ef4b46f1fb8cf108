"""The locations of a table's data files, and readers that need no Spark."""

from __future__ import annotations

from airflow_delta_provider.domain.paimon.deletion_vector import deleted_rows
from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.index_manifest import IndexFile
from airflow_delta_provider.domain.paimon.layout import DataLayout
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.table_history import Vector
from airflow_delta_provider.domain.row_ids.row_file import DescribedFile
from airflow_delta_provider.jobs.tables.data_files import DataFiles
from airflow_delta_provider.jobs.tables.table_storage import TableStorage


class TableFiles(DataFiles):
    """The files of one table.

    :param location: the table's location as a URI
    """

    _beyond = 1  # Spark takes the real size from a listing, and reads the footer at the real end

    def __init__(self, storage: TableStorage, location: str, layout: DataLayout) -> None:
        super().__init__(storage, location)
        self._layout = layout
        self._last_index: tuple[IndexFile, bytes] | None = None

    def row_file(self, file: DataFile) -> DescribedFile:
        """Return a data file for readers of row ids. Its sequence number stands for the commit's version.

        :raises PaimonFormatError: if its partition's directory cannot be determined
        """
        path = self._layout.data_file_path(file)
        return DescribedFile(path, file.size, file.first_row_id, file.max_sequence, file.row_count)

    def deleted_by(self, file: DataFile, vector: Vector | None) -> int:
        """Return the rows of a data file that a deletion vector deletes, as a bit set.

        :raises MissingFileError: if the index file is missing
        :raises PaimonFormatError: if the vector is damaged, or its location cannot be determined
        :raises UnreadFileError: if the index file cannot or must not be read
        """
        if vector is None:
            return 0
        return deleted_rows(self._index(vector.file), vector.range, file.row_count)

    def _index(self, file: IndexFile) -> bytes:
        if self._last_index is None or self._last_index[0] != file:
            path = self._layout.index_file_path(file)
            content = self._storage.read(self._place(path))
            if len(content) != file.size:
                raise PaimonFormatError(f"{path} has {len(content)} bytes, but its index manifest says {file.size}")
            self._last_index = file, content
        return self._last_index[1]
