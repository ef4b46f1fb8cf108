"""Paths of files relative to a repository."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from airflow_delta_provider.domain.request.table_name import is_relative, normal_location

_LOCAL = "file://"


@dataclass(frozen=True)
class SourceTree:
    """A repository, with the folder that relative table names start from.

    :param root: absolute path of the repository
    :param folder: absolute path of the folder
    """

    root: str
    folder: str

    def path(self, location: str) -> str | None:
        """Return the path of a location, relative to the root; None if it is elsewhere."""
        whole = self.absolute(location)
        if whole == self.root:
            return "."
        root = f"{self.root.rstrip('/')}/"
        return whole.removeprefix(root) if whole.startswith(root) else None

    def absolute(self, location: str) -> str:
        if is_relative(location):
            return posixpath.normpath(posixpath.join(self.folder, location))
        normal = normal_location(location)
        return posixpath.normpath(normal.removeprefix(_LOCAL)) if normal.startswith(f"{_LOCAL}/") else location
