"""A Paimon table: its files, and the port to the engine that proves facts about its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import DescribedFile
from airflow_delta_provider.domain.checks.row_tracking.id_sets import DriverLimits
from airflow_delta_provider.domain.paimon.index_manifest import IndexFile, deleted_rows
from airflow_delta_provider.domain.paimon.layout import DataLayout
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.schema import PaimonFormatError
from airflow_delta_provider.domain.paimon.table_history import TableHistory, Vector
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.paimon.metadata_source import MetadataSource
from airflow_delta_provider.jobs.process import Progress
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.local_storage import local_path
from airflow_delta_provider.jobs.tables.session import TableError, TableSession
from airflow_delta_provider.jobs.tables.table import DELTA, PAIMON, check_the_path, format_of
from airflow_delta_provider.jobs.tables.table_storage import DataFiles, TableStorage


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
        """Return a data file for readers of row ids. Its sequence number is used as the version of its commit.

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


@dataclass(frozen=True)
class PaimonTable:
    """A table that was found.

    :param location: location of the table, as a URI
    """

    name: TableName
    location: str
    source: MetadataSource


def open_paimon_table(session: TableSession, name: TableName) -> PaimonTable:
    """Find a table by its location, to read its files directly.

    :raises TableError: if there is no such table, or it is not a Paimon table
    """
    if name.location is None:
        raise TableError(
            requests.NO_SUCH_TABLE.found(
                "{name} is a name in a catalog, but source is 'native'.",
                remedy="Name the table by its path or URI, or use source 'catalog'.",
                name=name.text,
            )
        )
    location = session.storage.qualify(name.location).rstrip("/")
    session.check_reach(name, location)
    try:
        found = format_of(session.storage, location)
    except MissingFileError:
        raise TableError(
            requests.NO_SUCH_TABLE.found(
                "There is no table at {name}: no such directory.",
                remedy=check_the_path(session.storage, location),
                name=local_path(location) or name.text,
            )
        ) from None
    source = MetadataSource(session.files_of(location), location, session.codecs())
    if found != PAIMON and not source.snapshot_ids():
        what = f"is {'a' if found == DELTA else 'an'} {found} table, not" if found else "is not"
        how = "Check it with check-row-tracking." if found == DELTA else "Name the table's own directory."
        raise TableError(
            requests.NOT_PAIMON.found("{name} {what} an Apache Paimon table.", remedy=how, name=name.text, what=what)
        )
    return PaimonTable(replace(name, location=location), location, source)


#: Lowest and highest row id in a file, by the file's name.
Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class RowOptions:
    """The options of a check of rows.

    :param keys: columns that identify rows, by their names in the newest schema
    :param reassigned: severity of row ids that Paimon itself reassigned
    :param ranges: id ranges that an earlier check found; all other files are read
    :param limits: limits of comparisons in this process; beyond them, Spark compares
    :param on_vanished: called if files are missing that are not in the newest snapshot; may raise
    """

    keys: Sequence[str] = ()
    reassigned: Severity = Severity.WARNING
    ranges: Ranges = field(default_factory=dict)
    limits: DriverLimits = field(default_factory=DriverLimits)
    on_vanished: Callable[[], None] = lambda: None


@dataclass
class RowResult:
    """The result of the level of rows.

    :param ranges: lowest and highest id in live files, by file name, if known
    :param keeping: snapshots whose commits provably gave new ids only to new rows
    """

    findings: list[Finding] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    keeping: set[int] = field(default_factory=set)


class RowProofs(Protocol):
    """Reads rows, and proves facts that metadata cannot show."""

    def check_rows(
        self, name: str, location: str, history: TableHistory, options: RowOptions, progress: Progress
    ) -> RowResult:
        """Check the rows of a table by its files.

        :param name: name of the table, for messages
        :param location: location of the table, as a URI
        :raises PaimonFormatError: if an option of the newest schema has an invalid value
        """

    def check_by_catalog(
        self, name: TableName, options: PaimonCheckRowTrackingOptions, progress: Progress
    ) -> TableReport:
        """Check a table through its catalog.

        :raises TableError: if the job must not access it
        """
