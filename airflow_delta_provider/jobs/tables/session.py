"""The session of a job: the storage of its tables, its allowed locations, and the meaning of errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.table_name import (
    TableName,
    TableNameError,
    allowed_roots,
    check_found,
    check_outside_data,
    check_path,
    normal_location,
)
from airflow_delta_provider.jobs.process import Submitter
from airflow_delta_provider.jobs.storage.errors import EngineError, understand, unexpected
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.tables.table import SchemaListing, metadata_folder
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

if TYPE_CHECKING:
    from airflow_delta_provider.domain.formats.avro.file import Codec


#: Names of the options in Airflow, and on the command line.
_STATE_PATH, _FINDINGS_TABLE = "state_path (--state-path)", "findings_table (--findings-table)"


class AccessLimits:
    """The locations that the job of a request may access.

    :param allowed: entries of ``[delta_provider] allowed_locations``; empty allows all
    :param state_path: folder for the job's saved state
    :param findings_table: location of the table of findings
    """

    def __init__(
        self,
        storage: Storage,
        allowed: Sequence[str] = (),
        state_path: str | None = None,
        findings_table: str | None = None,
    ) -> None:
        self._storage = storage
        self._allowed = allowed
        self.limits = allowed, state_path, findings_table
        """The arguments after the storage: the same limits for another storage of the same files."""
        named = {_STATE_PATH: state_path, _FINDINGS_TABLE: findings_table}
        self._written = {argument: place for argument, place in named.items() if place is not None}

    @property
    def is_bounded(self) -> bool:
        """Return True if access is limited to allowed locations."""
        return bool(allowed_roots(self._allowed))

    def refusal(self, name: TableName, location: str) -> Finding | None:
        """Return the reason why a table, or a path of its request, must not be used; None if both may.

        :param location: location where the table was found
        """
        if self.is_bounded and (refusal := check_found(name, self._storage.real_location(location), self.roots)):
            return refusal
        if self.written_refusal is not None:
            return self.written_refusal
        refusals = (
            _itself(place, location)
            if argument == _FINDINGS_TABLE and _is_same(self._storage, place, location)
            else check_outside_data(argument, self._storage.qualify(place), location)
            for argument, place in self._written.items()
        )
        return next((refusal for refusal in refusals if refusal is not None), None)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The allowed locations, with links followed; empty if access is not limited."""
        return tuple(map(self._real_root, allowed_roots(self._allowed)))

    def _real_root(self, root: str) -> str:
        try:
            return self._storage.real_location(root)
        except Exception:  # this session has no driver for the storage, so none of its tables is accessed
            return root

    @cached_property
    def written_refusal(self) -> Finding | None:
        """The reason why state or findings must not be written where the request says; None if they may."""
        refusals = (self._refusal_of(argument, place) for argument, place in self._written.items())
        return next((refusal for refusal in refusals if refusal is not None), None)

    def _refusal_of(self, argument: str, place: str) -> Finding | None:
        path = self._storage.real_location(place)
        # Catalog prefixes alone leave no place for state. Locations are compared with links resolved.
        allowed = self.roots if self.is_bounded else self._allowed
        if refusal := check_path(argument, path, allowed):
            return refusal
        if found := metadata_folder(self._storage, path):
            folder, table_format = found
            return requests.LOCATION_NOT_ALLOWED.found(
                "{argument} is {place!r}, inside {folder}, which holds the metadata of an {format} table.",
                remedy="Choose a folder of its own.",
                argument=argument,
                place=place,
                folder=folder,
                format=table_format,
            )
        return None


def _is_same(storage: Storage, place: str, location: str) -> bool:
    return normal_location(storage.real_location(place)) == normal_location(storage.real_location(location))


def _itself(place: str, location: str) -> Finding:
    return requests.LOCATION_NOT_ALLOWED.found(
        "{argument} is {place!r}, which is the table {table} itself.",
        remedy="Leave this table out (exclude, --exclude), or name another table for the findings.",
        argument=_FINDINGS_TABLE,
        place=place,
        table=location,
    )


#: Number of files that make a log large in memory, and number of large logs read concurrently.
_LONG, _LONG_AT_ONCE = 2000, 4


class TableError(Exception):
    """A table that cannot be opened. Carries the refusal that explains why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def parse_table_name(text: str) -> TableName:
    """Return the parsed name of a table in a request.

    :raises TableError: if it is not a valid name
    """
    try:
        return TableName.parse(text)
    except TableNameError as error:
        raise TableError(requests.NO_SUCH_TABLE.found("{error}", error=Prose(error))) from error


class TableSession:
    """Reads the files of tables of any format. Only Spark's sessions have a catalog and read rows.

    :param submitter: the process that waits for the job; by default one that is always alive
    """

    runs_sql = False
    """True if it runs SQL, and so reads and changes rows."""
    tables_at_once = 16
    """Number of tables at a time: one may wait for its storage while another is checked."""

    def __init__(self, storage: Storage, submitter: Submitter | None = None) -> None:
        self.submitter = submitter or Submitter()
        self.storage = storage
        self.reach = AccessLimits(storage)
        self._long_logs = BoundedSemaphore(_LONG_AT_ONCE)

    @property
    def versions(self) -> Mapping[str, str | None]:
        """Versions of the engine, by name; None for an engine that is not available."""
        return {"spark": None, "delta": None}

    @property
    def has_ended(self) -> bool:
        """Return True if the session is unusable because the process behind it has ended."""
        return False

    def understand(self, error: Exception) -> EngineError:
        """Return the meaning of an error that occurred during work on a table."""
        return understand(error) or unexpected(error, str(error).strip())

    @contextmanager
    def room_for(self, log_files: int) -> Iterator[None]:
        """Wait until a log with this number of files may be held in memory along with other tables' logs."""
        with self._long_logs if log_files > _LONG else nullcontext():
            yield

    def working(self) -> AbstractContextManager[None]:
        """Hold the resources that a job needs while it runs."""
        return nullcontext()

    def check_reach(self, name: TableName, location: str) -> None:
        """Check that the job may access a table that was found, and the paths that its request names.

        :raises TableError: if it must not
        """
        if refusal := self.reach.refusal(name, location):
            raise TableError(refusal)

    def files_of(self, location: str) -> TableStorage:
        """Return a storage that reads only the files of the table at a location."""
        return TableStorage(self.storage, location, self.reach.roots, self.understand)

    def is_here(self, text: str) -> bool:
        """Return True if the name of a table is a path on this machine.

        :raises TableNameError: if it is not a valid name
        """
        location = TableName.parse(text).location
        return location is not None and self.storage.is_local(self.storage.qualify(location))

    def tables_in(self, schema: tuple[str, ...]) -> SchemaListing:
        """Return a catalog's listing of a schema.

        :raises TableError: if there is no catalog, or no such schema in it
        """
        raise TableError(_without_catalog(".".join(schema)))

    def locate(self, name: TableName) -> str:
        """Return a table's location in the catalog.

        :raises TableError: if there is no catalog, or no such table in it
        """
        raise TableError(_without_catalog(name.text))

    def codecs(self) -> Mapping[str, Codec]:
        """Return the decompressors for blocks of Avro files, by Avro's names."""
        # Imported late: Delta does not use Avro.
        from airflow_delta_provider.jobs.tables.codecs import codecs_of_packages

        return codecs_of_packages()


def _without_catalog(name: str) -> Finding:
    return requests.NO_SUCH_TABLE.found(
        "{name} is a name in a catalog, and there is no catalog without Spark.",
        remedy="Name the table by its path or URI, or use the engine spark.",
        name=name,
    )
