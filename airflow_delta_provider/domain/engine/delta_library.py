"""Delta's library for Spark: its release for each Spark, where its jars come from, what a session sets for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from airflow_delta_provider.domain.engine.engine import Version, version_of
from airflow_delta_provider.domain.engine.spark_master import is_local

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
#: Where Delta's jars come from: Maven, or the platform.
PACKAGES, PROVIDED = "packages", "provided"


def default_delta_jars(master: str) -> str:
    """Return where Delta's jars come from by default: a platform has its own, a local master none."""
    return PACKAGES if is_local(master) else PROVIDED


#: The Delta release that goes with a Spark release: by its line, and by the first patch release that it goes with; as
#: `make matrix` tries them. On Spark 4.1.4 Delta 4.1 and 4.2 lack a class in every change, on Spark 3.5.0 Delta 3.3.
_DELTA_FOR_SPARK: Mapping[str, Mapping[int, str]] = {
    "4.2": {0: "4.4.0"},
    "4.1": {0: "4.3.1"},
    "4.0": {0: "4.0.1"},
    "3.5": {2: "3.3.3"},
}
#: The first release that this provider's jobs run with.
OLDEST_DELTA: Version = (3, 2)
#: First Spark whose minor version is part of the artifact's name.
_NAMED_SINCE = (4, 1)


class UnknownSparkError(ValueError):
    """A Spark release for which no Delta release is known."""


def delta_coordinates(spark: str) -> str:
    """Return the Maven coordinates of the Delta release that goes with a Spark release.

    :raises UnknownSparkError: if none is known
    """
    minor = ".".join(spark.split(".")[:2])
    patch = next(iter(version_of(spark)[2:]), 0)
    fitting = [delta for first, delta in _DELTA_FOR_SPARK.get(minor, {}).items() if first <= patch]
    if not fitting:
        known = ", ".join(f"{line} from {line}.{min(releases)}" for line, releases in _DELTA_FOR_SPARK.items())
        raise UnknownSparkError(
            f"No Delta release is known to go with Spark {spark}. Known are Spark {known}; for another, name Delta's "
            "jars in delta_jars (--delta-jars), by path or by Maven coordinates (group:artifact:version), or set it to "
            "'provided'."
        )
    return coordinates_of(fitting[-1], spark)


def coordinates_of(delta: str, spark: str) -> str:
    """Return the Maven coordinates of a Delta release for a Spark release, whether or not they fit."""
    minor = ".".join(spark.split(".")[:2])
    named = f"_{minor}" if version_of(minor) >= _NAMED_SINCE else ""
    scala = "2.12" if minor.startswith("3.") else "2.13"
    return f"io.delta:delta-spark{named}_{scala}:{delta}"


#: Maven coordinates: a path may have colons, too, but names a jar.
_COORDINATES = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")


def is_coordinates(jar: str) -> bool:
    """Whether a text names a jar by Maven coordinates, ``group:artifact:version``."""
    return bool(_COORDINATES.fullmatch(jar)) and not jar.endswith(".jar")


def split_jars(jars: str | Iterable[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths or URIs among jars, and the Maven coordinates; a text holds them separated by commas."""
    named = [jar.strip() for jar in jars.split(",")] if isinstance(jars, str) else [str(jar) for jar in jars]
    present = [jar for jar in named if jar]
    return (
        tuple(jar for jar in present if not is_coordinates(jar)),
        tuple(jar for jar in present if is_coordinates(jar)),
    )
