"""Java options that make a short job on a local master start faster."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_delta_provider.configuration import class_data_sharing, worker_cache
from airflow_delta_provider.domain.engine.session_profile import LEAN_JAVA_OPTIONS
from airflow_delta_provider.hooks.class_archive import ClassArchive
from airflow_delta_provider.hooks.spark_installation import jar_folders
from airflow_delta_provider.hooks.workspace import Workspace

#: Java options of the small program that composes the driver's command line.
LAUNCHER_OPTIONS = "SPARK_LAUNCHER_OPTS"
DRIVER_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


class LocalDriver:
    """The driver of a job on this machine.

    :param binary: path of spark-submit
    :param class_path: of the driver, in addition to Spark's own jars
    :param quiet: whether Spark's log is left out
    """

    def __init__(
        self, binary: str, class_path: str | None, environment: Mapping[str, str], workspace: Workspace, *, quiet: bool
    ) -> None:
        self._environment = environment
        options = [LEAN_JAVA_OPTIONS]
        if quiet:
            options.append(f"-Dlog4j2.configurationFile={workspace.log4j.as_uri()}")
        self.class_archive: ClassArchive | None = None
        if class_data_sharing():
            whole = [*map(str, jar_folders(binary, environment)), class_path or ""]
            self.class_archive = ClassArchive(worker_cache(), whole, environment)
            options.append(self.class_archive.java_option())
        self.java_options = " ".join(options)

    def launcher_environment(self) -> dict[str, str]:
        """Return variables for the launcher; none where its options are set: a JVM takes one garbage collector only."""
        return {} if LAUNCHER_OPTIONS in self._environment else {LAUNCHER_OPTIONS: LEAN_JAVA_OPTIONS}
