"""Delta's jars on the worker: resolved once by Spark itself, then reused by path.

``--packages`` asks the repositories at every start and puts 30 jars before the job; the five of Delta
on the class path do the same in a third of the time.
"""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Resolves Maven coordinates and returns the jars' locations; slow.
Resolve = Callable[[str], list[str]]

#: Ivy names a jar after its organisation. The rest that Delta drags along is in Spark already, or
#: serves catalogs, whose owners provide it; an older copy before Spark's own would break Spark.
_DELTA_JAR = re.compile(r"io\.delta_delta-[\w.-]+\.jar")


class DeltaJars:
    """A small cache of resolved jars by coordinates.

    :param folder: where the lists are kept; made when needed
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def paths(self, coordinates: str, resolve: Resolve) -> list[str]:
        """Return the paths of Delta's jars, resolving them if they are not there.

        Several tasks that start together resolve once: the others wait for the first.
        """
        if cached := self.resolved(coordinates):
            return cached
        with self._locked(coordinates):
            if cached := self.resolved(coordinates):
                return cached
            paths = [jar.removeprefix("file://").removeprefix("file:") for jar in resolve(coordinates)]
            delta = [path for path in paths if _DELTA_JAR.fullmatch(Path(path).name)]
            if not delta:
                raise FileNotFoundError(f"{coordinates} was resolved to {paths or 'nothing'}, with no jar of Delta")
            self._list(coordinates).write_text(json.dumps(delta), encoding="utf-8")
            return delta

    def resolved(self, coordinates: str) -> list[str] | None:
        """Return the paths of Delta's jars if they were resolved before, else None."""
        try:
            paths: list[str] = json.loads(self._list(coordinates).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return paths if paths and all(Path(path).is_file() for path in paths) else None

    def _list(self, coordinates: str) -> Path:
        return self._folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', coordinates)}.json"

    @contextmanager
    def _locked(self, coordinates: str) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(f"{self._list(coordinates)}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
