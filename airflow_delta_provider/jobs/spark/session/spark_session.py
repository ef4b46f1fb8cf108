"""Gets a Spark session: the platform's, or a new one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark import __version__ as spark_version
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.engine.delta_library import default_delta_jars
from airflow_delta_provider.domain.engine.session_profile import missing_settings, own_settings, parse_defaults


def submitted_session(name: str) -> SparkSession:
    """Return the session of an application that spark-submit started.

    Settings from spark-defaults, properties files and the command line are kept. Missing ones are set for Delta.
    """
    conf = submitted_conf()
    present = dict(conf.getAll())
    settings = missing_settings(present.get("spark.master", ""), present)
    return SparkSession.builder.config(conf=conf.setAll(list(settings.items()))).appName(name).getOrCreate()


def submitted_conf() -> SparkConf:
    """Return the configuration that spark-submit got from files and arguments. Does not start a Spark context."""
    SparkContext._ensure_initialized()  # the configuration is in the JVM: without it, it seems empty
    return SparkConf()


def own_session(
    name: str, master: str | None = None, delta_jars: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the active session, of the platform or of spark-submit, or else start one.

    Settings in the platform's ``spark-defaults.conf`` are kept.

    :param master: Spark master; by default the platform's, else ``local[*]``
    :param delta_jars: ``packages``, ``provided``, or jars or Maven coordinates separated by commas; by default
        packages on a local master and provided elsewhere
    :param settings: settings of a session that is started; they override the platform's
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "DATABRICKS_RUNTIME_VERSION" in os.environ:
        return SparkSession.builder.getOrCreate()
    if "PYSPARK_GATEWAY_PORT" in os.environ and master is None:  # set by spark-submit
        return submitted_session(name)
    given = dict(settings or {})
    present = {**platform_defaults(), **given}
    master = master or os.environ.get("SPARK_MASTER") or present.get("spark.master") or "local[*]"
    builder = SparkSession.builder.master(master).appName(name)
    jars = delta_jars or default_delta_jars(master)
    for key, value in {**given, **own_settings(master, jars, present, spark_version)}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def jvm_runs() -> bool:
    """Return True if the JVM of this process's sessions is running.

    A JVM that was not started here counts as running.
    """
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return gateway is not None and (process is None or process.poll() is None)


def platform_defaults() -> dict[str, str]:
    """Return the settings in ``spark-defaults.conf``, which other settings override."""
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    try:
        return parse_defaults(Path(folder, "spark-defaults.conf").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
