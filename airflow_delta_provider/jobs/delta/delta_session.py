"""Opens Delta tables by their location, from storage alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.log_files import has_log
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.log.checkpoint_files import CheckpointFiles
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.tables.table_formats import DELTA, PAIMON, format_of
from airflow_delta_provider.jobs.tables.table_session import TableError, TableSession, parse_table_name

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


class DeltaSession(TableSession):
    """A session that opens Delta tables."""

    def require_delta(self) -> None:
        """Check that an engine for changing Delta tables is available.

        :raises RuntimeError: if there is none; the message explains how to provide it
        """
        raise RuntimeError("Changing tables needs Spark with Delta Lake. Use the engine spark.")

    def open_log(self, location: str) -> TableLog:
        """Return the log of the table at a location. Nothing is read yet."""
        files = self.files_of(location)
        return TableLog(files, location, CheckpointFiles(files))

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
                "There is no table at {table}: no such directory.", remedy="Check the path.", table=text
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
