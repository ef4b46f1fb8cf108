"""A storage as it will be after a repair: with further files, and without those that are moved aside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone

from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.storage import S, Storage, T


class Overlay(Storage):
    """Reads files of a storage, and others in their place. Nothing is written.

    :param added: contents of further files by URI
    :param hidden: URIs of files that are treated as missing
    """

    def __init__(self, storage: Storage, added: Mapping[str, bytes], hidden: Collection[str]) -> None:
        self._storage = storage
        self._added = added
        self._hidden = hidden

    def list_names(self, directory: str) -> list[str]:
        below = f"{directory.rstrip('/')}/"
        names = [name for name in self._storage.list_names(directory) if below + name not in self._hidden]
        added = [uri[len(below) :] for uri in self._added if uri.startswith(below) and "/" not in uri[len(below) :]]
        return [*names, *(name for name in added if name not in names)]

    def list_folders(self, directory: str) -> list[str]:
        return self._storage.list_folders(directory)

    def read(self, path: str) -> bytes:
        content = self._content(path)
        return self._storage.read(path) if content is None else content

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        if any(path in self._added or path in self._hidden for path in paths):
            return map(self.read, paths)
        return self._storage.read_ahead(paths)

    def read_each(self, location: str, read: Callable[[S], T], items: Iterable[S]) -> Iterator[tuple[S, T]]:
        return self._storage.read_each(location, read, items)

    def size(self, path: str) -> int:
        content = self._content(path)
        return self._storage.size(path) if content is None else len(content)

    def written_at(self, path: str) -> datetime:
        content = self._content(path)
        return self._storage.written_at(path) if content is None else datetime.now(timezone.utc)

    def read_range(self, path: str, start: int, end: int) -> bytes:
        content = self._content(path)
        return self._storage.read_range(path, start, end) if content is None else content[start:end]

    def write(self, path: str, content: bytes) -> None:
        raise NotImplementedError("an overlay is only read")

    def is_local(self, location: str) -> bool:
        return self._storage.is_local(location)

    def spellings(self, uri: str) -> set[str]:
        return self._storage.spellings(uri)

    def qualify(self, location: str) -> str:
        return self._storage.qualify(location)

    def real_location(self, location: str) -> str:
        return self._storage.real_location(location)

    def _content(self, path: str) -> bytes | None:
        if path in self._hidden:
            raise MissingFileError(path)
        return self._added.get(path)
