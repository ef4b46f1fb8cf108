"""Files in folders where other users may write: reads never wait for a pipe, and writes never follow a link."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def read_regular(path: Path | str) -> bytes:
    """Return the content of a regular file.

    :raises OSError: if it cannot be read, or is a pipe or a device, which could block forever
    """
    with open(path, "rb", opener=_open_at_once) as file:
        _check_regular(file.fileno(), path)
        return file.read()


def read_text(path: Path | str) -> str:
    """Return the text of a regular file in UTF-8.

    :raises OSError: see :func:`read_regular`
    :raises UnicodeDecodeError: if it is not UTF-8
    """
    with open(path, encoding="utf-8", opener=_open_at_once) as file:
        _check_regular(file.fileno(), path)
        return file.read()


def open_own(path: Path | str) -> int:
    """Open a regular file of this process's user for reading, and return its descriptor.

    Links are not followed.

    :raises OSError: if it cannot be read, is something else, or belongs to another user
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if _check_regular(descriptor, path).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "It belongs to another user", str(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def replace_file(path: Path | str, content: bytes) -> None:
    """Replace a file atomically: readers see the old or the new file.

    A link at the path is replaced, not followed.

    :raises OSError: if it cannot be written
    """
    partial = f"{path}.{os.urandom(8).hex()}.tmp"  # an unpredictable name, so that nobody can create it first
    try:
        with open(partial, "xb") as file:
            file.write(content)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _check_regular(descriptor: int, path: Path | str) -> os.stat_result:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.ENOTSUP, "Not a regular file", str(path))
    return found
