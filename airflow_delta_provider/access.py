"""Restriction of the locations that the tasks of a deployment, or of one of its teams, may access."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airflow_delta_provider.airflow_release import team_of
from airflow_delta_provider.configuration import allowed_locations
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.allowed_locations import (
    allowed_roots,
    check_location,
    check_outside_data,
    check_path,
    is_below,
)
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, normal_location
from airflow_delta_provider.exceptions import DeltaRequestError

_LOCAL = "file://"


@dataclass(frozen=True)
class Access:
    """The locations that tasks may access, from ``[delta_provider] allowed_locations``.

    They keep tasks away from unintended places: mistakes, and values from params, XCom or triggers. They cannot stop
    authors of DAGs, whose code runs in the same process.

    :param allowed: locations and catalog prefixes; empty for all
    """

    allowed: tuple[str, ...] = ()

    @classmethod
    def of(cls, context: Mapping[str, Any]) -> Access:
        """Return the locations for the task of a context: its team's, if teams have settings of their own."""
        return cls(allowed_locations(team_of(context)))

    def check_table(self, text: str, *, read_here: bool = False) -> None:
        """Check the name of a table.

        :param read_here: True if this process reads the table; symbolic links are then followed
        :raises DeltaRequestError: if it is not a name, or names a place that is not allowed
        """
        try:
            table = TableName.parse(text)
        except TableNameError as error:
            raise DeltaRequestError(str(error)) from error
        _refuse(check_location(table, self.allowed))
        if read_here and table.location is not None:
            _refuse(check_location(replace(table, location=real_location(table.location)), self._real))

    def check_path(self, argument: str, path: str, *, tables: Iterable[str] = (), used_here: bool = False) -> None:
        """Check a file or folder that an argument names, and that is read or written besides tables.

        If a job uses the path, the job checks it again, with links and mounts followed.

        :param tables: names of the task's tables; the path must not be among their data
        :param used_here: True if this process uses the path; symbolic links are then followed
        :raises DeltaRequestError: if it must not be used
        """
        _refuse(check_path(argument, path, self.allowed))
        for text in tables:
            table = TableName.parse(text)
            if table.location is not None and not table.may_be_pattern:
                _refuse(check_outside_data(argument, path, table.location))
        if used_here:
            _refuse(check_path(argument, real_location(path), self._real))

    def allows_file(self, file: Path, folders: Iterable[Path]) -> bool:
        """Return True if a local file, with links followed, is below one of ``folders`` or of the allowed locations."""
        roots = [*map(os.path.realpath, folders), *allowed_roots(self._real)]
        return any(is_below(os.path.realpath(file), str(root)) for root in roots)

    @property
    def _real(self) -> tuple[str, ...]:
        return tuple(map(real_location, self.allowed))


def real_location(location: str) -> str:
    """Return a location, or a catalog prefix, with local symbolic links followed."""
    if "/" not in location or location.startswith("`"):
        return location
    normal = normal_location(location)
    path = normal.removeprefix(_LOCAL)
    return _LOCAL + os.path.realpath(path) if path.startswith("/") else normal


def _refuse(refusal: Finding | None) -> None:
    if refusal is not None:
        raise DeltaRequestError(refusal.message)
