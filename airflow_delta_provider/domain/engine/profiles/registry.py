"""All profiles. A new one is a record in a module of this folder; nothing outside this folder lists it."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_delta_provider.domain.engine.profiles import (
    delta_kernel,
    delta_rs,
    delta_spark,
    hosted,
    kernel_rs,
    polars,
    runtimes,
    trino,
)
from airflow_delta_provider.domain.engine.profiles.profile import Profile

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        delta_spark.PROFILE,
        delta_rs.PROFILE,
        delta_rs.PYARROW,
        polars.PROFILE,
        kernel_rs.PROFILE,
        kernel_rs.DUCKDB,
        trino.PROFILE,
        delta_kernel.PROFILE,
        *runtimes.PROFILES,
        *hosted.PROFILES,
    )
}


def engine_of(writer: str, profiles: Mapping[str, Profile] = PROFILES) -> tuple[Profile, str | None] | None:
    """Return the profile of a writer such as ``Delta Spark 4.4.0``, with its version if it has one; None if unknown.

    :param writer: name and version, as in ``domain/delta/writer.py``
    """
    for name, profile in profiles.items():
        if writer == name:
            return profile, None
        if writer.startswith(f"{name} "):
            return profile, writer[len(name) + 1 :]
    return None


def profile_named(name: str, profiles: Mapping[str, Profile] = PROFILES) -> Profile | None:
    """Return the profile with a name, label or alias, ignoring case; None if there is none."""
    folded = name.casefold()
    for profile in profiles.values():
        if folded in (known.casefold() for known in (profile.name, profile.label, *profile.aliases)):
            return profile
    return None
