"""The profiles of known engines: ``profiles.json``, in the form that a fleet file has.

A release with ``adds_to`` lists what it adds to the features of an earlier release, of this engine or of a named one;
``without`` lists features that it no longer has. ``crates`` are library versions in an engine's signature.
``comment`` is for readers of the file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from operator import methodcaller
from pkgutil import get_data

from airflow_delta_provider.domain.engine.profile import Profile, read_own_profiles
from airflow_delta_provider.domain.engine.spark_library import version_of

PROFILES: dict[str, Profile] = read_own_profiles(json.loads(get_data(__package__, "profiles.json") or b""))


def engine_of(writer: str, profiles: Mapping[str, Profile] = PROFILES) -> tuple[Profile, str | None] | None:
    """Return the profile of a writer such as ``Delta Spark 4.4.0``, with its version if it has one; None if unknown.

    :param writer: name and version, as in ``domain/delta/commit.py``
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


def release_with(features: Collection[str]) -> str | None:
    """Return the first release since which Delta Spark writes tables with all the features; None if unknown."""
    since = [PROFILES["Delta Spark"].since(methodcaller("writing", name)) for name in features]
    known = [version for version in since if version]
    return max(known, key=version_of) if known and len(known) == len(since) else None
