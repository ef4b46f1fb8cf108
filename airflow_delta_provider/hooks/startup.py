"""A faster start of the driver: the worker's own driver, and class data sharing.

The driver of a short job spends most of its time loading classes. When Java ends, it can write the loaded classes to an
archive (about twenty seconds, once) and map it at the next start. Java itself ignores an archive that does not fit the
Java or the jars. An archive has some hundred megabytes, so outdated archives are removed here.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from airflow_delta_provider.configuration import class_data_sharing, worker_cache
from airflow_delta_provider.domain.engine.spark_library import LEAN_JAVA_OPTIONS
from airflow_delta_provider.hooks.settings_file import class_path_folders, jar_folders
from airflow_delta_provider.hooks.workspace import Workspace, can_keep, is_trusted

_DAY = 24 * 60 * 60
#: Seconds after which an unused archive, and the partial archive of a killed run, are removed.
_UNUSED, _LEFT = 30 * _DAY, _DAY


class ClassArchive:
    """The archive for one Java and one class path.

    A JSON file next to it records its host, Java and jars.

    :param folder: folder of the archives; created on first use
    :param class_path: folders and lists of jars on the driver's class path
    :param environment: environment of spark-submit
    """

    def __init__(self, folder: Path, class_path: Sequence[str], environment: Mapping[str, str]) -> None:
        home = environment.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else shutil.which("java", path=environment.get("PATH")) or "java"
        self._files = [java, *":".join(class_path).split(":")]
        key = _key(self._files)
        self._folder = folder
        #: Path of the archive, whether it exists or not.
        self.path = folder / f"classes-{key}.jsa"
        self._partial = folder / f".classes-{key}-{os.getpid()}.jsa"

    @property
    def is_there(self) -> bool:
        """True if there is an archive that only trusted users could have written."""
        return self.path.exists() and is_trusted(self.path)

    def java_option(self, *, write: bool) -> str | None:
        """Return the Java option that uses the archive, or writes it; None if neither is possible.

        :param write: True if the run may write the archive if there is none
        """
        if self.is_there:
            if write:
                self._touch()
            return _option("SharedArchiveFile", self.path)
        return _option("ArchiveClassesAtExit", self._partial) if write and can_keep(self._folder) else None

    def _touch(self) -> None:
        """Mark the archive as used, at most once a day: in an image, that copies the file."""
        with suppress(OSError):  # another user's archive keeps its old time
            if time.time() - self.path.stat().st_mtime > _DAY:
                os.utime(self.path)

    def keep(self, *, whole: bool) -> None:
        """Keep the archive that the run wrote, and remove outdated ones.

        If several runs wrote at once, the last one wins.

        :param whole: True if the run completed; otherwise its archive is discarded
        """
        if not whole:
            self._partial.unlink(missing_ok=True)
        elif self._partial.exists():
            made_for = self.path.with_suffix(".json")
            made_for.write_text(json.dumps({"host": platform.node(), "files": self._files}), encoding="utf-8")
            self._partial.chmod(0o644)
            made_for.chmod(0o644)
            self._partial.replace(self.path)
        for outdated in list(self._out_of_date()):
            for file in (outdated, outdated.with_suffix(".json")):
                with suppress(OSError):
                    file.unlink(missing_ok=True)

    def _out_of_date(self) -> Iterator[Path]:
        """Yield the archives that no driver will use again, as far as known."""
        now = time.time()
        if not (self._folder.is_dir() and is_trusted(self._folder)):
            return
        for archive in self._folder.glob("classes-*.jsa"):
            with suppress(OSError):
                if archive != self.path and (_is_stale(archive) or now - archive.stat().st_mtime > _UNUSED):
                    yield archive
        for partial in self._folder.glob(".classes-*.jsa"):
            with suppress(OSError):
                if now - partial.stat().st_mtime > _LEFT:
                    yield partial


def _option(name: str, path: Path) -> str:
    """Return an option with a path, quoted if necessary: spark-submit splits options at spaces outside of quotes."""
    return f'-XX:{name}="{path}"' if " " in str(path) else f"-XX:{name}={path}"


def _is_stale(archive: Path) -> bool:
    """Return True if the Java or the jars of an archive made on this machine have changed since."""
    try:
        made_for = json.loads(archive.with_suffix(".json").read_text(encoding="utf-8"))
        return made_for["host"] == platform.node() and archive.stem != f"classes-{_key(made_for['files'])}"
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _key(files: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(map(_identity, files)).encode()).hexdigest()[:16]


def _identity(path: str) -> str:
    """Return a string that changes when the file does."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    # Java also compares whole seconds: an image stores file times no more precisely.
    return f"{os.path.realpath(path)} {status.st_size} {int(status.st_mtime)}"


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
