"""The Spark installation of a spark-submit command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

_CORE = re.compile(r"spark-core_[\d.]+-(\d[\w.]*?)\.jar")
_PRINTED = re.compile(r"version (\d+\.\d+\.\d+)")


class NoSparkError(Exception):
    """There is no usable spark-submit; the message says what to install or set."""


def find_spark_submit(binary: str, environment: Mapping[str, str]) -> str:
    """Return the full path of the command.

    :raises NoSparkError: if it is missing or not executable
    """
    found = shutil.which(binary, path=environment.get("PATH"))
    if found is None and (file := _not_executable(binary, environment)):
        raise NoSparkError(f"{file} is not executable for this worker's user. Give it the right to run it.")
    if found is None:
        raise NoSparkError(
            f"There is no {binary} on the worker's PATH. Install Spark there (pip install "
            "'airflow-delta-provider[local]' brings it), or name its spark-submit with spark_binary."
        )
    return found


def _not_executable(binary: str, environment: Mapping[str, str]) -> str | None:
    """Return the file of the command if it exists without the right to run it."""
    if os.path.dirname(binary):
        return binary if os.path.isfile(binary) else None
    named = (os.path.join(folder, binary) for folder in environment.get("PATH", "").split(os.pathsep))
    return next(filter(os.path.isfile, named), None)


def spark_version_of_jars(binary: str, environment: Mapping[str, str]) -> str | None:
    """Return the Spark version of ``binary`` from the names of its jars; None if the jars are not found."""
    for jars in jar_folders(binary, environment):
        for jar in jars.glob("spark-core_*.jar"):
            if match := _CORE.fullmatch(jar.name):
                return match[1]
    return None


def spark_version(binary: str, environment: Mapping[str, str]) -> str:
    """Return the Spark version of ``binary``, from its jars or else by running it.

    :raises NoSparkError: if it does not report one
    """
    if known := spark_version_of_jars(binary, environment):
        return known
    asked = subprocess.run(
        [binary, "--version"], capture_output=True, text=True, env=dict(environment), check=False, timeout=120
    )
    if match := _PRINTED.search(asked.stdout + asked.stderr):
        return match[1]
    raise NoSparkError(
        f"{binary} does not report its Spark version. Set delta_jars to 'provided' or to a list of jars, so that none "
        "has to be chosen."
    )


def jar_folders(binary: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield folders that may hold the jars of ``binary``'s Spark."""
    if home := environment.get("SPARK_HOME"):
        yield Path(home) / "jars"
        return
    prefix = Path(os.path.realpath(binary)).parent.parent
    yield prefix / "jars"
    # A pip installation: the command is in the environment's bin, the jars in its pyspark package.
    yield from Path(binary).parent.parent.glob("lib/python*/site-packages/pyspark/jars")


def configuration_folder(binary: str, environment: Mapping[str, str]) -> Path | None:
    """Return the folder of ``spark-defaults.conf`` for ``binary``'s Spark; None if unknown.

    It is unknown for a platform's own scripts, which find Spark in their own way.
    """
    if named := environment.get("SPARK_CONF_DIR"):
        return Path(named)
    return next((jars.parent / "conf" for jars in jar_folders(binary, environment) if jars.is_dir()), None)


def class_path_folders(binary: str, environment: Mapping[str, str]) -> list[Path]:
    """Return the folders with files, other than jars, that spark-submit puts on the driver's class path."""
    named = (environment[name] for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if environment.get(name))
    folders = filter(None, [configuration_folder(binary, environment), *map(Path, named)])
    return [folder for folder in folders if folder.is_dir() and any(folder.iterdir())]
