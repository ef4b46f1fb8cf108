"""Reading object stores without a JVM: S3, Google Cloud Storage and Azure, by obstore."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.storage.object_stores import open_store
from airflow_delta_provider.jobs.storage.remote_storage import RemoteStorage
from airflow_delta_provider.jobs.storage.retries import persistent
from airflow_delta_provider.jobs.storage.storage_errors import (
    FileChangedError,
    SilentStoreError,
    StorageError,
    UnconditionalError,
    UnreachableError,
    may_pass,
    reported,
)
from airflow_delta_provider.jobs.storage.store_uri import StoreUri

#: Stores that list names in order, and from one on.
_IN_ORDER = frozenset({"s3", "s3a", "s3n", "gs", "gcs"})
#: How names of buckets end that list in no order: Amazon's directory buckets.
_UNORDERED = "--x-s3"
#: Seconds after which a bucket that never answered is not asked again, as many tables may be in it.
_PATIENCE = 5.0
#: Follows all names in a directory, or those that begin as one does.
_LAST = "\U0010fffd"
_PAGE = 1000

Opens = Callable[[StoreUri, Mapping[str, str]], Any]


@dataclass
class _Bucket:
    """The store of a bucket; it is no longer asked where it has failed to answer for a while, and never did."""

    store: Any
    answered: bool = False
    failing_since: float | None = None

    def failed(self) -> None:
        """Take down that it did not answer."""
        self.failing_since = self.failing_since or time.monotonic()

    def check(self, path: str) -> None:
        """Check that it is worth while to ask.

        :raises SilentStoreError: if not
        """
        if self.answered or self.failing_since is None:
            return
        if time.monotonic() - self.failing_since > _PATIENCE:
            raise SilentStoreError(path)


class ObjectStorage(RemoteStorage):
    """Lists, reads and writes objects as files. They have no directories: one with nothing in it is missing.

    :param options: see :mod:`.object_stores`; by default all is taken from the environment
    :param opens: opens the store of a bucket
    """

    def __init__(self, options: Mapping[str, str] | None = None, opens: Opens = open_store) -> None:
        super().__init__()
        self._options = options or {}
        self._opens = opens
        self._buckets: dict[str, _Bucket] = {}
        self._opening = threading.Lock()

    @persistent(may_pass)
    def list_names(self, directory: str) -> list[str]:
        """Return the names of what is directly in ``directory``."""
        import obstore

        with self._asking(directory) as (store, key):
            found = obstore.list_with_delimiter(store, key or None)
        paths = [*found["common_prefixes"], *(item["path"] for item in found["objects"])]
        # A directory may have an object of its own, without content, that says that it is there.
        names = dict.fromkeys(path.rsplit("/", 1)[-1] for path in paths if path != key)
        if not names and key:
            raise MissingFileError(directory)
        return list(names)

    @persistent(may_pass)
    def list_folders(self, directory: str) -> list[str]:
        """Return what is directly in ``directory`` and has something in it."""
        import obstore

        with self._asking(directory) as (store, key):
            found = obstore.list_with_delimiter(store, key or None)
        if key and not found["common_prefixes"] and not found["objects"]:
            raise MissingFileError(directory)
        return [path.rsplit("/", 1)[-1] for path in found["common_prefixes"]]

    @persistent(may_pass)
    def list_from(self, directory: str, name: str) -> list[str]:
        """Return the names directly in ``directory`` that are ``name`` or come after it, asking for no others where the
        store can list from a name on.
        """
        uri = StoreUri.of(directory)
        if uri.scheme not in _IN_ORDER or uri.authority.endswith(_UNORDERED):
            return [found for found in self.list_names(directory) if found >= name]
        with self._asking(directory) as (store, key):
            names = [found for found in _scan(store, key, name) if found >= name]
            if not names and next(_scan(store, key, ""), None) is None:
                raise MissingFileError(directory)
        return names

    @persistent(may_pass)
    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        return self._get(path)[0]

    @persistent(may_pass)
    def size(self, path: str) -> int:
        """Return the size of a file, in bytes."""
        return int(self._head(path)["size"])

    @persistent(may_pass)
    def written_at(self, path: str) -> datetime:
        """Return when a file was last written, as the storage says, in UTC."""
        written: datetime = self._head(path)["last_modified"]
        return written.replace(microsecond=written.microsecond // 1000 * 1000)

    @persistent(may_pass)
    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from ``start`` to before ``end``, fewer where it ends before."""
        import obstore

        if start >= end:
            return b""
        try:
            with self._asking(path) as (store, key):
                return bytes(obstore.get_range(store, key, start=start, end=end))
        except Exception:
            if self._head(path)["size"] <= start:  # stores take that for an error, each for its own
                return b""
            raise

    @persistent(may_pass)
    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole; readers see the old one or the new one."""
        self._put(path, content, "overwrite")

    @persistent(may_pass)
    def read_stamped(self, path: str) -> tuple[bytes, str]:
        """Return the content of a file, and a stamp that changes when it is written; see :meth:`replace`."""
        content, meta = self._get(path)
        stamp = {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}
        return content, json.dumps(stamp) if stamp else ""

    @persistent(may_pass)
    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if nobody else did meanwhile, and return whether that was so: all at once, by the store itself.

        Where a connection broke, it may be written although this says that it is not.

        :param stamp: of the content that is replaced; None if there must be no such file. Where the store gave no
            stamp, or has no writes under a condition, it is written in any case.
        """
        mode: Any = "create" if stamp is None else json.loads(stamp) if stamp else "overwrite"
        try:
            self._put(path, content, mode)
        except (FileChangedError, MissingFileError):
            return False
        except UnconditionalError:
            self.write(path, content)
        return True

    def _get(self, path: str) -> tuple[bytes, Mapping[str, Any]]:
        import obstore

        with self._asking(path) as (store, key):
            got = obstore.get(store, key)
            return bytes(got.bytes()), got.meta

    def _head(self, path: str) -> Mapping[str, Any]:
        import obstore

        with self._asking(path) as (store, key):
            meta: Mapping[str, Any] = obstore.head(store, key)
            return meta

    def _put(self, path: str, content: bytes, mode: Any) -> None:
        import obstore

        with self._asking(path) as (store, key):
            obstore.put(store, key, content, mode=mode)

    @contextmanager
    def _asking(self, path: str) -> Iterator[tuple[Any, str]]:
        """Give the store of a path, and the key in it; errors of asking that come out as what they mean."""
        uri = StoreUri.of(path)
        bucket = self._bucket(uri)
        bucket.check(path)
        try:
            with reported(path):
                yield bucket.store, uri.key
        except UnreachableError:
            bucket.failed()
            raise
        except (MissingFileError, StorageError):
            bucket.answered = True
            raise
        bucket.answered = True

    def _bucket(self, uri: StoreUri) -> _Bucket:
        with self._opening:
            if uri.root not in self._buckets:
                with reported(str(uri)):
                    self._buckets[uri.root] = _Bucket(self._opens(uri, self._options))
            return self._buckets[uri.root]


def _scan(store: Any, key: str, name: str) -> Iterator[str]:
    """Yield names from about ``name`` on; what is further down is passed over, a request for each directory."""
    import obstore

    below = f"{key}/" if key else ""
    after: str | None = below + _before(name)
    passed = ""
    while after is not None:
        pages = obstore.list(store, key or None, offset=after or None, chunk_size=_PAGE)
        after = None
        for item in (item for page in pages for item in page):
            found, deeper, _ = item["path"][len(below) :].partition("/")
            if not found or (deeper and found == passed):
                continue
            yield found
            if deeper:
                passed, after = found, f"{below}{found}/{_LAST}"
                break


def _before(name: str) -> str:
    """Return what comes before ``name``, and after most that does."""
    return f"{name[:-1]}{chr(ord(name[-1]) - 1)}{_LAST}" if name > "!" and name[-1] > "!" else ""
