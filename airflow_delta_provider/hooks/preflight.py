"""Checks before spark-submit starts: they report a problem in one line, not after minutes in a stack trace."""

from __future__ import annotations

import os
import queue
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_delta_provider.domain.engine.spark_library import MasterError, MasterKind, SparkMaster
from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaJobError
from airflow_delta_provider.hooks.settings_file import FOLDERS, jar_folders, spark_version_of_jars

#: Seconds for one of a master's hosts to accept a connection.
_SECONDS = 5.0
_KUBERNETES = "airflow.providers.cncf.kubernetes"
_PROXIES = ("https_proxy", "http_proxy", "all_proxy")
#: Java's version in its ``release`` file, and on standard error.
_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)
_PRINTED = re.compile(r'version "(?:1\.)?(\d+)')
#: Oldest version of Java for a major version of Spark.
_JAVA_FOR_SPARK = {2: 8, 3: 8}
_NEWEST_JAVA = 17


def check_master(text: str, conn_id: str) -> SparkMaster:
    """Return the master of a connection.

    :raises DeltaConnectionError: if Spark has no such master, or the worker lacks the package to submit to it
    """
    try:
        master = SparkMaster.parse(text)
    except MasterError as error:
        raise DeltaConnectionError(f"{error} Correct the connection {conn_id!r}.") from None
    if master.kind is MasterKind.KUBERNETES and not _has_kubernetes():
        raise DeltaConnectionError(
            f"The Spark master is {text}, but the worker lacks the package that SparkSubmitHook needs for it. Install "
            "airflow-delta-provider[kubernetes] there, or apache-airflow-providers-cncf-kubernetes."
        )
    return master


def _has_kubernetes() -> bool:
    try:
        return find_spec(_KUBERNETES) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False


def check_before_submit(binary: str, master: SparkMaster, environment: Mapping[str, str]) -> None:
    """Check the requirements of spark-submit before it starts.

    :param binary: full path of spark-submit
    :param environment: environment of spark-submit
    :raises DeltaConnectionError: if the worker lacks a requirement
    :raises DeltaJobError: if the master does not answer; another try may succeed
    """
    spark = spark_version_of_jars(binary, environment)
    major = int(spark.split(".")[0]) if spark else None
    settings = _spark_env(binary, environment)
    if "JAVA_HOME" not in settings and "PATH" not in settings:
        _check_java(environment, spark, _JAVA_FOR_SPARK.get(major, _NEWEST_JAVA) if major else None)
    if master.kind is MasterKind.MESOS and major is not None and major > 3:
        raise DeltaConnectionError(f"The Spark master is {master.text}, and Spark {spark} no longer supports Mesos.")
    if master.kind is MasterKind.YARN and "CONF_DIR" not in settings:
        _check_hadoop_configuration(environment)
    proxied = master.kind is MasterKind.KUBERNETES and any(
        environment.get(name) or environment.get(name.upper()) for name in _PROXIES
    )
    if master.addresses and not proxied:
        _check_reachable(master)


def _spark_env(binary: str, environment: Mapping[str, str]) -> str:
    """Return ``spark-env.sh``, which sets variables for spark-submit. Those variables are not checked."""
    folders = [Path(environment["SPARK_CONF_DIR"])] if environment.get("SPARK_CONF_DIR") else []
    folders = folders or [jars.parent / "conf" for jars in jar_folders(binary, environment)]
    for folder in folders:
        try:
            return (folder / "spark-env.sh").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return ""


def _check_java(environment: Mapping[str, str], spark: str | None, needed: int | None) -> None:
    """Check the Java that Spark's scripts would start: from JAVA_HOME, or else from PATH."""
    wanted = f"Java {needed or _NEWEST_JAVA}"
    remedy = f"Install {wanted} on the worker, or set JAVA_HOME in the worker's environment or in env_vars."
    home = environment.get("JAVA_HOME")
    if home:
        java = os.path.join(home, "bin", "java")
        if not (os.path.isfile(java) and os.access(java, os.X_OK)):
            raise DeltaConnectionError(
                f"JAVA_HOME is {home}, but there is no bin/java in that folder on the worker. {remedy}"
            )
    else:
        found = shutil.which("java", path=environment.get("PATH"))
        if found is None:
            raise DeltaConnectionError(f"There is no Java on the worker: JAVA_HOME is not set. {remedy}")
        java = found
    version = _java_version(java, remedy, environment)
    if version is not None and needed is not None and version < needed:
        raise DeltaConnectionError(f"{java} is Java {version}, and Spark {spark} needs {wanted} or later. {remedy}")


def _java_version(java: str, remedy: str, environment: Mapping[str, str]) -> int | None:
    """Return the major version of Java, from its ``release`` file or else by running it; None if unknown."""
    try:
        release = Path(os.path.realpath(java)).parent.parent / "release"
        if match := _RELEASE.search(release.read_text(encoding="utf-8", errors="replace")):
            return int(match[1])
    except OSError:
        pass
    try:
        asked = subprocess.run(
            [java, "-version"], capture_output=True, text=True, env=dict(environment), check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeltaConnectionError(f"{java} does not run: {error}. {remedy}") from None
    if asked.returncode:
        output = (asked.stderr or asked.stdout).strip().partition("\n")[0]
        raise DeltaConnectionError(f"{java} does not run: {output or f'exit code {asked.returncode}'}. {remedy}")
    match = _PRINTED.search(asked.stderr + asked.stdout)
    return int(match[1]) if match else None


def _check_hadoop_configuration(environment: Mapping[str, str]) -> None:
    folders = {name: environment[name] for name in FOLDERS if environment.get(name)}
    if not folders:
        raise DeltaConnectionError(
            "The Spark master is yarn, and neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set on the worker. Set one "
            "to the folder with yarn-site.xml, in the worker's environment or in env_vars."
        )
    if not any(os.path.isdir(folder) for folder in folders.values()):
        listed = " and ".join(f"{name} is {folder}" for name, folder in folders.items())
        raise DeltaConnectionError(
            f"The Spark master is yarn, and {listed}, but there is no such folder on the worker. Set it to the folder "
            "with yarn-site.xml."
        )


def _check_reachable(master: SparkMaster) -> None:
    """Connect to all addresses at once; one that accepts is enough."""
    outcomes: queue.Queue[tuple[str, int, str | None]] = queue.Queue()
    for address in master.addresses:
        # Daemon threads, so that a slow name server cannot keep the process from ending.
        threading.Thread(target=_connect, args=(*address, outcomes), daemon=True).start()
    silent = dict.fromkeys(master.addresses, f"no answer within {_SECONDS:g} s")
    end = time.monotonic() + _SECONDS + 0.5
    failures: dict[tuple[str, int], str] = {}
    while len(failures) < len(master.addresses):
        try:
            host, port, failure = outcomes.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            break
        if failure is None:
            return
        failures[host, port] = failure
    reasons = "; ".join(f"{host}:{port}: {why}" for (host, port), why in (silent | failures).items())
    raise DeltaJobError(
        f"The Spark master {master.text} cannot be reached from the worker: {reasons}. Nothing was submitted. Check "
        "that it runs, and that host and port of the connection are right."
    )


def _connect(host: str, port: int, outcomes: queue.Queue[tuple[str, int, str | None]]) -> None:
    failure = None
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except socket.gaierror:
        failure = "the host name cannot be resolved"
    except TimeoutError:
        failure = f"no answer within {_SECONDS:g} s"
    except OSError as error:
        failure = (error.strerror or str(error)).lower()
    outcomes.put((host, port, failure))


@contextmanager
def refused(conn_id: str) -> Iterator[None]:
    """Add the remedy to errors about a missing or unusable connection.

    :raises DeltaConnectionError: for the errors of Airflow's Spark provider
    """
    try:
        yield
    except AirflowNotFoundException as error:
        raise DeltaConnectionError(
            f"There is no connection {conn_id!r}. Create it with type spark and the master as its host, for "
            'instance {"conn_type": "spark", "host": "local[2]"}, or name another with conn_id.'
        ) from error
    except ValueError as error:  # from invalid extra fields
        raise DeltaConnectionError(f"The connection {conn_id!r} cannot be used: {error}") from error


def check_connection(connection: Mapping[str, Any], conn_id: str) -> None:
    """Check the settings that the Spark provider read from a connection.

    :raises DeltaConnectionError: if Spark has no such master, or the worker lacks the package to submit to it
    """
    master = connection["master"]
    if master in ("yarn://", "local://"):
        raise DeltaConnectionError(
            f"The connection {conn_id!r} has the master {master!r}, which Spark does not know: a URI cannot express "
            'it. Write the connection as JSON: {"conn_type": "spark", "host": "yarn"}.'
        )
    check_master(master, conn_id)
