"""Deletion vectors of live files: no path may be live twice."""

from __future__ import annotations

from collections.abc import Container, Iterable

from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.transition import Transition


class LiveVectors:
    """Remembers the deletion vector of each file that has one."""

    def __init__(self) -> None:
        self._vectors: dict[str, str] = {}

    def begin(self, files: Iterable[LiveFile]) -> None:
        """Take the files that are live at the start of the history."""
        self._vectors |= {file.path: file.key[1] for file in files if file.deletion_vector is not None}

    def has_none_of(self, paths: Iterable[str]) -> bool:
        """Return True if no file of these paths ever had a vector."""
        return self._vectors.keys().isdisjoint(paths)

    def follow(self, added: Iterable[FileKey], gone: Container[FileKey]) -> bool:
        """Return True if each file that gets a vector replaces its last known key."""
        known = self._vectors
        return all((path, known.get(path, "")) in gone for path, _ in added)

    def note(self, keys: Iterable[FileKey]) -> None:
        """Record the keys of files that are added with vectors."""
        self._vectors.update(keys)

    def take(self, transition: Transition, live: Container[FileKey]) -> list[LiveFile]:
        """Record a commit. Return the files that it adds while they stay live with another deletion vector.

        :param live: the keys that are live after the commit
        """
        # A file that never has a vector has only one key.
        adds = [f for f in transition.commit.adds if f.deletion_vector is not None or f.path in self._vectors]
        twice = [file for file in adds if any(key != file.key and key in live for key in self.keys(file.path))]
        self._vectors |= {file.path: file.key[1] for file in adds if file.deletion_vector is not None}
        return twice

    def keys(self, path: str) -> list[FileKey]:
        """Return the keys that a file may have had when it was live before."""
        vector = self._vectors.get(path)
        return [(path, "")] if vector is None else [(path, ""), (path, vector)]
