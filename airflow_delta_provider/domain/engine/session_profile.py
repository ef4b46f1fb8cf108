"""Settings of a Spark session for Delta jobs, each set only if the platform or its defaults file does not set it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_delta_provider.domain.engine.delta_library import (
    DELTA_CATALOG,
    DELTA_EXTENSION,
    PACKAGES,
    PROVIDED,
    delta_coordinates,
    split_jars,
)
from airflow_delta_provider.domain.engine.spark_master import is_local

EXTENSIONS = "spark.sql.extensions"
SESSION_CATALOG = "spark.sql.catalog.spark_catalog"

_SPARK_JARS, _SPARK_PACKAGES = "spark.jars", "spark.jars.packages"
_DELTA = {EXTENSIONS: DELTA_EXTENSION, SESSION_CATALOG: DELTA_CATALOG}
#: For one driver that runs short jobs on small inputs; measured: saves a third of the wall time.
_LEAN_LOCAL = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
#: Only the first compiler: a short job ends before the second one pays off. By default it has room for 48 MiB of code,
#: which some dozens of tables fill; after that nothing is compiled until the end of the job.
LEAN_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=160m -XX:+UseSerialGC -Xshare:auto"


def missing_settings(master: str, present: Mapping[str, str]) -> dict[str, str]:
    """Return the settings to add to ``present`` for a session on ``master``.

    Present settings are not replaced, except that Delta's extension is appended to a list of other extensions.
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
    :param present: settings from the platform's defaults
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


_SETTING = re.compile(r"\s*([^\s=:#!][^\s=:]*)(?:\s*[=:]\s*|\s+)(.*)")
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*")


def parse_defaults(text: str) -> dict[str, str]:
    """Return the settings of a Spark defaults file, which is a Java properties file."""
    lines = _CONTINUED.sub(r"\1", text).splitlines()
    return {match[1]: match[2].strip() for match in map(_SETTING.fullmatch, lines) if match}
