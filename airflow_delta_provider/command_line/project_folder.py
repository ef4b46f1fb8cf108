"""Where relative names of tables start, so that a table has one name wherever a command runs."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_delta_provider.domain.rendering.source_tree import SourceTree
from airflow_delta_provider.domain.request.path_pattern import Exclusion
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, is_relative, place_of

#: What a folder has that is the root of a repository: a folder, or a file in a worktree.
_REPOSITORY = ".git"


@dataclass(frozen=True)
class ProjectFolder:
    """The folder of the configuration file, or the working directory where there is none.

    :param path: absolute
    """

    path: str

    def typed(self, text: str) -> str:
        """Return the name of the table, or the pattern, that a text in the working directory names."""
        location = _relative_location(text)
        if location is None:
            return text
        return _like(text, self._spelled(os.path.relpath(os.path.abspath(location), self.path)))

    def written(self, text: str) -> str:
        """Return the name that a text in the configuration file gives; one without a slash is a catalog's."""
        location = _relative_location(text)
        return text if location is None else _like(text, self._spelled(os.path.normpath(location)))

    def typed_folder(self, location: str) -> str:
        """Return where a path in the working directory leads to, as seen from this folder."""
        return os.path.abspath(location) if is_relative(location) and self.path != os.getcwd() else location

    def absolute(self, location: str) -> str:
        """Return a location; one that is relative starts at this folder."""
        if location.startswith("/"):
            return os.path.normpath(location)
        return os.path.normpath(os.path.join(self.path, location)) if is_relative(location) else location

    def place(self, table: str) -> Hashable:
        """Return the same for all names of a table."""
        try:
            name = TableName.parse(table)
        except TableNameError:
            return table
        if name.location is None:
            return place_of(name)
        return place_of(TableName(name.text, location=self.absolute(name.location)))

    def exclusion(self, patterns: Sequence[str]) -> Exclusion:
        """Return what leaves tables out."""
        return Exclusion([self.absolute(pattern) if "/" in pattern else pattern for pattern in patterns])

    def sources(self) -> SourceTree:
        """Return where files are for those who look at a repository: the one that the command runs in."""
        folder = Path(self.path)
        candidates = (*_with_parents(Path.cwd()), *_with_parents(folder))
        root = next((each for each in candidates if (each / _REPOSITORY).exists()), folder)
        return SourceTree(root.as_posix(), self.path)

    def _spelled(self, path: str) -> str:
        """Return a path as the name of a table, which takes a slash."""
        return path if "/" in path else f"./{path.removeprefix('.')}"


def _with_parents(folder: Path) -> tuple[Path, ...]:
    return (folder, *folder.parents)


def _relative_location(text: str) -> str | None:
    """Return the path that a text names, if it is relative."""
    try:
        location = TableName.parse(text).location
    except TableNameError:  # which is said when tables are checked
        return None
    return location if location is not None and is_relative(location) else None


def _like(text: str, location: str) -> str:
    """Return the name of a location, quoted if a text was."""
    return location if TableName.parse(text).location == text else TableName(text, location=location).sql
