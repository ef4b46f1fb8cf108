"""The start of relative table names, so that a table has the same name wherever a command runs."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_delta_provider.domain.rendering.source_tree import SourceTree
from airflow_delta_provider.domain.request.path_pattern import Exclusion
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, is_relative, place_of

#: Entry in the root of a repository: a folder, or a file in a worktree.
_REPOSITORY = ".git"


@dataclass(frozen=True)
class ProjectFolder:
    """The folder of the configuration file, or the working directory if there is none.

    :param path: absolute path
    """

    path: str

    def typed(self, text: str) -> str:
        """Return the table name or pattern for a string that is relative to the working directory."""
        location = _relative_location(text)
        if location is None:
            return text
        return _like(text, self._spelled(os.path.relpath(os.path.abspath(location), self.path)))

    def written(self, text: str) -> str:
        """Return the table name for a string in the configuration file.

        A string without a slash is a catalog name.
        """
        location = _relative_location(text)
        return text if location is None else _like(text, self._spelled(os.path.normpath(location)))

    def typed_folder(self, location: str) -> str:
        """Return a path with its start at the working directory, absolute if this is another folder."""
        return os.path.abspath(location) if is_relative(location) and self.path != os.getcwd() else location

    def absolute(self, location: str) -> str:
        """Return a location; a relative one starts at this folder."""
        if location.startswith("/"):
            return os.path.normpath(location)
        return os.path.normpath(os.path.join(self.path, location)) if is_relative(location) else location

    def place(self, table: str) -> Hashable:
        """Return a key that is equal for all names of a table."""
        try:
            name = TableName.parse(table)
        except TableNameError:
            return table
        if name.location is None:
            return place_of(name)
        return place_of(TableName(name.text, location=self.absolute(name.location)))

    def exclusion(self, patterns: Sequence[str]) -> Exclusion:
        return Exclusion([self.absolute(pattern) if "/" in pattern else pattern for pattern in patterns])

    def sources(self) -> SourceTree:
        """Return the place of files in the repository of the working directory, or else of this folder."""
        folder = Path(self.path)
        candidates = (*_with_parents(Path.cwd()), *_with_parents(folder))
        root = next((each for each in candidates if (each / _REPOSITORY).exists()), folder)
        return SourceTree(root.as_posix(), self.path)

    def _spelled(self, path: str) -> str:
        """Return a path as a table name, which needs a slash."""
        return path if "/" in path else f"./{path.removeprefix('.')}"


def _with_parents(folder: Path) -> tuple[Path, ...]:
    return (folder, *folder.parents)


def _relative_location(text: str) -> str | None:
    """Return the path that a string names, if it is relative."""
    try:
        location = TableName.parse(text).location
    except TableNameError:  # reported when tables are checked
        return None
    return location if location is not None and is_relative(location) else None


def _like(text: str, location: str) -> str:
    """Return the name of a location, quoted if ``text`` is quoted."""
    return location if TableName.parse(text).location == text else TableName(text, location=location).sql
