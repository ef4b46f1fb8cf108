"""Time limit for the work on one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

T = TypeVar("T")


class OutOfTimeError(Exception):
    """The time limit has passed."""


class TimeBudget:
    """A time limit that starts when this object is created.

    :param seconds: length of the limit; None for no limit
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._started = monotonic()

    @property
    def is_spent(self) -> bool:
        """Return True if no time is left."""
        return self.left is not None and self.left <= 0

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Yield ``items`` as long as there is time.

        :raises OutOfTimeError: if no time is left for the next item
        """
        for item in items:
            if self.is_spent:
                raise OutOfTimeError
            yield item

    @property
    def left(self) -> float | None:
        """Seconds left, zero or negative if the time is spent; None if there is no limit."""
        return None if self.seconds is None else self._started + self.seconds - monotonic()
