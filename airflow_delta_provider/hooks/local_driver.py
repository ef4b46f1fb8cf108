"""Java options that make a short job on a local master start faster."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from airflow_delta_provider.configuration import class_data_sharing, worker_cache
from airflow_delta_provider.domain.engine.session_profile import LEAN_JAVA_OPTIONS
from airflow_delta_provider.hooks.class_archive import ClassArchive
from airflow_delta_provider.hooks.spark_installation import class_path_folders, jar_folders
from airflow_delta_provider.hooks.workspace import Workspace

log = logging.getLogger(__name__)

#: Environment variable for the Java options of the small program that composes the driver's command line.
LAUNCHER_OPTIONS = "SPARK_LAUNCHER_OPTS"
#: Environment variable with the folders where the driver's Python looks for packages first.
PYTHON_PATH = "PYTHONPATH"
DRIVER_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
#: Setting that ends the JVM with the job. Otherwise threads left by a file system, such as Hadoop 3.5's for Azure,
#: would keep it alive. Spark before 3.5.3 ignores the setting.
ENDING = {"spark.submit.callSystemExitOnMainExit": "true"}


class LocalDriver:
    """The driver of a job on this machine.

    It loads classes from an archive if there is one, for instance in an image; with ``class_data_sharing``, it writes
    one.

    :param binary: path of spark-submit
    :param class_path: class path of the driver, in addition to Spark's own jars
    :param quiet: True to leave out Spark's log
    """

    def __init__(
        self, binary: str, class_path: str | None, environment: Mapping[str, str], workspace: Workspace, *, quiet: bool
    ) -> None:
        self._environment = environment
        self._workspace = workspace
        options = [LEAN_JAVA_OPTIONS]
        if quiet:
            options.append(quiet_option(workspace))
        write = class_data_sharing()
        if write and (folders := class_path_folders(binary, environment)):
            write = False
            log.info("No archive of classes is written: the class path has folders with files, %s.", folders)
        archive = class_archive(worker_cache(), binary, class_path, environment)
        options += filter(None, [archive.java_option(write=write)])
        #: The archive that the run may write; None if it may not.
        self.class_archive = archive if write else None
        self.java_options = " ".join(options)

    def environment(self) -> dict[str, str]:
        """Return environment variables for spark-submit.

        They contain the place of this package, and the launcher's options if nobody has set them: a JVM accepts only
        one garbage collector.
        """
        python_path = [str(self._workspace.library), *filter(None, [self._environment.get(PYTHON_PATH)])]
        launcher = {} if LAUNCHER_OPTIONS in self._environment else {LAUNCHER_OPTIONS: LEAN_JAVA_OPTIONS}
        return {PYTHON_PATH: os.pathsep.join(python_path), **launcher}


def class_archive(folder: Path, binary: str, class_path: str | None, environment: Mapping[str, str]) -> ClassArchive:
    return ClassArchive(folder, [*map(str, jar_folders(binary, environment)), class_path or ""], environment)


def quiet_option(workspace: Workspace) -> str:
    """Return the Java option that limits Spark's log to warnings and errors."""
    return f"-Dlog4j2.configurationFile={workspace.log4j.as_uri()}"
