"""The locations that a job may access, checked again with links, mounts and catalogs resolved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.allowed_locations import (
    allowed_roots,
    check_found,
    check_outside_data,
    check_path,
)
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.tables.table_formats import metadata_folder

#: Name of the option in Airflow, and on the command line.
_STATE_PATH = "state_path (--state-path)"


class Reach:
    """The locations that the job of a request may access.

    :param allowed: entries of ``[delta_provider] allowed_locations``; empty allows all
    :param state_path: folder for the job's saved state
    """

    def __init__(self, storage: Storage, allowed: Sequence[str] = (), state_path: str | None = None) -> None:
        self._storage = storage
        self._allowed = allowed
        self._state_path = state_path

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
        if self._state_path is None:
            return None
        return self._state_refusal or check_outside_data(_STATE_PATH, self._storage.qualify(self._state_path), location)

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
    def _state_refusal(self) -> Finding | None:
        """The reason why state must not be saved at the requested path; None if it may."""
        if self._state_path is None:
            return None
        path = self._storage.real_location(self._state_path)
        # Catalog prefixes alone leave no place for state. Locations are compared with links resolved.
        allowed = self.roots if self.is_bounded else self._allowed
        if refusal := check_path(_STATE_PATH, path, allowed):
            return refusal
        if found := metadata_folder(self._storage, path):
            folder, table_format = found
            return requests.LOCATION_NOT_ALLOWED.found(
                "{argument} is {place!r}, inside {folder}, which holds the metadata of an {format} table.",
                remedy="Choose a folder of its own.",
                argument=_STATE_PATH,
                place=self._state_path,
                folder=folder,
                format=table_format,
            )
        return None
