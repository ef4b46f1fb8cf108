"""Getting a Spark session: the platform's, or one of our own."""

from __future__ import annotations

import os

from pyspark import SparkConf, SparkContext
from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.engine.session_profile import (
    LEAN_JAVA_OPTIONS,
    PACKAGES,
    PROVIDED,
    default_delta_jars,
    delta_coordinates,
    is_local,
    missing_settings,
)


def submitted_session(name: str) -> SparkSession:
    """Return the session of an application that spark-submit started.

    What spark-defaults, properties files and the command line set is kept; what is open is set for Delta.
    """
    conf = submitted_conf()
    present = dict(conf.getAll())
    settings = missing_settings(present.get("spark.master", ""), present)
    return SparkSession.builder.config(conf=conf.setAll(list(settings.items()))).appName(name).getOrCreate()


def submitted_conf() -> SparkConf:
    """Return what spark-submit was given, by files and by arguments; starts no Spark context."""
    SparkContext._ensure_initialized()  # the configuration lies in the JVM: without it, it reads as empty
    return SparkConf()


def own_session(name: str, master: str | None = None, delta_jars: str | None = None) -> SparkSession:
    """Return the active session, the platform's or that of spark-submit, or else start one.

    :param master: Spark master; by default the platform's, else ``local[*]``
    :param delta_jars: ``packages``, ``provided`` or jars separated by commas; by default packages on
        a local master and provided elsewhere
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "DATABRICKS_RUNTIME_VERSION" in os.environ:
        return SparkSession.builder.getOrCreate()
    if "PYSPARK_GATEWAY_PORT" in os.environ and master is None:  # what spark-submit gives its applications
        return submitted_session(name)
    master = master or os.environ.get("SPARK_MASTER") or "local[*]"
    delta_jars = delta_jars or default_delta_jars(master)
    builder = SparkSession.builder.master(master).appName(name).config("spark.log.level", "ERROR")
    if delta_jars == PACKAGES:
        builder = builder.config("spark.jars.packages", delta_coordinates(spark_version))
    elif delta_jars != PROVIDED:
        builder = builder.config("spark.jars", delta_jars)
    if is_local(master):
        builder = builder.config("spark.driver.extraJavaOptions", LEAN_JAVA_OPTIONS)
    for key, value in missing_settings(master, {}).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
