"""Delta's library for Spark: the release for each Spark, the origin of its jars, and its session settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from airflow_delta_provider.domain.engine.engine import Version, version_of
from airflow_delta_provider.domain.engine.spark_master import is_local

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
#: Origins of Delta's jars: Maven, or the platform.
PACKAGES, PROVIDED = "packages", "provided"


def default_delta_jars(master: str) -> str:
    """Return the default origin of Delta's jars: a platform has its own, a local master has none."""
    return PACKAGES if is_local(master) else PROVIDED


#: The Delta release for a Spark release: by Spark's minor version and the first patch release that it works with, as
#: tested by `make matrix`. On Spark 4.1.4, Delta 4.1 and 4.2 lack a class in every change; so does Delta 3.3 on Spark
#: 3.5.0.
_DELTA_FOR_SPARK: Mapping[str, Mapping[int, str]] = {
    "4.2": {0: "4.4.0"},
    "4.1": {0: "4.3.1"},
    "4.0": {0: "4.0.1"},
    "3.5": {2: "3.3.3"},
}
#: The oldest Delta release that this provider's jobs work with.
OLDEST_DELTA: Version = (3, 2)
#: First Spark whose minor version is part of the artifact's name.
_NAMED_SINCE = (4, 1)


class UnknownSparkError(ValueError):
    """A Spark release without a known Delta release."""


def delta_coordinates(spark: str) -> str:
    """Return the Maven coordinates of the Delta release for a Spark release.

    :raises UnknownSparkError: if none is known
    """
    minor = ".".join(spark.split(".")[:2])
    patch = next(iter(version_of(spark)[2:]), 0)
    fitting = [delta for first, delta in _DELTA_FOR_SPARK.get(minor, {}).items() if first <= patch]
    if not fitting:
        known = ", ".join(f"{line} from {line}.{min(releases)}" for line, releases in _DELTA_FOR_SPARK.items())
        raise UnknownSparkError(
            f"No Delta release is known for Spark {spark}. The known releases of Spark are {known}; for another one, "
            "name Delta's jars in delta_jars (--delta-jars), by path or by Maven coordinates "
            "(group:artifact:version), or set it to 'provided'."
        )
    return coordinates_of(fitting[-1], spark)


def coordinates_of(delta: str, spark: str) -> str:
    """Return the Maven coordinates of a Delta release for a Spark release, even if the two do not fit."""
    minor = ".".join(spark.split(".")[:2])
    named = f"_{minor}" if version_of(minor) >= _NAMED_SINCE else ""
    scala = "2.12" if minor.startswith("3.") else "2.13"
    return f"io.delta:delta-spark{named}_{scala}:{delta}"


#: Maven coordinates. A path may also contain colons, but ends in ``.jar``.
_COORDINATES = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")


def is_coordinates(jar: str) -> bool:
    """Return True if a string gives a jar as Maven coordinates, ``group:artifact:version``."""
    return bool(_COORDINATES.fullmatch(jar)) and not jar.endswith(".jar")


def split_jars(jars: str | Iterable[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths or URIs among jars, and the Maven coordinates; a string separates jars by commas."""
    named = [jar.strip() for jar in jars.split(",")] if isinstance(jars, str) else [str(jar) for jar in jars]
    present = [jar for jar in named if jar]
    return (
        tuple(jar for jar in present if not is_coordinates(jar)),
        tuple(jar for jar in present if is_coordinates(jar)),
    )
