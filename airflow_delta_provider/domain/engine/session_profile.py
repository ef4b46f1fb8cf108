"""Settings of a Spark session for Delta jobs. Each is set only where the platform left it open."""

from __future__ import annotations

from collections.abc import Mapping

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

    :param delta_jars: ``packages``, ``provided`` or jars separated by commas
    :param present: what the platform's defaults set
    :param spark: version of Spark
    :raises UnknownSparkError: if no release of Delta is known for it
    """
    wanted = {"spark.log.level": "ERROR"}
    if is_local(master):
        wanted["spark.driver.extraJavaOptions"] = LEAN_JAVA_OPTIONS
    settings = {key: value for key, value in wanted.items() if key not in present} | missing_settings(master, present)
    listed = "spark.jars.packages" if delta_jars == PACKAGES else "spark.jars"
    others = present.get(listed, "")
    if delta_jars == PROVIDED or (delta_jars == PACKAGES and "io.delta:" in others):
        return settings
    jars = delta_coordinates(spark) if delta_jars == PACKAGES else delta_jars
    return {**settings, listed: ",".join(filter(None, [others, jars]))}


#: Where Delta's jars come from: Maven, or the platform.
PACKAGES, PROVIDED = "packages", "provided"


def default_delta_jars(master: str) -> str:
    """Return where Delta's jars come from where nobody said: a platform has its own, a local master none."""
    return PACKAGES if is_local(master) else PROVIDED


#: The Delta release that goes with each Spark release line.
_DELTA_FOR_SPARK = {"4.2": "4.4.0", "4.1": "4.1.0", "4.0": "4.0.1", "3.5": "3.3.2"}
#: First Spark whose minor version is part of the artifact's name.
_NAMED_SINCE = (4, 1)


class UnknownSparkError(ValueError):
    """A Spark release for which no Delta release is known."""


def delta_coordinates(spark: str) -> str:
    """Return the Maven coordinates of the Delta release that goes with a Spark release.

    :raises UnknownSparkError: if none is known
    """
    minor = ".".join(spark.split(".")[:2])
    if minor not in _DELTA_FOR_SPARK:
        raise UnknownSparkError(
            f"No Delta release is known for Spark {spark}. Known are Spark {', '.join(_DELTA_FOR_SPARK)}; for another, "
            "set delta_jars to a list of jars, or to 'provided'."
        )
    named = f"_{minor}" if version_of(minor) >= _NAMED_SINCE else ""
    scala = "2.12" if minor.startswith("3.") else "2.13"
    return f"io.delta:delta-spark{named}_{scala}:{_DELTA_FOR_SPARK[minor]}"
