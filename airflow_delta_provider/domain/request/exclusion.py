"""Tables that a pattern names and that are left out."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from airflow_delta_provider.domain.request.path_pattern import PathPattern
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, normal_location


class Exclusion:
    """Tables to leave out.

    :param patterns: with a slash, of absolute paths: they and what lies below them; without, of the last part of a
        path, or of the whole name of a table in a catalog
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._paths = [PathPattern(normal_location(pattern)) for pattern in patterns if "/" in pattern]
        self._names = [pattern for pattern in patterns if "/" not in pattern]

    def covers(self, table: str) -> bool:
        """Whether a table is to be left out; its path is absolute."""
        try:
            location = TableName.parse(table).location
        except TableNameError:
            return False
        if location is None:
            return any(fnmatch.fnmatchcase(table, name) for name in self._names)
        path = normal_location(location)
        last = path.rpartition("/")[2]
        return any(fnmatch.fnmatchcase(last, name) for name in self._names) or any(
            pattern.covers(path) for pattern in self._paths
        )
