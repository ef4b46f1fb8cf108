"""The provider's section of Airflow's configuration: ``[delta_provider]``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import conf

from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.table_name import (
    TableName,
    TableNameError,
    allowed_roots,
    check_location,
    check_outside_data,
    check_path,
    is_below,
    normal_location,
)
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.version_compat import team_of

SECTION = "delta_provider"
#: Schemes of remote logs in object storage; other remote logs are streams of a service.
_LOG_STORES = ("s3", "gs", "oss", "hdfs", "file")


def allowed_locations(team: str | None = None) -> tuple[str, ...]:
    """Return the locations and catalog prefixes that tasks may access; empty for all.

    :param team: team whose setting is used if it has one: ``[TEAM=delta_provider]`` in the file, and
        ``AIRFLOW__TEAM___DELTA_PROVIDER__ALLOWED_LOCATIONS`` in the environment; otherwise the setting of all teams
    """
    return tuple(entry.strip() for entry in _of_team("allowed_locations", team).split(",") if entry.strip())


def report_folders(team: str | None = None) -> tuple[str, ...]:
    """Return the folders for reports if the task sets none; the first writable folder is used.

    The folder is ``report_path`` if that is set. Otherwise, with remote logging to object storage, the first is a
    folder next to the logs, with their connection. The last is a folder next to the worker's own logs, which other
    workers may not see.

    :param team: team whose ``report_path`` is used if it has one
    """
    if configured := _of_team("report_path", team):
        return (configured,)
    folders = [conf.get("logging", "base_log_folder", fallback="")]
    if conf.getboolean("logging", "remote_logging", fallback=False):
        scheme, _, rest = (conf.get("logging", "remote_base_log_folder", fallback="") or "").partition("://")
        connection = conf.get("logging", "remote_log_conn_id", fallback="") or ""
        if scheme in _LOG_STORES:
            folders.insert(0, f"{scheme}://{connection}{'@' if connection else ''}{rest}")
    return tuple(f"{folder.rstrip('/')}/delta_reports" for folder in folders if folder)


def result_path(team: str | None = None) -> str:
    """Return the folder for the reports of drivers on a cluster; empty if none is set.

    :param team: team whose setting is used if it has one
    """
    return _of_team("result_path", team)


def findings_table() -> str:
    """Return the table of findings that the page in Airflow's UI reads; empty if none is set."""
    return conf.get(SECTION, "findings_table", fallback="") or ""


def worker_cache() -> Path:
    """Return the folder for the worker's cache: resolved jars, archives of classes."""
    if configured := conf.get(SECTION, "worker_cache", fallback=""):
        return Path(configured).expanduser()
    return Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser() / "delta_provider"


def worker_cache_is_in_home() -> bool:
    """Return True if the cache is in the user's home, because no setting names its folder."""
    return not conf.get(SECTION, "worker_cache", fallback="") and "AIRFLOW_HOME" not in os.environ


def class_data_sharing() -> bool:
    """Return True if local drivers write an archive of their classes, for later drivers to load."""
    return bool(conf.getboolean(SECTION, "class_data_sharing", fallback=False))


def _of_team(key: str, team: str | None) -> str:
    """Return a setting: the team's own if it has one, else the setting for all; empty if there is none."""
    own = conf.get(SECTION, key, fallback="", team_name=team) if team else ""
    return own or conf.get(SECTION, key, fallback="") or ""


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
