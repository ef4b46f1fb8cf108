"""Patterns of paths, segment by segment: ``*``, ``?`` and ``[…]`` within one, ``**`` for any number of them.

Also tables that patterns leave out.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, has_wildcard, normal_location

DEEP = "**"
#: Where in a pattern a path has come to, as indices of segments; one path may fit in several ways.
States = frozenset[int]


class PathPattern:
    """A pattern, followed along a path one segment after the other.

    :param pattern: path or URI; as a segment of its own, ``**`` also fits none
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
        """Return where a path comes to with one more segment."""
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
        """Whether ``**`` leads on from there, which does not look into tables."""
        return any(self._segments[state : state + 1] == [DEEP] for state in states)

    def shallow(self, states: States) -> States:
        """Return the states without those of ``**``, which does not look into hidden folders."""
        return frozenset(state for state in states if self._segments[state : state + 1] != [DEEP])

    def fits(self, states: States) -> bool:
        """Whether a path that has come there fits the pattern."""
        return len(self._segments) in states

    def literal(self, states: States) -> str | None:
        """Return the only name that leads on from there; None where several may."""
        segments = {self._segments[state] for state in states if state < len(self._segments)}
        if len(segments) != 1 or self.fits(states):
            return None
        (segment,) = segments
        return None if has_wildcard(segment) else segment

    def covers(self, path: str) -> bool:
        """Whether a path fits the pattern, or lies below one that does."""
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
        """Yield a state, and those behind each ``**`` that fits no segment."""
        yield state
        while self._segments[state : state + 1] == [DEEP]:
            state += 1
            yield state


def is_hidden(name: str) -> bool:
    """Whether a folder is none that tables are looked for in."""
    return name.startswith(("_", "."))


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
