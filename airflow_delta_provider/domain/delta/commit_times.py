"""Times of commits, in the order of their versions.

A commit says when it was made by the clock of its writer, which may be wrong. Readers of Delta therefore take a commit
as made at least a millisecond after the one before it (``DeltaHistoryManager``), unless it has an in-commit timestamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

#: Commits in a row that must be older than a time before those below them count as older, too.
MOST_OLDER = 100
_NEXT = timedelta(milliseconds=1)
#: How far clocks and time zones of writers may differ. What is later than that was not made yet.
_FUTURE = timedelta(days=1)


@dataclass(frozen=True)
class CommitTime:
    """A commit, and when it was made.

    :param time: with a time zone
    :param is_in_commit: whether that is its in-commit timestamp
    """

    version: int
    time: datetime
    is_in_commit: bool


Timed = TypeVar("Timed", bound=CommitTime)


def in_order(commits: Iterable[Timed]) -> Iterator[Timed]:
    """Yield commits, oldest first, with the times at which readers take them as made."""
    last: datetime | None = None
    for commit in commits:
        if last is not None and not commit.is_in_commit and commit.time <= last:
            commit = replace(commit, time=last + _NEXT)
        last = commit.time
        yield commit


def made_since(commits: Iterable[Timed], since: datetime, now: datetime) -> tuple[list[Timed], bool]:
    """Return the commits made since a time, newest first like those given, and whether the log has older ones.

    A commit that seems too old was made in time if one before it was. A commit whose time lies in the future proves
    nothing about others: it is as old as those after it. Reading ends at ``MOST_OLDER`` older commits in a row.
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
