"""The time of day at which tables may be changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone, tzinfo


@dataclass(frozen=True)
class QuietWindow:
    """A daily time window.

    :param start: start, inclusive
    :param end: end, exclusive; on the next day if it is not after the start
    """

    start: time
    end: time

    def __post_init__(self) -> None:
        if self.start == self.end:
            raise ValueError(f"The window begins and ends at {self.start:%H:%M}.")

    def opens(self, now: datetime, zone: tzinfo) -> datetime:
        """Return the time when the window is next open, in UTC: ``now`` if it is open.

        :param now: current time, with a time zone
        :param zone: time zone of the window's times
        """
        now = now.astimezone(timezone.utc)
        today = now.astimezone(zone).date()
        starts = []
        for day in (today + timedelta(days=offset) for offset in (-1, 0, 1, 2)):
            last = day + timedelta(days=self.end <= self.start)
            start = datetime.combine(day, self.start, zone).astimezone(timezone.utc)
            end = datetime.combine(last, self.end, zone).astimezone(timezone.utc)
            if start <= now < end:
                return now
            starts.append(start)
        return min(start for start in starts if start > now)
