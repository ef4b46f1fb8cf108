"""Common base of storages that are read over a network without a JVM."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence

from airflow_delta_provider.jobs.storage.read_ahead import ReadAhead
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.storage.store_uri import StoreUri, encoded


class RemoteStorage(Storage, ABC):
    """A storage with high latency, so that many files are read at once. It has no links."""

    def __init__(self) -> None:
        self._ahead = ReadAhead(self.read)

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        return self._ahead.contents(paths)

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        return self._ahead.present(paths)

    def spellings(self, uri: str) -> set[str]:
        """Return the URIs that Spark may write for a file: encoded or not."""
        return {uri, encoded(uri)}

    def qualify(self, location: str) -> str:
        return str(StoreUri.of(location))
