"""Delta's jars on the worker: resolved once by Spark itself, then kept in a folder.

``--packages`` queries the repositories at every start and puts 30 jars before the job. Delta's five jars on the class
path have the same effect in a third of the time.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_delta_provider.configuration import worker_cache
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.engine.spark_library import (
    PACKAGES,
    PROVIDED,
    UnknownSparkError,
    default_delta_jars,
    delta_coordinates,
    is_local,
    split_jars,
)
from airflow_delta_provider.domain.report.transport import MarkerReader
from airflow_delta_provider.exceptions import DeltaJobError, DeltaRequestError
from airflow_delta_provider.hooks.settings_file import spark_version, spark_version_of_jars
from airflow_delta_provider.hooks.workspace import Workspace, can_keep, is_trusted

#: Function that resolves Maven coordinates and returns the jars' locations; slow.
Resolve = Callable[[str], list[str]]

#: Ivy names a jar after its organisation. Delta's other dependencies are already in Spark, or are for catalogs, whose
#: owners provide them. An older copy before Spark's own would break Spark.
_DELTA_JAR = re.compile(r"io\.delta_delta-[\w.-]+\.jar")


class DeltaJars:
    """Resolved jars, in a folder per coordinates.

    Jars that untrusted users could have written are not used.

    :param folder: folder of the worker's cache; created on first use
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "jars"

    def paths(self, coordinates: str, resolve: Resolve) -> list[str]:
        """Return the paths of Delta's jars, and resolve them if they are missing.

        If several tasks start together, one resolves and the others wait. If nothing can be kept, each task resolves
        for itself.
        """
        if kept := self.resolved(coordinates):
            return kept
        if not can_keep(self._folder):
            return _of_delta(coordinates, resolve(coordinates))
        with self._locked():
            if not self.resolved(coordinates):
                self._keep(coordinates, _of_delta(coordinates, resolve(coordinates)))
        return self._jars(coordinates)

    def resolved(self, coordinates: str) -> list[str] | None:
        """Return the paths of Delta's jars if they were resolved before, else None."""
        jars = self._jars(coordinates)
        return jars if jars and all(is_trusted(Path(jar)) for jar in jars) else None

    def _jars(self, coordinates: str) -> list[str]:
        return sorted(map(str, self._place(coordinates).glob("*.jar")))

    def _place(self, coordinates: str) -> Path:
        return self._folder / re.sub(r"[^A-Za-z0-9._-]", "_", coordinates)

    def _keep(self, coordinates: str, jars: Iterable[str]) -> None:
        """Copy jars to their folder, which appears complete or not at all."""
        place = self._place(coordinates)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".", ignore_cleanup_errors=True) as made:
            for jar in jars:
                copy = Path(shutil.copyfile(jar, Path(made, Path(jar).name)))
                copy.chmod(0o644)
            os.chmod(made, 0o755)
            shutil.rmtree(place, ignore_errors=True)
            Path(made).rename(place)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # Anyone who can open a file can lock it, even a reader.
        flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self._folder / ".lock", flags, 0o600), "wb") as lock:
            if os.fstat(lock.fileno()).st_uid == os.geteuid():
                os.fchmod(lock.fileno(), 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _of_delta(coordinates: str, resolved: Iterable[str]) -> list[str]:
    paths = [jar.removeprefix("file://").removeprefix("file:") for jar in resolved]
    delta = [path for path in paths if _DELTA_JAR.fullmatch(Path(path).name)]
    if not delta:
        raise FileNotFoundError(f"{coordinates} was resolved to {paths or 'nothing'}, with no jar of Delta")
    return delta


def resolved_jars(
    coordinates: str, command: Sequence[str], workspace: Workspace, environment: Mapping[str, str]
) -> list[str]:
    """Return the locations of the jars for Maven coordinates, with dependencies.

    No Spark context is started.

    :param command: spark-submit with the user's repositories and settings
    :param workspace: workspace of the submission
    :param environment: environment of spark-submit
    :raises DeltaJobError: if they could not be resolved
    """
    ran = subprocess.run(
        [
            *(*command, "--master", "local[1]", "--packages", coordinates),
            *("--py-files", str(workspace.archive), str(workspace.jar_resolver)),
            workspace.submission,
        ],
        capture_output=True,
        text=True,
        env=dict(environment),
        check=False,
    )
    reader = MarkerReader(workspace.submission)
    for line in ran.stdout.splitlines():
        for _, jars in reader.feed(line):
            return list(jars)
    tail = masked_text("\n".join(ran.stderr.splitlines()[-15:]))
    raise DeltaJobError(
        f"{coordinates} could not be resolved. Check the network and spark.jars.repositories, or set delta_jars "
        f"(--delta-jars) to a list of jars.\n{tail}"
    )


@dataclass(frozen=True)
class JobJars:
    """Jars for a job.

    :param coordinates: Maven coordinates that spark-submit resolves
    """

    paths: tuple[str, ...] = ()
    coordinates: tuple[str, ...] = ()


def job_jars(
    delta_jars: str | Sequence[str] | None,
    master: str,
    binary: str,
    environment: Mapping[str, str],
    resolve: Resolve,
    *,
    may_need_delta: bool,
    cache: Path | None = None,
) -> JobJars:
    """Return the jars of Delta for a job.

    :param delta_jars: source of the jars, as allowed by :func:`check_delta_jars`
    :param resolve: function that resolves coordinates on this machine, if that is needed
    :param may_need_delta: True if the job may need Delta; otherwise only jars that are already resolved are used
    :param cache: folder for resolved jars; by default the worker's cache
    :raises UnknownSparkError: if no release of Delta is known for this Spark
    """
    source = delta_jars or default_delta_jars(master)
    kept = DeltaJars(cache or worker_cache())
    if source == PROVIDED:
        return JobJars()
    if delta_jars is None and not may_need_delta:
        return JobJars(tuple(_resolved_before(kept, binary, environment)))
    if source == PACKAGES:
        source = delta_coordinates(spark_version(binary, environment))
    paths, coordinates = split_jars(source)
    if not is_local(master):
        return JobJars(paths, coordinates)
    resolved = kept.paths(",".join(coordinates), resolve) if coordinates else []
    return JobJars((*paths, *resolved))


def _resolved_before(kept: DeltaJars, binary: str, environment: Mapping[str, str]) -> list[str]:
    """Return Delta's jars if an earlier job needed them: jobs with the same class path share an archive of classes."""
    try:
        coordinates = delta_coordinates(spark_version_of_jars(binary, environment) or "")
    except UnknownSparkError:
        return []
    return kept.resolved(coordinates) or []


def check_delta_jars(delta_jars: Any) -> None:
    """Refuse a value that is neither a known source nor a list of jars.

    :raises DeltaRequestError: with the possible values
    """
    if delta_jars is None or delta_jars in (PACKAGES, PROVIDED):
        return
    if isinstance(delta_jars, str):
        paths, coordinates = split_jars(delta_jars)
        if (paths or coordinates) and all(path.endswith(".jar") for path in paths):
            return
    elif delta_jars and all(isinstance(jar, (str, Path)) for jar in delta_jars):
        return
    raise DeltaRequestError(
        f"delta_jars is {delta_jars!r}; it must be '{PACKAGES}', '{PROVIDED}' or a list of paths of jars or of "
        "Maven coordinates such as 'io.delta:delta-spark_4.1_2.13:4.3.1'."
    )
