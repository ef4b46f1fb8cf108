"""The provider's section of Airflow's configuration: ``[delta_provider]``."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.providers.common.compat.sdk import conf

SECTION = "delta_provider"
#: Schemes of remote logs that are files in object storage, and not streams of a service.
_LOG_STORES = ("s3", "gs", "oss", "hdfs", "file")


def allowed_locations(team: str | None = None) -> tuple[str, ...]:
    """Return what tasks may reach: locations and catalog prefixes; none means all.

    :param team: team whose setting counts, where it has one: ``[TEAM=delta_provider]`` in the file, and
        ``AIRFLOW__TEAM___DELTA_PROVIDER__ALLOWED_LOCATIONS`` in the environment; else that of all teams counts
    """
    return tuple(entry.strip() for entry in _of_team("allowed_locations", team).split(",") if entry.strip())


def report_folders(team: str | None = None) -> tuple[str, ...]:
    """Return where reports are kept if the task does not say: the first of these that can be written.

    ``report_path``; else, with remote logging to object storage, a folder next to the logs, by their connection; and in
    any case one next to the logs of the worker, which other workers may not see.

    :param team: team whose ``report_path`` counts, where it has one
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
    """Return the folder through which drivers on a cluster send their reports; empty where none is set.

    :param team: team whose setting counts, where it has one
    """
    return _of_team("result_path", team)


def worker_cache() -> Path:
    """Return the folder for what a worker finds out once: resolved jars, archives of classes."""
    if configured := conf.get(SECTION, "worker_cache", fallback=""):
        return Path(configured).expanduser()
    return Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser() / "delta_provider"


def worker_cache_is_in_home() -> bool:
    """Return whether each user has a folder of their own for it: nothing says where it is."""
    return not conf.get(SECTION, "worker_cache", fallback="") and "AIRFLOW_HOME" not in os.environ


def class_data_sharing() -> bool:
    """Return whether local drivers write an archive of their classes, for later ones to load them from."""
    return bool(conf.getboolean(SECTION, "class_data_sharing", fallback=False))


def _of_team(key: str, team: str | None) -> str:
    """Return a setting: a team's own where it has one, else that of all; empty where there is none."""
    own = conf.get(SECTION, key, fallback="", team_name=team) if team else ""
    return own or conf.get(SECTION, key, fallback="") or ""
