"""Files on this machine."""

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

from airflow_delta_provider.jobs.storage.errors import MissingFileError, OutOfMemoryError
from airflow_delta_provider.jobs.storage.storage import Storage

#: Seconds to wait for the lock of a directory, and seconds between two tries.
_LOCK_SECONDS, _LOCK_PAUSE = 5.0, 0.02
#: URIs that are the same whether encoded or not.
PLAIN = re.compile(r"[A-Za-z0-9:/_.=+,-]+")


def local_path(location: str) -> str | None:
    """Return the path of a ``file:`` URI; None for any other location."""
    if location.startswith("file:"):
        return "/" + location[len("file:") :].lstrip("/")
    return None


class LocalStorage(Storage):
    """Reads and writes files by ``file:`` URIs.

    :param folder: base folder of relative paths; by default the working directory
    """

    def __init__(self, folder: str = "") -> None:
        self._folder = folder

    def list_names(self, directory: str) -> list[str]:
        with _missing_reported(directory):
            return os.listdir(_path(directory))

    def list_folders(self, directory: str) -> list[str]:
        """Return the names of the directories directly in ``directory``, including links to directories."""
        with _missing_reported(directory), os.scandir(_path(directory)) as entries:
            return [entry.name for entry in entries if entry.is_dir()]

    def read(self, path: str) -> bytes:
        descriptor, size = _opened(path)
        try:
            content = os.read(descriptor, size + 1)  # one byte more: usually one call suffices
            return content if len(content) == size else content + _rest(descriptor)
        except MemoryError:
            raise OutOfMemoryError(f"{_path(path)} of {size:,} bytes") from None
        except OSError as error:
            _name(error, path)
            raise
        finally:
            os.close(descriptor)

    def size(self, path: str) -> int:
        with _missing_reported(path):
            return os.path.getsize(_path(path))

    def written_at(self, path: str) -> datetime:
        with _missing_reported(path):
            milliseconds = os.stat(_path(path)).st_mtime_ns // 1_000_000
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)

    def read_range(self, path: str, start: int, end: int) -> bytes:
        descriptor, size = _opened(path)
        try:
            end, pieces = min(end, size), []
            while start < end and (piece := os.pread(descriptor, end - start, start)):
                pieces.append(piece)
                start += len(piece)
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        except OSError as error:
            _name(error, path)
            raise
        finally:
            os.close(descriptor)

    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole, and create missing directories."""
        local = _path(path)
        os.makedirs(os.path.dirname(local), exist_ok=True)
        replace_file(local, (content,))

    def delete(self, path: str) -> None:
        with _missing_reported(path):
            os.unlink(_path(path))

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if it has not changed; return True if it was written.

        On file systems with locks, only one caller at a time does this for files of one directory. On others, or if a
        process holds the lock for seconds, two callers at the same moment may both write.
        """
        directory = os.path.dirname(_path(path))
        os.makedirs(directory, exist_ok=True)
        with _locked(directory):
            return super().replace(path, content, stamp)

    def is_local(self, location: str) -> bool:
        return local_path(location) is not None

    def spellings(self, uri: str) -> set[str]:
        return spellings(uri, uri if PLAIN.fullmatch(uri) else quote(uri, safe="/:@!$&'()*+,;=-._~%"))

    def qualify(self, location: str) -> str:
        """Return the absolute ``file:`` URI of a path or a ``file:`` URI."""
        return f"file:{os.path.abspath(os.path.join(self._folder, local_path(location) or location))}"

    def real_location(self, location: str) -> str:
        """Return the ``file:`` URI of a location with links followed."""
        return f"file:{os.path.realpath(_path(self.qualify(location)))}"


def is_link(uri: str) -> bool:
    """Return True if a ``file:`` URI names a symbolic link."""
    return os.path.islink(_path(uri))


def list_links(directory: str) -> list[str]:
    """Return the names of the symbolic links directly in the directory of a ``file:`` URI.

    :raises MissingFileError: if there is no such directory
    """
    with _missing_reported(directory), os.scandir(_path(directory)) as entries:
        return [entry.name for entry in entries if entry.is_symlink()]


@contextmanager
def _locked(directory: str) -> Iterator[None]:
    """Keep others from replacing files of a directory, as far as the file system can.

    Anybody who can list the directory can hold its lock, so the wait is limited.
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
    """Try to lock a directory; return False if another process holds the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        return True
    return True


def replace_file(path: str, parts: Iterable[bytes]) -> None:
    """Replace a file as a whole, through a temporary file with an unpredictable name. Links are not followed.

    :param parts: parts of the content, in order
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
    """Return spellings of a URI, including variants with other slashes after ``file:``."""
    found = set(uris)
    return found | {re.sub(r"^file:/+", "file:///", spelling) for spelling in found}


def _path(location: str) -> str:
    path = local_path(location)
    if path is None:
        raise ValueError(f"{location} is not a file: URI")
    return path


def _opened(path: str) -> tuple[int, int]:
    """Open a file for reading. Return its descriptor and its size. Never waits for another process, as a pipe would.

    :raises MissingFileError: if there is no such file
    :raises OSError: if it is a pipe, a device or a folder
    """
    local = _path(path)
    try:
        descriptor = os.open(local, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(path) from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise OSError(errno.ENOTSUP, "Not a regular file", local)
    return descriptor, found.st_size


def _name(error: OSError, path: str) -> None:
    """Add the file's name to an error of a read by descriptor, which has none."""
    if error.filename is None:
        error.filename = _path(path)


def _rest(descriptor: int) -> bytes:
    """Read the rest of a file."""
    return b"".join(iter(lambda: os.read(descriptor, 1 << 20), b""))


@contextmanager
def _missing_reported(path: str) -> Iterator[None]:
    """Raise MissingFileError for a missing local file, as other storages do."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(path) from None
