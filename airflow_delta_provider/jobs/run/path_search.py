"""Finds the tables whose paths match a pattern, level by level, from listings alone."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.request.path_pattern import PathPattern, States, is_hidden
from airflow_delta_provider.jobs.process.progress import Progress, silent
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.storage.storage import Storage

#: Number of concurrent listings on storages with network latency.
_AT_ONCE = 16
#: Seconds between two progress lines of a long search.
_SECONDS_BETWEEN = 5.0


class FolderNotListedError(Exception):
    """A folder could not be listed, so the tables below it are unknown. The cause has the reason."""


@dataclass(frozen=True)
class _Seen:
    """The listing of a directory: its tables and the folders to search next, or an error."""

    tables: tuple[str, ...] = ()
    below: Mapping[str, States] | None = None
    error: FolderNotListedError | None = None


class PathSearch:
    """Searches for tables below the root of a pattern.

    :param marks: names of directories that every table has, such as ``_delta_log``
    :param progress: receives a line from time to time during a long search
    """

    def __init__(self, storage: Storage, marks: Collection[str], progress: Progress = silent) -> None:
        self._storage = storage
        self._marks = frozenset(marks)
        self._entered: set[str] = set()
        self._progress = progress
        self.unlisted: dict[str, FolderNotListedError] = {}
        """Folders that could not be listed, up to now."""

    def tables(self, pattern: str) -> Iterator[str]:
        """Yield the tables that match, those nearer to the root first.

        ``**`` does not enter tables, or folders whose names begin with ``_`` or ``.``. If several links lead to a
        directory, it is entered once.
        """
        from concurrent.futures import ThreadPoolExecutor  # slow to import

        parsed = PathPattern(pattern)
        level: Mapping[str, States] = {parsed.root: parsed.start}
        self._entered = set()
        told, folders, tables = time.monotonic(), 0, 0
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            while level:
                here = self._storage.is_local(self._qualified(parsed.root))
                look = map if here else pool.map
                following: defaultdict[str, States] = defaultdict(frozenset)
                for (folder, _), seen in zip(
                    sorted(level.items()), look(lambda each: self._look(parsed, *each), sorted(level.items()))
                ):
                    if seen.error is not None:
                        self.unlisted[folder] = seen.error
                    yield from seen.tables
                    folders, tables = folders + 1, tables + len(seen.tables)
                    if time.monotonic() - told > _SECONDS_BETWEEN:
                        told = time.monotonic()
                        found = f"{counted(folders, 'folder')} listed, {counted(tables, 'table')} found so far"
                        self._progress(f"{pattern}: {found}")
                    for path, states in (seen.below or {}).items():
                        following[path] |= states
                level = following

    def is_table(self, location: str) -> bool:
        """Return True if a directory has all the marks of a table."""
        return self._marks <= set(self._names(location))

    def _look(self, pattern: PathPattern, path: str, states: States) -> _Seen:
        """List one directory, unless the pattern has a literal name for the next level."""
        if (name := pattern.literal(states)) is not None:
            return _Seen(below={f"{path}/{name}": pattern.step(states, name)})
        if pattern.is_deep(states) and self._was_entered(path):
            return _Seen()
        try:
            names = self._names(path)
        except Exception as error:
            unlisted = FolderNotListedError(f"{path} could not be listed; tables below it were not looked at")
            unlisted.__cause__ = error
            return _Seen(error=unlisted)
        is_table = self._marks <= set(names)
        tables = (path,) if is_table and pattern.fits(states) else ()
        if is_table and pattern.is_deep(states):
            return _Seen(tables)
        below = {}
        for name in names:
            after = pattern.step(pattern.shallow(states) if is_hidden(name) else states, name)
            if after:
                below[f"{path}/{name}"] = after
        return _Seen(tables, below)

    def _was_entered(self, path: str) -> bool:
        """Return True if a local directory was already entered by another path."""
        location = self._qualified(path)
        if not self._storage.is_local(location):
            return False
        real = self._storage.real_location(location)
        if real in self._entered:
            return True
        self._entered.add(real)
        return False

    def _names(self, location: str) -> list[str]:
        try:
            return self._storage.list_folders(self._qualified(location))
        except MissingFileError:  # or it is a file
            return []

    def _qualified(self, location: str) -> str:
        return self._storage.qualify(f"{location}/")
