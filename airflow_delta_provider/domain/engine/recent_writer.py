"""An engine that recently wrote to a table, going by its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.engine.profiles.access import Demands


@dataclass(frozen=True, kw_only=True)
class RecentWriter:
    """One release of an engine, and its commits within some days.

    :param name: name and version, or how it signs where that is not known; None for commits that are not signed
    :param commits: how many it made
    :param first: version of the oldest of them
    :param last: version of the newest of them
    :param last_time: when that was made, ISO 8601, UTC; None where that is not known
    :param managed: what the table demanded when it made the newest: that much it can write. None where not known
    """

    name: str | None
    commits: int
    first: int
    last: int
    last_time: str | None = None
    managed: Demands | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the form used in reports."""
        return {
            "engine": self.name,
            "commits": self.commits,
            "first_version": self.first,
            "last_version": self.last,
            "last_time": self.last_time,
        }


@dataclass(frozen=True, kw_only=True)
class RecentWriters:
    """Who wrote to a table within some days.

    :param days: how many those are
    :param writers: the one of the newest commit first
    :param since: version of the oldest commit of those days that the log still has; None where there is no commit
    :param complete: whether the log has all commits of those days
    """

    days: float
    writers: tuple[RecentWriter, ...] = ()
    since: int | None = None
    complete: bool = True
