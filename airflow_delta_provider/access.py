"""What the tasks of a deployment, or of one of its teams, may reach; asked wherever an argument names a place."""

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
    """What tasks may reach, by ``[delta_provider] allowed_locations``.

    Keeps tasks from unintended places: mistakes, and values that come from params, XCom or triggers. It
    cannot keep out who writes DAGs: their code runs where this runs.

    :param allowed: locations and catalog prefixes; none means all
    """

    allowed: tuple[str, ...] = ()

    @classmethod
    def of(cls, context: Mapping[str, Any]) -> Access:
        """Return what the task of a context may reach: what its team may, where teams have settings of their own."""
        return cls(allowed_locations(team_of(context)))

    def check_table(self, text: str, *, read_here: bool = False) -> None:
        """Check the name of a table.

        :param read_here: whether this process is what reads it: then symbolic links are followed
        :raises DeltaRequestError: if it is not a name, or names what is not allowed
        """
        try:
            table = TableName.parse(text)
        except TableNameError as error:
            raise DeltaRequestError(str(error)) from error
        _refuse(check_location(table, self.allowed))
        if read_here and table.location is not None:
            _refuse(check_location(replace(table, location=real_location(table.location)), self._real))

    def check_path(self, argument: str, path: str, *, tables: Iterable[str] = (), used_here: bool = False) -> None:
        """Check a file or folder that an argument names and that is written to, or read, next to tables.

        Where a job uses the path, it checks once more, with links and mounts followed.

        :param tables: names of the tables of the task: the path must not lie among their data
        :param used_here: whether this process is what uses it: then symbolic links are followed
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
        """Whether a file of this machine, links followed, lies below one of ``folders`` or of the allowed locations."""
        roots = [*map(os.path.realpath, folders), *allowed_roots(self._real)]
        return any(is_below(os.path.realpath(file), str(root)) for root in roots)

    @property
    def _real(self) -> tuple[str, ...]:
        return tuple(map(real_location, self.allowed))


def real_location(location: str) -> str:
    """Return a location, or a catalog prefix, with the symbolic links of this machine followed."""
    if "/" not in location or location.startswith("`"):
        return location
    normal = normal_location(location)
    path = normal.removeprefix(_LOCAL)
    return _LOCAL + os.path.realpath(path) if path.startswith("/") else normal


def _refuse(refusal: Finding | None) -> None:
    if refusal is not None:
        raise DeltaRequestError(refusal.message)
