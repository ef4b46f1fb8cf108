"""Storage access through an fsspec filesystem, such as one that Airflow made from a connection."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from inspect import signature
from typing import Any

from airflow_delta_provider.jobs.storage.errors import FileChangedError, MissingFileError, may_pass, reported
from airflow_delta_provider.jobs.storage.object_storage import SCHEMES as OBJECT_STORES
from airflow_delta_provider.jobs.storage.remote_storage import RemoteStorage, StoreUri, persistent

#: Names that filesystems use for a value that changes with a file. The first one present is used.
_STAMPS = ("ETag", "etag", "generation", "LastModified", "last_modified", "updated", "mtime", "created")


class FsspecStorage(RemoteStorage):
    """Lists, reads and writes files of one filesystem.

    :param filesystem: an ``fsspec.AbstractFileSystem`` with its credentials
    """

    def __init__(self, filesystem: Any) -> None:
        super().__init__()
        self._filesystem = filesystem
        read = getattr(filesystem, "_cat_file", None)
        self._in_one_request: Mapping[str, Any] = {}
        if read and "max_concurrency" in signature(read).parameters:  # by default, s3fs first requests the size
            self._in_one_request = {"max_concurrency": 1}

    @persistent(may_pass)
    def list_names(self, directory: str) -> list[str]:
        path = self._path(directory)
        with reported(directory):
            self._filesystem.invalidate_cache(path)
            found = (entry.rstrip("/") for entry in self._filesystem.ls(path, detail=False))
            return [entry.rsplit("/", 1)[-1] for entry in found if entry != path.rstrip("/")]

    @persistent(may_pass)
    def list_folders(self, directory: str) -> list[str]:
        path = self._path(directory)
        with reported(directory):
            self._filesystem.invalidate_cache(path)
            found = self._filesystem.ls(path, detail=True)
            folders = (entry["name"].rstrip("/") for entry in found if entry["type"] == "directory")
            return [folder.rsplit("/", 1)[-1] for folder in folders if folder != path.rstrip("/")]

    @persistent(may_pass)
    def read(self, path: str) -> bytes:
        with reported(path):
            return bytes(self._filesystem.cat_file(self._path(path), **self._in_one_request))

    @persistent(may_pass)
    def size(self, path: str) -> int:
        return int(self._info(path)["size"])

    @persistent(may_pass)
    def written_at(self, path: str) -> datetime:
        with reported(path):
            written: datetime = self._filesystem.modified(self._path(path))
        written = written if written.tzinfo else written.replace(tzinfo=timezone.utc)
        return written.astimezone(timezone.utc).replace(microsecond=written.microsecond // 1000 * 1000)

    @persistent(may_pass)
    def read_range(self, path: str, start: int, end: int) -> bytes:
        if start >= end:
            return b""
        try:
            with reported(path):
                return bytes(self._filesystem.cat_file(self._path(path), start=start, end=end))
        except Exception:
            if self._info(path)["size"] <= start:  # some filesystems raise an error for such a range
                return b""
            raise

    @persistent(may_pass)
    def write(self, path: str, content: bytes) -> None:
        """Replace a file, atomically if the filesystem writes whole files, as object stores do."""
        self._write(path, content, mode="overwrite")

    def read_stamped(self, path: str) -> tuple[bytes, str]:
        stamp = self._stamp(path)  # read first: if the file changes in between, the stamp does not match the content
        return self.read(path), stamp

    @persistent(may_pass)
    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if nobody else wrote it meanwhile; return True if it was written.

        If the file must not exist, the filesystem checks that if it can, as s3fs does. Otherwise the stamp is
        compared before the write: if two processes write at the same moment, the last one wins.

        :param stamp: stamp of the content that is replaced; None if the file must not exist
        """
        try:
            if stamp is not None and self._stamp(path) != stamp:
                return False
            self._write(path, content, mode="create" if stamp is None else "overwrite")
        except (FileChangedError, MissingFileError):
            return False
        return True

    def _write(self, path: str, content: bytes, *, mode: str) -> None:
        target = self._path(path)
        with reported(path):
            if StoreUri.of(path).scheme not in OBJECT_STORES:
                self._filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._filesystem.pipe_file(target, content, mode=mode)

    @persistent(may_pass)
    def _stamp(self, path: str) -> str:
        with reported(path):
            self._filesystem.invalidate_cache(self._path(path))
        info = self._info(path)
        changing = next((info[key] for key in _STAMPS if info.get(key)), "")
        return f"{info.get('size')} {changing}"

    def _info(self, path: str) -> Mapping[str, Any]:
        with reported(path):
            info: Mapping[str, Any] = self._filesystem.info(self._path(path))
            return info

    def _path(self, location: str) -> str:
        """Return the filesystem's own path for a location."""
        uri = StoreUri.of(location)
        protocol = self._filesystem.protocol
        known = (protocol,) if isinstance(protocol, str) else tuple(protocol)
        scheme = uri.scheme if uri.scheme in known else known[0]
        path: str = self._filesystem._strip_protocol(f"{scheme}://{uri.authority}/{uri.key}")
        return path
