"""All storages that are read without a JVM, as one: each location by what serves its scheme."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from typing import Any

from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.storage.storage_errors import NoStorageError, reported

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_LOCAL = "file"
_EXTRA = "airflow-delta-provider[object-store]"
#: What to install for a scheme; for any other, fsspec knows.
_PACKAGES: Mapping[str, str] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), f"{_EXTRA}, or s3fs"),
    **dict.fromkeys(("gs", "gcs"), f"{_EXTRA}, or gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az", "azure", "wasb", "wasbs"), f"{_EXTRA}, or adlfs"),
}
#: Schemes that fsspec has under another name.
_IN_FSSPEC = {"s3n": "s3", "azure": "az", "wasb": "abfs", "wasbs": "abfs"}


class Storages:
    """The files of this machine, of object stores, and of whatever else fsspec reaches.

    :param options: of object stores, by the names that obstore gives them; by default all is taken from the environment
    :param filesystems: filesystems of fsspec by scheme, which come before anything else
    :param folder: at which relative paths of this machine start; by default the working directory
    """

    def __init__(
        self,
        options: Mapping[str, str] | None = None,
        filesystems: Mapping[str, Any] | None = None,
        folder: str = "",
    ) -> None:
        self._options = options or {}
        self._opening = threading.Lock()
        self._object_stores: Storage | None = None
        self._by_scheme: dict[str, Storage] = {_LOCAL: LocalStorage(folder)}
        for scheme, filesystem in (filesystems or {}).items():
            self._by_scheme[scheme.lower()] = _of_fsspec(filesystem)

    def of(self, location: str) -> Storage:
        """Return the storage of a location; a path without a scheme is one of this machine.

        :raises NoStorageError: if nothing here serves its scheme
        """
        match = _SCHEME.match(location)
        scheme = match[1].lower() if match else _LOCAL
        with self._opening:
            if scheme not in self._by_scheme:
                self._by_scheme[scheme] = self._open(scheme)
            return self._by_scheme[scheme]

    def _open(self, scheme: str) -> Storage:
        from airflow_delta_provider.jobs.storage.object_stores import SCHEMES

        if scheme in SCHEMES and find_spec("obstore"):
            if self._object_stores is None:
                self._object_stores = _of_obstore(self._options)
            return self._object_stores
        if find_spec("fsspec") is None:
            raise _unserved(scheme)
        from fsspec import filesystem, get_filesystem_class

        name = _IN_FSSPEC.get(scheme, scheme)
        try:
            get_filesystem_class(name)
        except (ImportError, ValueError) as error:
            raise _unserved(scheme) from error
        with reported(f"{scheme}://"):
            return _of_fsspec(filesystem(name, **self._options))

    def list_names(self, directory: str) -> list[str]:
        """Return the names of what is directly in ``directory``."""
        return self.of(directory).list_names(directory)

    def list_folders(self, directory: str) -> list[str]:
        """Return the names of the directories that are directly in ``directory``."""
        return self.of(directory).list_folders(directory)

    def list_from(self, directory: str, name: str) -> list[str]:
        """Return the names in ``directory`` that are ``name`` or sort after it."""
        return self.of(directory).list_from(directory, name)

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        return self.of(path).read(path)

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of files of one storage, in order."""
        return self.of(paths[0]).read_ahead(paths) if paths else iter(())

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of files of one storage, in order, and None for one that is not there."""
        return self.of(paths[0]).read_present(paths) if paths else iter(())

    def size(self, path: str) -> int:
        """Return the size of a file, in bytes."""
        return self.of(path).size(path)

    def written_at(self, path: str) -> datetime:
        """Return when a file was last written, in UTC."""
        return self.of(path).written_at(path)

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from ``start`` to before ``end``, fewer where it ends before."""
        return self.of(path).read_range(path, start, end)

    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole."""
        self.of(path).write(path, content)

    def read_stamped(self, path: str) -> tuple[bytes, str]:
        """Return the content of a file, and a stamp that changes when it is written."""
        return self.of(path).read_stamped(path)

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if nobody else did meanwhile, and return whether that was so."""
        return self.of(path).replace(path, content, stamp)

    def is_local(self, location: str) -> bool:
        """Whether files of ``location`` are read without a network."""
        return self.of(location).is_local(location)

    def spellings(self, uri: str) -> set[str]:
        """Return the ways in which engines may write the URI of a file."""
        return self.of(uri).spellings(uri)

    def qualify(self, location: str) -> str:
        """Return the absolute URI of a location."""
        return self.of(location).qualify(location)

    def real_location(self, location: str) -> str:
        """Return the absolute URI of where a location really lies."""
        return self.of(location).real_location(location)


def _of_obstore(options: Mapping[str, str]) -> Storage:
    from airflow_delta_provider.jobs.storage.object_storage import ObjectStorage

    return ObjectStorage(options)


def _of_fsspec(filesystem: Any) -> Storage:
    from airflow_delta_provider.jobs.storage.fsspec_storage import FsspecStorage

    return FsspecStorage(filesystem)


def _unserved(scheme: str) -> NoStorageError:
    package = _PACKAGES.get(scheme, "the package of fsspec for it")
    return NoStorageError(
        f"nothing here reads {scheme}:// without Spark", f"Install {package}, or use the engine spark."
    )
