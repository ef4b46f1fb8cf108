"""What the storages have in common that are reached over a network without a JVM."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence

from airflow_delta_provider.jobs.storage.read_ahead import ReadAhead
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.storage.store_uri import StoreUri, encoded


class RemoteStorage(Storage, ABC):
    """A storage that makes one wait, so that many files are read at once; it has no links."""

    def __init__(self) -> None:
        self._ahead = ReadAhead(self.read)

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of files, in order; many are read at once."""
        return self._ahead.contents(paths)

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of files as :meth:`read_ahead` does, and None for one that is not there."""
        return self._ahead.present(paths)

    def spellings(self, uri: str) -> set[str]:
        """Return the ways in which Spark may write the URI of a file: encoded or not."""
        return {uri, encoded(uri)}

    def qualify(self, location: str) -> str:
        """Return the absolute URI of a location."""
        return str(StoreUri.of(location))
