"""The deleted rows of data files, and the deletion vectors that cannot be read."""

from __future__ import annotations

from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.paimon.file_faults import FileFault, unread
from airflow_delta_provider.domain.paimon.format_error import LargeFileError, PaimonFormatError
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import TableHistory, Vector
from airflow_delta_provider.jobs.paimon.table_files import TableFiles
from airflow_delta_provider.jobs.storage.engine_error import UnreadFileError
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


class DeletedRows:
    """Reads deletion vectors of a history's snapshots.

    Files whose deleted rows cannot be determined are in :attr:`broken`: their rows must not be read.
    """

    def __init__(self, data: TableFiles, history: TableHistory) -> None:
        self._data = data
        self._history = history
        self.broken: set[FileKey] = set()
        self.faults: list[FileFault] = []

    def __call__(self, file: DataFile, vector: Vector | None) -> int:
        """Return the deleted rows of a file as a bit set; 0 if they cannot be determined."""
        try:
            return self._data.deleted_by(file, vector)
        except (MissingFileError, PaimonFormatError, UnreadFileError) as error:
            if file.key not in self.broken:
                self.broken.add(file.key)
                if isinstance(error, UnreadFileError):
                    says = f"its deletion vector is in a file that was not read: {error.problem}"
                    self.faults.append(unread(file, says, error.meaning.remedy))
                    return 0
                why = "there is no such file" if isinstance(error, MissingFileError) else str(error)
                name = vector.file.name if vector else file.name
                says = f"has deleted rows that are unknown: {name} with its deletion vector cannot be read: {why}."
                rule = rules.UNREAD if isinstance(error, LargeFileError) else rules.UNREADABLE
                self.faults.append(FileFault(rule, file, says, since=self._first_with(vector)))
            return 0

    def _first_with(self, vector: Vector | None) -> Snapshot | None:
        """Return the first snapshot with the index file of a deletion vector; None without a vector.

        If the start of the history has the file, this is the start's snapshot.
        """
        if vector is None or vector.file in self._history.start.index_files:
            return self._history.start.snapshot if vector else None
        return next((step.snapshot for step in self._history.steps if vector.file in step.index_files), None)
