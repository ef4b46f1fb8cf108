"""Delta's jars on the worker: resolved once by Spark itself, then kept in a folder.

``--packages`` queries the repositories at every start and puts 30 jars before the job. Delta's five jars on the class
path have the same effect in a third of the time.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from airflow_delta_provider.hooks.trusted_files import can_keep, is_trusted

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
