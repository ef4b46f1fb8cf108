"""Paths of files as those see them who look at a repository."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from airflow_delta_provider.domain.request.table_name import is_relative, normal_location

_LOCAL = "file://"


@dataclass(frozen=True)
class SourceTree:
    """A repository, and the folder in it at which relative names of tables start.

    :param root: absolute path of the repository
    :param folder: absolute path
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
        """Return the absolute path or URI of a location."""
        if is_relative(location):
            return posixpath.normpath(posixpath.join(self.folder, location))
        normal = normal_location(location)
        return posixpath.normpath(normal.removeprefix(_LOCAL)) if normal.startswith(f"{_LOCAL}/") else location
