"""The provider's section of Airflow's configuration: ``[delta_provider]``."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.providers.common.compat.sdk import conf

SECTION = "delta_provider"


def allowed_locations() -> tuple[str, ...]:
    """Return which tables tasks may reach: locations and catalog prefixes; none means all."""
    listed = conf.get(SECTION, "allowed_locations", fallback="") or ""
    return tuple(entry.strip() for entry in listed.split(",") if entry.strip())


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
