"""Patterns of paths, by segment: ``*``, ``?`` and ``[…]`` within one, ``**`` for any number of segments.

Also the tables that patterns leave out.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, has_wildcard, normal_location

DEEP = "**"
#: Positions that a path has reached in a pattern, as indices of segments. One path may match in several ways.
States = frozenset[int]


class PathPattern:
    """A pattern that is matched along a path, one segment at a time.

    :param pattern: path or URI; a segment ``**`` also matches no segment at all
    """

    def __init__(self, pattern: str) -> None:
        segments = pattern.rstrip("/").split("/")
        first = next((index for index, segment in enumerate(segments) if has_wildcard(segment)), len(segments))
        self.root = "/".join(segments[:first])
        """What is before the first wildcard."""
        self._segments = segments[first:]
        self.start = self._with_none(0)
        """Where a path has come to that is ``root``."""

    def step(self, states: States, name: str) -> States:
        """Return the positions after one more segment."""
        found: set[int] = set()
        for state in states:
            if state < len(self._segments):
                segment = self._segments[state]
                if segment == DEEP:
                    found |= self._with_none(state)
                elif fnmatch.fnmatchcase(name, segment):
                    found |= self._with_none(state + 1)
        return frozenset(found)

    def is_deep(self, states: States) -> bool:
        """Return True if ``**`` can match the next segment; it does not look into tables."""
        return any(self._segments[state : state + 1] == [DEEP] for state in states)

    def shallow(self, states: States) -> States:
        """Return the positions except ``**``, which does not look into hidden folders."""
        return frozenset(state for state in states if self._segments[state : state + 1] != [DEEP])

    def fits(self, states: States) -> bool:
        """Return True if a path that reached these positions matches the pattern."""
        return len(self._segments) in states

    def literal(self, states: States) -> str | None:
        """Return the only name that can follow; None if several may."""
        segments = {self._segments[state] for state in states if state < len(self._segments)}
        if len(segments) != 1 or self.fits(states):
            return None
        (segment,) = segments
        return None if has_wildcard(segment) else segment

    def covers(self, path: str) -> bool:
        """Return True if a path matches the pattern, or is below one that does."""
        if self.root not in ("", path) and not path.startswith(f"{self.root}/"):
            return False
        states = self.start
        rest = path[len(self.root) :].strip("/")
        for name in rest.split("/") if rest else ():
            if self.fits(states):
                return True
            states = self.step(states, name)
        return self.fits(states)

    def _with_none(self, state: int) -> States:
        return frozenset(self._also(state))

    def _also(self, state: int) -> Iterator[int]:
        """Yield a position, and the positions after each ``**`` that matches no segment."""
        yield state
        while self._segments[state : state + 1] == [DEEP]:
            state += 1
            yield state


def is_hidden(name: str) -> bool:
    """Return True if a folder is hidden, so it is not searched for tables."""
    return name.startswith(("_", "."))


class Exclusion:
    """Tables to leave out.

    :param patterns: patterns with a slash match absolute paths and everything below them; patterns without match the
        last part of a path, or the whole name of a table in a catalog
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._paths = [PathPattern(normal_location(pattern)) for pattern in patterns if "/" in pattern]
        self._names = [pattern for pattern in patterns if "/" not in pattern]

    def covers(self, table: str) -> bool:
        """Return True if a table is to be left out; a path must be absolute."""
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
