"""Preparation, while an image is built, of the files that a worker's first task would have to wait for."""

from __future__ import annotations

import os
import stat
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_delta_provider.configuration import worker_cache, worker_cache_is_in_home
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.engine.spark_library import LEAN_JAVA_OPTIONS, SparkMaster
from airflow_delta_provider.hooks.jars import check_delta_jars, job_jars, resolved_jars
from airflow_delta_provider.hooks.preflight import check_before_submit
from airflow_delta_provider.hooks.settings_file import class_path_folders, find_spark_submit
from airflow_delta_provider.hooks.startup import (
    DRIVER_JAVA_OPTIONS,
    LAUNCHER_OPTIONS,
    PYTHON_PATH,
    ClassArchive,
    class_archive,
    quiet_option,
)
from airflow_delta_provider.hooks.workspace import Workspace, installed_by, make_folder, untrusted

_MASTER = "local[2]"


class WarmUpError(Exception):
    """The archive cannot be written; the message says why."""


class FolderError(Exception):
    """The folder cannot be used; the message says why."""


@dataclass(frozen=True)
class WarmUpResult:
    """The files in place after a warm-up.

    :param jars: jars of Delta
    :param archive: archive of classes; None if it was not wanted
    :param notes: reasons why tasks might not find or use the files
    """

    jars: Sequence[Path]
    archive: Path | None
    notes: Sequence[str]


def warm_up(
    folder: Path | None = None,
    *,
    spark_binary: str = "spark-submit",
    delta_jars: str | None = None,
    repositories: str | None = None,
    jars_only: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> WarmUpResult:
    """Put Delta's jars and the archive of a driver's classes in place. Existing files are kept.

    :param folder: target folder; by default the worker's cache
    :param spark_binary: spark-submit of the tasks
    :param delta_jars: ``delta_jars`` of the tasks; by default the release that goes with the Spark of ``spark_binary``
    :param repositories: Maven repositories in addition to Spark's own, separated by commas
    :param jars_only: True to leave out the archive
    :param progress: function that receives messages before slow steps
    :raises DeltaRequestError: if ``delta_jars`` names no jars
    :raises FolderError: if the folder cannot be used
    :raises WarmUpError: if the archive cannot be written
    :raises NoSparkError: if there is no spark-submit
    :raises UnknownSparkError: if no release of Delta is known for this Spark
    :raises DeltaConnectionError: if there is no suitable Java
    :raises DeltaJobError: if the jars cannot be resolved
    """
    check_delta_jars(delta_jars)
    folder = (folder or worker_cache()).absolute()
    environment = dict(os.environ)
    binary = find_spark_submit(spark_binary, environment)
    check_before_submit(binary, SparkMaster.parse(_MASTER), environment)
    _check_folder(folder)
    with Workspace(uuid.uuid4().hex) as workspace:
        resolving = [binary, *(["--repositories", repositories] if repositories else [])]
        progress("looking for Delta's jars")
        jars = job_jars(
            delta_jars,
            _MASTER,
            binary,
            environment,
            lambda coordinates: resolved_jars(coordinates, resolving, workspace, environment),
            may_need_delta=True,
            cache=folder,
        )
        class_path = ":".join(jars.paths)
        archive = None if jars_only else class_archive(folder, binary, class_path, environment)
        if archive is not None and not archive.is_there:
            progress("running jobs on a small table, to keep the classes that they load")
            _write(archive, binary, class_path, workspace, environment)
    return WarmUpResult(tuple(map(Path, jars.paths)), archive.path if archive else None, tuple(_notes(folder)))


def _check_folder(folder: Path) -> None:
    try:
        make_folder(folder)
    except OSError as error:
        raise FolderError(f"{folder} cannot be made: {error.filename}: {error.strerror}.") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FolderError(f"{folder} cannot be written to by user {os.geteuid()}.")
    if why := untrusted(folder):
        raise FolderError(f"Tasks would not use the files in {folder}: {why}")


def _write(
    archive: ClassArchive, binary: str, class_path: str, workspace: Workspace, environment: Mapping[str, str]
) -> None:
    """Run jobs in a driver that writes the archive when it ends."""
    if folders := class_path_folders(binary, environment):
        raise WarmUpError(
            f"Java keeps no archive of classes where the class path has a folder with files: "
            f"{', '.join(map(str, folders))}. Empty it (settings may come from the Spark connection or from conf), or "
            "use --jars-only."
        )
    options = [LEAN_JAVA_OPTIONS, quiet_option(workspace), *filter(None, [archive.java_option(write=True)])]
    ran = subprocess.run(
        [
            *(binary, "--master", _MASTER, "--conf", f"{DRIVER_JAVA_OPTIONS}={' '.join(options)}"),
            *(["--driver-class-path", class_path] if class_path else []),
            *(str(workspace.warm_up), str(workspace.path / "table")),
        ],
        cwd=workspace.path,
        env={LAUNCHER_OPTIONS: LEAN_JAVA_OPTIONS, **environment, PYTHON_PATH: str(workspace.library)},
        capture_output=True,
        text=True,
        check=False,
    )
    archive.keep(whole=ran.returncode == 0)
    if not archive.is_there:
        tail = masked_text("\n".join((ran.stdout + ran.stderr).splitlines()[-15:]))
        raise WarmUpError(f"The driver left no archive of classes (exit code {ran.returncode}).\n{tail}")


def _notes(folder: Path) -> Iterator[str]:
    """Yield reasons why tasks, or tasks of other users, might not find or use the files in a folder."""
    setting = f"AIRFLOW__DELTA_PROVIDER__WORKER_CACHE={folder}"
    if folder != worker_cache().absolute():
        yield f"Set {setting} where tasks run, to have them use it."
    elif worker_cache_is_in_home():
        yield f"Set {setting} for users with another home: AIRFLOW_HOME is not set."
    closed = [each for each in (folder, *folder.parents) if not each.stat().st_mode & stat.S_IXOTH]
    if closed:
        yield f"Only user {os.geteuid()} can read it: others may not enter {closed[-1]}."
    elif os.geteuid() not in (0, installed_by()):
        yield (
            f"Tasks of other users will not use it: it belongs to user {os.geteuid()}, who has not installed this "
            "package. For those tasks, run this as root, or as the user who installed it."
        )
