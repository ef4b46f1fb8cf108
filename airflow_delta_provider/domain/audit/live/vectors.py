"""Which live files have deletion vectors: no path may be live twice."""

from __future__ import annotations

from collections.abc import Container, Iterable

from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.transition import Transition


class LiveVectors:
    """Remembers which deletion vector each file with one has."""

    def __init__(self) -> None:
        self._vectors: dict[str, str] = {}

    def begin(self, files: Iterable[LiveFile]) -> None:
        """Take the files that are live where the history begins."""
        self._vectors |= {file.path: file.key[1] for file in files if file.deletion_vector is not None}

    def has_none_of(self, paths: Iterable[str]) -> bool:
        """Whether no file of these paths ever had a vector."""
        return self._vectors.keys().isdisjoint(paths)

    def follow(self, added: Iterable[FileKey], gone: Container[FileKey]) -> bool:
        """Whether files get vectors whose last keys, as far as they are known, are those of files that go."""
        known = self._vectors
        return all((path, known.get(path, "")) in gone for path, _ in added)

    def note(self, keys: Iterable[FileKey]) -> None:
        """Take the keys of files that are added with vectors."""
        self._vectors.update(keys)

    def take(self, transition: Transition, live: Container[FileKey]) -> list[LiveFile]:
        """Take a commit, and return the files that it adds while they stay live with another deletion vector.

        :param live: the keys of what is live after the commit
        """
        # Without a vector, then and now, a file has one key.
        adds = [f for f in transition.commit.adds if f.deletion_vector is not None or f.path in self._vectors]
        twice = [file for file in adds if any(key != file.key and key in live for key in self.keys(file.path))]
        self._vectors |= {file.path: file.key[1] for file in adds if file.deletion_vector is not None}
        return twice

    def keys(self, path: str) -> list[FileKey]:
        """Return the keys under which a file may have been live before."""
        vector = self._vectors.get(path)
        return [(path, "")] if vector is None else [(path, ""), (path, vector)]
