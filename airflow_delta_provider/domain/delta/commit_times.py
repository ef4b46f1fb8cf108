"""Times of commits, in the order of their versions.

A commit records the time of its writer's clock, which may be wrong. Delta readers therefore place a commit at least a
millisecond after the one before it (``DeltaHistoryManager``), unless it has an in-commit timestamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

#: Number of consecutive commits older than a given time after which all earlier commits count as older.
MOST_OLDER = 100
_NEXT = timedelta(milliseconds=1)
#: Maximum difference between writers' clocks and time zones. A commit with a later time cannot have been made yet.
_FUTURE = timedelta(days=1)


@dataclass(frozen=True)
class CommitTime:
    """A commit and its time.

    :param time: time of the commit, with a time zone
    :param is_in_commit: True if the time is the in-commit timestamp
    """

    version: int
    time: datetime
    is_in_commit: bool


Timed = TypeVar("Timed", bound=CommitTime)


def in_order(commits: Iterable[Timed]) -> Iterator[Timed]:
    """Yield commits, oldest first, with the times that readers assign to them."""
    last: datetime | None = None
    for commit in commits:
        if last is not None and not commit.is_in_commit and commit.time <= last:
            commit = replace(commit, time=last + _NEXT)
        last = commit.time
        yield commit


def made_since(commits: Iterable[Timed], since: datetime, now: datetime) -> tuple[list[Timed], bool]:
    """Return the commits made since a time, newest first, and True if the log has older ones.

    A commit that seems too old still counts if a commit before it counts. A commit whose time lies in the future proves
    nothing about others: it is as old as the commits after it. Reading stops after ``MOST_OLDER`` older commits in a
    row.
    """
    found: list[Timed] = []
    older: list[Timed] = []
    for commit in commits:
        if commit.time < since or (older and commit.time > now + _FUTURE):
            older.append(commit)
            if len(older) == MOST_OLDER:
                break
        else:
            found += list(in_order([commit, *older[::-1]]))[::-1]
            older = []
    return found, bool(older)
