"""Opens Delta tables by their location, from storage alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.deletion_vector import (
    BrokenDeletionVectorError,
    DeletionVector,
    bitmap_in_range,
    check_file_version,
    deleted_rows,
    inline_bitmap,
)
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import has_log, is_absolute
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.delta.checkpoint_files import CheckpointFiles, LargeReader
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, Submitter
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.local_storage import local_path
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.storage.storages import Storages
from airflow_delta_provider.jobs.tables.session import TableError, TableSession, parse_table_name
from airflow_delta_provider.jobs.tables.table import DELTA, PAIMON, check_the_path, format_of
from airflow_delta_provider.jobs.tables.table_storage import DataFiles, TableStorage, file_location

if TYPE_CHECKING:
    from airflow_delta_provider.domain.request.job_request import JobRequest


def file_uri(location: str, path: str) -> str:
    """Return the location of a file. Paths in the log are URI-encoded, and are decoded once."""
    decoded = unquote(path)
    return file_location(location, decoded) if is_absolute(path) else f"{location.rstrip('/')}/{decoded}"


class DeltaFiles(DataFiles):
    """The files of one table.

    :param location: the table's location as a URI
    """

    def __init__(self, storage: TableStorage, location: str) -> None:
        super().__init__(storage, location)
        self._of_known_version: set[str] = set()
        """Files of deletion vectors whose format version was checked."""

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
        uri, skipped = self._place(path), start
        if start == 1:
            skipped = 0  # one request for the version and the vector
        elif start and uri not in self._of_known_version:
            check_file_version(self._storage.read_range(uri, 0, 1))
            self._of_known_version.add(uri)
        content = self._storage.read_range(uri, skipped, end)
        if skipped < start:
            check_file_version(content)
        return bitmap_in_range(content[start - skipped :], vector)


#: Remedies for tables of other formats.
_OF_OTHER_FORMATS = {
    PAIMON: "Name a Delta table. Row tracking of this one is checked by PaimonCheckRowTrackingOperator, on the command "
    "line by check-paimon-row-tracking.",
}


@dataclass(frozen=True)
class OpenTable:
    """A table that was found.

    :param location: location of the table, as a URI
    :param log_names: names of the files in the log when the table was opened
    """

    name: TableName
    location: str
    log: TableLog
    log_names: Sequence[str] = ()


class TableTasks(Protocol):
    """The tasks of an engine that run a request for many tables."""

    def report(self, text: str) -> TableReport | None:
        """Wait for the report of a table; None if this process runs the request for it."""


class DeltaSession(TableSession):
    """A session that opens Delta tables.

    :param delta_options: returns the options with which the package ``deltalake`` reaches a location's store
    """

    #: Opens checkpoints that are too large for this process; None if no engine can.
    large: LargeReader | None = None

    def __init__(
        self,
        storage: Storage,
        submitter: Submitter | None = None,
        delta_options: Callable[[str], Mapping[str, str]] = lambda _: {},
    ) -> None:
        super().__init__(storage, submitter)
        self.delta_options = delta_options

    def require_delta(self) -> None:
        """Check that an engine for changing Delta tables is available.

        :raises RuntimeError: if there is none; the message explains how to provide it
        """
        raise RuntimeError("Changing tables needs Spark with Delta Lake. Use the engine spark.")

    def in_tasks(
        self,
        request: JobRequest,  # noqa: ARG002  # only engines have tasks
        tables: Sequence[str],  # noqa: ARG002
        progress: Progress,  # noqa: ARG002
    ) -> AbstractContextManager[TableTasks | None]:
        """Return the tasks of an engine that run a request; None if this process runs it.

        :param tables: names of tables, without patterns
        """
        return nullcontext()

    def open_log(self, location: str) -> TableLog:
        """Return the log of the table at a location. Nothing is read yet."""
        files = self.files_of(location)
        return TableLog(files, location, CheckpointFiles(files, self.large))

    def data_files(self, location: str) -> DeltaFiles:
        """Return the data files of the table at a location. Nothing is read yet."""
        return DeltaFiles(self.files_of(location), location)

    def open_table(self, text: str) -> OpenTable:
        """Find a table by its name.

        :raises TableError: if it does not exist, or is not a Delta table
        """
        name = parse_table_name(text)
        if name.location is None:
            location = self.locate(name)
        else:
            location = self.storage.qualify(name.location)
            name = replace(name, location=location)  # SQL needs absolute paths
        self.check_reach(name, location)
        log = self.open_log(location)
        try:
            names = log.list_names()
        except MissingFileError:
            names = []
        if not has_log(names):
            raise TableError(self._why_not_delta(name, location)) from None
        return OpenTable(name, location, log, names)

    def _why_not_delta(self, name: TableName, location: str) -> Finding:
        text = name.text
        try:
            found = format_of(self.storage, location)
        except MissingFileError:
            if name.identifier is not None:
                return requests.NO_SUCH_TABLE.found(
                    "The catalog has {table} at {location}, and there is no such directory.",
                    remedy="Restore the directory, correct the table's location in the catalog, or drop it there.",
                    table=text,
                    location=location,
                )
            return requests.NO_SUCH_TABLE.found(
                "There is no table at {table}: no such directory.",
                remedy=check_the_path(self.storage, location),
                table=local_path(location) or text,
            )
        if found not in (None, DELTA):
            return requests.NOT_DELTA.found(
                "{table} is an {format} table, not a Delta table.",
                remedy=_OF_OTHER_FORMATS.get(found, "Name a Delta table: this job accepts no other."),
                table=text,
                format=found,
            )
        if "_delta_log" in self.storage.list_names(location):
            return requests.NOT_DELTA.found(
                "{table} has a _delta_log, and no commit or checkpoint is left in {location}/_delta_log.",
                remedy="Restore the log from a backup, or make the table again over its data files.",
                table=text,
                location=location,
            )
        return requests.NOT_DELTA.found(
            "{table} is not a Delta table: there is no commit in {location}/_delta_log.",
            remedy="Name the table's own directory, not one above or below it.",
            table=text,
            location=location,
        )


def python_session(
    storage: Storage | None = None, delta_options: Callable[[str], Mapping[str, str]] | None = None
) -> DeltaSession:
    """Return a session that reads files itself.

    :param storage: storage of the tables; default: local files and object stores
    :param delta_options: see :class:`DeltaSession`; default: the options of ``storage``
    """
    if storage is None or isinstance(storage, Storages):
        storages = storage or Storages()
        return DeltaSession(storages, delta_options=delta_options or storages.delta_options)
    return DeltaSession(storage, delta_options=delta_options or (lambda _: {}))
