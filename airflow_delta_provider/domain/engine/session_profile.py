"""Settings of a Spark session for Delta jobs. Each is set only where the platform left it open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from airflow_delta_provider.domain.engine.engine import version_of

EXTENSIONS = "spark.sql.extensions"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
SESSION_CATALOG = "spark.sql.catalog.spark_catalog"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

_DELTA = {EXTENSIONS: DELTA_EXTENSION, SESSION_CATALOG: DELTA_CATALOG}
#: For one driver that does short jobs on small inputs; measured: a third of the wall time.
_LEAN_LOCAL = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
#: The first compiler only: a short job ends before the second one pays. It has room for 48 MiB of code by default,
#: which some dozens of tables fill; then nothing is compiled any more, to the end of the job.
LEAN_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=160m -XX:+UseSerialGC -Xshare:auto"


def is_local(master: str) -> bool:
    """Whether the master is a thread pool inside the driver."""
    return master == "local" or master.startswith("local[")


def missing_settings(master: str, present: Mapping[str, str]) -> dict[str, str]:
    """Return the settings to add to ``present`` for a session on ``master``.

    Nothing that is present is replaced; Delta's extension is appended to a list of others.
    """
    wanted = {**_DELTA, **(_LEAN_LOCAL if is_local(master) else {})}
    missing = {key: value for key, value in wanted.items() if key not in present}
    extensions = present.get(EXTENSIONS, "")
    if extensions and DELTA_EXTENSION not in extensions.split(","):
        missing[EXTENSIONS] = f"{extensions},{DELTA_EXTENSION}"
    return missing


def own_settings(master: str, delta_jars: str, present: Mapping[str, str], spark: str) -> dict[str, str]:
    """Return the settings to add to ``present`` for a session that is started here, not by spark-submit.

    :param delta_jars: ``packages``, ``provided``, or jars or Maven coordinates separated by commas
    :param present: what the platform's defaults set
    :param spark: version of Spark
    :raises UnknownSparkError: if no release of Delta is known for it
    """
    wanted = {"spark.log.level": "ERROR"}
    if is_local(master):
        wanted["spark.driver.extraJavaOptions"] = LEAN_JAVA_OPTIONS
    settings = {key: value for key, value in wanted.items() if key not in present} | missing_settings(master, present)
    if delta_jars == PROVIDED or (delta_jars == PACKAGES and "io.delta:" in present.get(_SPARK_PACKAGES, "")):
        return settings
    paths, coordinates = split_jars(delta_coordinates(spark) if delta_jars == PACKAGES else delta_jars)
    for listed, more in ((_SPARK_JARS, paths), (_SPARK_PACKAGES, coordinates)):
        if more:
            settings[listed] = ",".join(filter(None, [present.get(listed, ""), *more]))
    return settings


#: Where Delta's jars come from: Maven, or the platform.
PACKAGES, PROVIDED = "packages", "provided"
_SPARK_JARS, _SPARK_PACKAGES = "spark.jars", "spark.jars.packages"
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


def default_delta_jars(master: str) -> str:
    """Return where Delta's jars come from where nobody said: a platform has its own, a local master none."""
    return PACKAGES if is_local(master) else PROVIDED


#: The Delta release that goes with a Spark release: by its line, and by the first patch release that it goes with; as
#: `make engines` tries them. On Spark 4.1.4 Delta 4.1 and 4.2 lack a class in every change, on Spark 3.5.0 Delta 3.3;
#: Delta before 3.3 cannot be asked for its table features.
_DELTA_FOR_SPARK: Mapping[str, Mapping[int, str]] = {
    "4.2": {0: "4.4.0"},
    "4.1": {0: "4.3.1"},
    "4.0": {0: "4.0.1"},
    "3.5": {2: "3.3.2"},
}
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
            "jars in delta_jars, by path or by Maven coordinates (group:artifact:version), or set it to 'provided'."
        )
    named = f"_{minor}" if version_of(minor) >= _NAMED_SINCE else ""
    scala = "2.12" if minor.startswith("3.") else "2.13"
    return f"io.delta:delta-spark{named}_{scala}:{fitting[-1]}"
