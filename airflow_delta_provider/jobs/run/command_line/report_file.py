"""The report file of the command line: a local file, or a URI that the storage can write."""

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

    :param place: a local path, or a URI that is written through the storage
    :raises RequestError: if no file can be written to the path
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._path = None if _URI.match(place) else _followed(Path(place))
        if self._path is not None:
            _check(self._path)

    def check(self, storage: Storage) -> None:
        """Check that the storage of a URI is known, before the job starts.

        :raises Exception: error of the storage, if it is not known
        """
        if self._path is None:
            storage.qualify(self.place)

    def write(self, text: Iterable[str], storage: Storage) -> None:
        """Write the whole report or nothing. A device or pipe, such as ``/dev/stdout``, is written directly.

        :param text: parts of the report, in order
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
    """Return True if the path is a device, pipe or socket, which a regular file must not replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _followed(path: Path) -> Path:
    """Return the target of a link, so that the target is replaced and not the link."""
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
