"""The provider's section of Airflow's configuration: ``[delta_provider]``."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.providers.common.compat.sdk import conf

SECTION = "delta_provider"


def allowed_locations(team: str | None = None) -> tuple[str, ...]:
    """Return what tasks may reach: locations and catalog prefixes; none means all.

    :param team: team whose setting counts, where it has one: ``[TEAM=delta_provider]`` in the file, and
        ``AIRFLOW__TEAM___DELTA_PROVIDER__ALLOWED_LOCATIONS`` in the environment; else that of all teams counts
    """
    own = _listed(conf.get(SECTION, "allowed_locations", fallback="", team_name=team)) if team else ()
    return own or _listed(conf.get(SECTION, "allowed_locations", fallback=""))


def worker_cache() -> Path:
    """Return the folder for what a worker finds out once: resolved jars, archives of classes."""
    configured = conf.get(SECTION, "worker_cache", fallback="")
    return (
        Path(configured).expanduser()
        if configured
        else Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser() / "delta_provider"
    )


def class_data_sharing() -> bool:
    """Return whether local drivers load their classes from an archive that an earlier one wrote."""
    return bool(conf.getboolean(SECTION, "class_data_sharing", fallback=False))


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in (text or "").split(",") if entry.strip())
