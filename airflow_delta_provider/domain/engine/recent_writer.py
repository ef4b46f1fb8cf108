"""Engines that recently wrote to a table, according to its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.engine.profiles.access import Demands


@dataclass(frozen=True, kw_only=True)
class RecentWriter:
    """One release of an engine, and its commits within some days.

    :param name: name and version, or the signature if those are unknown; None for commits that are not signed
    :param commits: number of its commits
    :param first: version of the oldest of them
    :param last: version of the newest of them
    :param last_time: time of the newest commit, ISO 8601, UTC; None if unknown
    :param managed: the table's demands at its newest commit, which the engine can meet; None if unknown
    """

    name: str | None
    commits: int
    first: int
    last: int
    last_time: str | None = None
    managed: Demands | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "engine": self.name,
            "commits": self.commits,
            "first_version": self.first,
            "last_version": self.last,
            "last_time": self.last_time,
        }


@dataclass(frozen=True, kw_only=True)
class RecentWriters:
    """The writers of a table within some days.

    :param days: number of days
    :param writers: writers, newest commit first
    :param since: version of the oldest commit of those days that the log still has; None if there is no commit
    :param complete: whether the log has all commits of those days
    """

    days: float
    writers: tuple[RecentWriter, ...] = ()
    since: int | None = None
    complete: bool = True
