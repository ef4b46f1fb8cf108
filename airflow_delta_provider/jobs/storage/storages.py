"""All storages that are read without a JVM, combined: each location uses the storage for its scheme."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from airflow_delta_provider.jobs.storage.errors import NoStorageError, reported
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from airflow_delta_provider.jobs.storage.storage import Storage

M = TypeVar("M", bound=Callable[..., Any])

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_LOCAL = "file"
_EXTRA = "obstore"
#: Packages to install for a scheme. Other schemes need the package that fsspec uses for them.
_PACKAGES: Mapping[str, str] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), f"{_EXTRA}, or s3fs"),
    **dict.fromkeys(("gs", "gcs"), f"{_EXTRA}, or gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az", "azure", "wasb", "wasbs"), f"{_EXTRA}, or adlfs"),
}
#: Schemes that have another name in fsspec.
_IN_FSSPEC = {"s3n": "s3", "azure": "az", "wasb": "abfs", "wasbs": "abfs"}


def _of_location(method: M) -> M:
    """Return a method that calls the method of the same name on the storage of its first argument, a location."""

    @wraps(method, updated=())
    def served(self: Storages, location: str, *arguments: Any, **named: Any) -> Any:
        return getattr(self.of(location), method.__name__)(location, *arguments, **named)

    return cast("M", served)


class Storages(Storage):
    """Local files, object stores, and all other storages that fsspec supports.

    :param options: options of object stores, with obstore's names; by default everything comes from the environment
    :param filesystems: filesystems of fsspec by scheme; they take precedence
    :param folder: base folder of relative local paths; by default the working directory
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
        """Return the storage of a location; a path without a scheme is local.

        :raises NoStorageError: if no storage is available for its scheme
        """
        if location.startswith("file:/"):
            return self._by_scheme[_LOCAL]
        match = _SCHEME.match(location)
        scheme = match[1].lower() if match else _LOCAL
        with self._opening:
            if scheme not in self._by_scheme:
                self._by_scheme[scheme] = self._open(scheme)
            return self._by_scheme[scheme]

    def delta_options(self, location: str) -> Mapping[str, str]:
        """Return the options of the package ``deltalake`` for the store of a location."""
        from airflow_delta_provider.jobs.storage.object_storage import SCHEMES, delta_options

        scheme = location.partition("://")[0].lower()
        return delta_options(scheme, self._options) if scheme in SCHEMES else {}

    def _open(self, scheme: str) -> Storage:
        from airflow_delta_provider.jobs.storage.object_storage import SCHEMES

        if scheme in SCHEMES and find_spec("obstore"):
            if self._object_stores is None:
                from airflow_delta_provider.jobs.storage.object_storage import ObjectStorage

                self._object_stores = ObjectStorage(self._options)
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

    list_names = _of_location(Storage.list_names)
    list_folders = _of_location(Storage.list_folders)
    list_from = _of_location(Storage.list_from)
    read = _of_location(Storage.read)
    size = _of_location(Storage.size)
    written_at = _of_location(Storage.written_at)
    read_range = _of_location(Storage.read_range)
    write = _of_location(Storage.write)
    read_stamped = _of_location(Storage.read_stamped)
    replace = _of_location(Storage.replace)
    is_local = _of_location(Storage.is_local)
    read_each = _of_location(Storage.read_each)
    spellings = _of_location(Storage.spellings)
    qualify = _of_location(Storage.qualify)
    real_location = _of_location(Storage.real_location)

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        return self.of(paths[0]).read_ahead(paths) if paths else iter(())

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        return self.of(paths[0]).read_present(paths) if paths else iter(())


def _of_fsspec(filesystem: Any) -> Storage:
    from airflow_delta_provider.jobs.storage.fsspec_storage import FsspecStorage

    return FsspecStorage(filesystem)


def _unserved(scheme: str) -> NoStorageError:
    package = _PACKAGES.get(scheme, "the package of fsspec for it")
    return NoStorageError(
        f"nothing here reads {scheme}:// without Spark", f"Install {package}, or use the engine spark."
    )
