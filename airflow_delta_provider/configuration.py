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


def jar_cache() -> Path:
    """Return the folder that remembers which jars were resolved on this worker."""
    configured = conf.get(SECTION, "jar_cache", fallback="")
    return (
        Path(configured).expanduser()
        if configured
        else Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser() / "delta_provider" / "jars"
    )
