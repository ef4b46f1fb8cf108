"""How long the work on one table may take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

T = TypeVar("T")


class OutOfTimeError(Exception):
    """The time is over."""


class TimeBudget:
    """A time that begins with this object.

    :param seconds: how long it is; None where there is no end to it
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._started = monotonic()

    @property
    def is_spent(self) -> bool:
        """Whether it is over."""
        return self.left is not None and self.left <= 0

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Yield ``items`` as long as there is time.

        :raises OutOfTimeError: when there is none left for the next one
        """
        for item in items:
            if self.is_spent:
                raise OutOfTimeError
            yield item

    @property
    def left(self) -> float | None:
        """The seconds that are left, none or less when it is spent; None where there is no end to it."""
        return None if self.seconds is None else self._started + self.seconds - monotonic()
