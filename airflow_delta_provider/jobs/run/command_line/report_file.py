"""Where the command line writes a report: a file on this machine, or wherever the storage can write."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.jobs.storage.local_storage import replace_file
from airflow_delta_provider.jobs.storage.storage import Storage

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class ReportFile:
    """The file of one report.

    :param place: a path on this machine, or a URI, written through the storage
    :raises RequestError: if no file can be written to the path
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._path = None if _URI.match(place) else _followed(Path(place))
        if self._path is not None:
            _check(self._path)

    def check(self, storage: Storage) -> None:
        """Look whether the storage of a URI is known, before anything is done.

        :raises Exception: what the storage says if it is not
        """
        if self._path is None:
            storage.qualify(self.place)

    def write(self, text: Iterable[str], storage: Storage) -> None:
        """Write the report whole or not at all; to a device or a pipe, such as ``/dev/stdout``, as it is.

        :param text: in parts
        """
        parts = (part.encode(errors="backslashreplace") for part in text)
        if self._path is None:
            storage.write(storage.qualify(self.place), b"".join(parts))
            return
        if _is_special(self._path):
            _write(self._path, parts)
            return
        replace_file(str(self._path), parts)


def _write(path: Path, parts: Iterable[bytes]) -> None:
    with open(path, "wb") as opened:
        opened.writelines(parts)


def _is_special(path: Path) -> bool:
    """Whether something is there that is not a regular file: it must not be replaced by one."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _followed(path: Path) -> Path:
    """Return where a link leads: the file there is replaced, not the link."""
    return path if _is_special(path) or not path.is_symlink() else path.resolve()


def _check(path: Path) -> None:
    if _is_special(path):
        return
    folder = path.parent
    if not folder.is_dir():
        raise RequestError("there is no directory {folder}. Make it, or name another.", folder=folder)
    if path.is_dir():
        raise RequestError("that is a directory. Name a file in it.")
    if not os.access(folder, os.W_OK):
        raise RequestError("{folder} is not writable. Change its permissions, or name another.", folder=folder)
