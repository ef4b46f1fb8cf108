"""Files of this machine."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from urllib.parse import quote

from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.storage.storage_errors import OutOfMemoryError

#: Seconds to wait for the lock of a directory, and between two tries.
_LOCK_SECONDS, _LOCK_PAUSE = 5.0, 0.02
#: URIs that look the same whether encoded or not.
PLAIN = re.compile(r"[A-Za-z0-9:/_.=+,-]+")


def local_path(location: str) -> str | None:
    """Return the path of a ``file:`` URI; None for any other location."""
    if location.startswith("file:"):
        return "/" + location[len("file:") :].lstrip("/")
    return None


class LocalStorage(Storage):
    """Reads and writes files by ``file:`` URIs.

    :param folder: at which relative paths start; by default the working directory
    """

    def __init__(self, folder: str = "") -> None:
        self._folder = folder

    def list_names(self, directory: str) -> list[str]:
        """Return the names of what lies directly in ``directory``."""
        with _missing_reported(directory):
            return os.listdir(_path(directory))

    def list_folders(self, directory: str) -> list[str]:
        """Return the names of the directories that lie directly in ``directory``, links to some among them."""
        with _missing_reported(directory), os.scandir(_path(directory)) as entries:
            return [entry.name for entry in entries if entry.is_dir()]

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with _opened(path) as (descriptor, size):
            try:
                content = os.read(descriptor, size + 1)  # a byte more than there is: one call reads the usual file
                return content if len(content) == size else content + _rest(descriptor)
            except MemoryError:
                raise OutOfMemoryError(f"{_path(path)} of {size:,} bytes") from None

    def size(self, path: str) -> int:
        """Return the size of a file, in bytes."""
        with _missing_reported(path):
            return os.path.getsize(_path(path))

    def written_at(self, path: str) -> datetime:
        """Return when a file was last written, in UTC, to the millisecond."""
        with _missing_reported(path):
            milliseconds = os.stat(_path(path)).st_mtime_ns // 1_000_000
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from ``start`` to before ``end``, fewer where it ends before."""
        with _opened(path) as (descriptor, size):
            end, pieces = min(end, size), []
            while start < end and (piece := os.pread(descriptor, end - start, start)):
                pieces.append(piece)
                start += len(piece)
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole; directories that are missing are made."""
        local = _path(path)
        os.makedirs(os.path.dirname(local), exist_ok=True)
        replace_file(local, (content,))

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if it still is what it was, and return whether that was so.

        Of all that call this for files of one directory one does so at a time, on file systems that have locks. On
        others, and if somebody does not release the lock for seconds, two that do so within the same moment may both
        write.
        """
        directory = os.path.dirname(_path(path))
        os.makedirs(directory, exist_ok=True)
        with _locked(directory):
            return super().replace(path, content, stamp)

    def is_local(self, location: str) -> bool:
        """Whether a location is a ``file:`` URI."""
        return local_path(location) is not None

    def spellings(self, uri: str) -> set[str]:
        """Return the ways in which engines may write the URI of a file."""
        return spellings(uri, uri if PLAIN.fullmatch(uri) else quote(uri, safe="/:@!$&'()*+,;=-._~%"))

    def qualify(self, location: str) -> str:
        """Return the absolute ``file:`` URI of a path or a ``file:`` URI."""
        return f"file:{os.path.abspath(os.path.join(self._folder, local_path(location) or location))}"

    def real_location(self, location: str) -> str:
        """Return the ``file:`` URI of where a location really lies, links followed."""
        return f"file:{os.path.realpath(_path(self.qualify(location)))}"


def is_link(uri: str) -> bool:
    """Return True if a ``file:`` URI names a symbolic link."""
    return os.path.islink(_path(uri))


def list_links(directory: str) -> list[str]:
    """Return the names of the symbolic links that lie directly in the directory of a ``file:`` URI.

    :raises MissingFileError: if there is no such directory
    """
    with _missing_reported(directory), os.scandir(_path(directory)) as entries:
        return [entry.name for entry in entries if entry.is_symlink()]


@contextmanager
def _locked(directory: str) -> Iterator[None]:
    """Keep others from replacing files of a directory, as far as the file system can.

    Everybody who can list the directory can hold its lock, so it is not waited for without end.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + _LOCK_SECONDS
        while not _has_locked(descriptor) and time.monotonic() < until:
            time.sleep(_LOCK_PAUSE)
        yield
    finally:
        os.close(descriptor)


def _has_locked(descriptor: int) -> bool:
    """Lock a directory if nobody else has; return False if somebody has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        return True
    return True


def replace_file(path: str, parts: Iterable[bytes]) -> None:
    """Replace a file as a whole. The new one is written under a name that nobody can take first, and follows no link.

    :param parts: the content
    :raises OSError: if it cannot be written
    """
    partial = f"{path}.{os.urandom(8).hex()}.tmp"
    try:
        with open(partial, "xb") as file:
            file.writelines(parts)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise


def spellings(*uris: str) -> set[str]:
    """Return spellings of a URI, with those that differ in the slashes after ``file:``."""
    found = set(uris)
    return found | {re.sub(r"^file:/+", "file:///", spelling) for spelling in found}


def _path(location: str) -> str:
    path = local_path(location)
    if path is None:
        raise ValueError(f"{location} is not a file: URI")
    return path


class _opened:  # a context manager; one made of a generator takes as long as opening the file
    """Opens a file to read it, without waiting for another process, as pipes do; gives its descriptor and size.

    :raises MissingFileError: if there is none
    :raises OSError: if it is a pipe, a device or a folder
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> tuple[int, int]:
        local = _path(self._path)
        try:
            self._descriptor = os.open(local, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise MissingFileError(self._path) from None
        found = os.fstat(self._descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(self._descriptor)
            raise OSError(errno.ENOTSUP, "Not a regular file", local)
        return self._descriptor, found.st_size

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        os.close(self._descriptor)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = _path(self._path)  # reads by a descriptor name no file


def _rest(descriptor: int) -> bytes:
    """Read the rest of a file."""
    return b"".join(iter(lambda: os.read(descriptor, 1 << 20), b""))


@contextmanager
def _missing_reported(path: str) -> Iterator[None]:
    """Say of a file of this machine that it is missing, as of one elsewhere."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(path) from None
