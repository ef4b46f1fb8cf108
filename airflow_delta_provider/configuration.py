"""The provider's section of Airflow's configuration: ``[delta_provider]``."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.providers.common.compat.sdk import conf

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
